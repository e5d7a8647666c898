//! Finds the rows that pass a filter: decodes the columns that its conjuncts look at, one conjunct after the other, and
//! only rows that are still open.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use arrow_array::ArrayRef;
use arrow_buffer::BooleanBuffer;
use tarsia_arrow::Pool;
use tarsia_codec::ValueType;
use tarsia_filter::{ColumnTest, Conjunct, Expr, Filter, FilterError};

use super::blooms::KeyQuestions;
use super::costs::{ConjunctCosts, Cost};
use super::open_file::OpenFile;
use super::pick::{FoundRows, PickCost};
use super::read_ahead::Window;
use super::window::{Fields, Found, Passed, Reader, of_type};
use super::zones::{Proved, proved};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::RowSelection;
use crate::table::{Column, Page, Projection};

/// Bytes of the numbers that are supposed of columns that are still to be read.
const NUMBER_BYTES: u32 = 8;

/// Estimate of the nanoseconds that a value's byte takes, for conjuncts that were not evaluated yet.
const BYTE_NANOS: f64 = 0.25;

/// Nanoseconds that decoders may take to answer for a row. Where they take more, one window is decoded to see whether
/// that takes less: most text is decoded in 6 to 16.
const ANSWER_NANOS_MAX: f64 = 8.0;

/// A filter, bound to the columns of a file.
pub(crate) struct RowFilter {
    filter: Filter,
    /// The fields that the filter looks at.
    projection: Projection,
    /// One for each conjunct.
    facts: Vec<Facts>,
    /// Rows that were looked at, those that pass all conjuncts, and their runs.
    seen: [AtomicU64; 3],
    /// Rows of the file.
    n_rows: u64,
}

/// Facts about a conjunct.
struct Facts {
    /// The part that its column's decoders can answer; `None` if the column has to be decoded.
    asked: Option<Asked>,
    /// Rows of which zones and bloom filters tell what it is; `None` if they tell nothing.
    proved: Option<Proved>,
    /// Rows that the zones alone reject.
    rejected_by_zones: u64,
    /// Rows that this scan evaluated it for, and rows of these that passed.
    seen: [AtomicU64; 2],
    /// Costs, which scans of the file share.
    costs: Arc<ConjunctCosts>,
}

/// A predicate that a conjunct asks of a flat column, which no other conjunct looks at.
struct Asked {
    column: Arc<Column>,
    test: ColumnTest,
    /// Whether a page did not answer: a kernel decodes it, or its rows lie one by one. The others are not asked then,
    /// since what was read for that would be read again.
    is_refused: AtomicBool,
}

/// Whether decoding a column takes less time than its decoders' answers, or may do so and was not tried yet.
fn decodes_faster(costs: &ConjunctCosts) -> bool {
    let Some(answered) = costs.answered.nanos_per_row() else {
        return false;
    };
    let decoded = costs.decoded.nanos_per_row();
    decoded.map_or(answered > ANSWER_NANOS_MAX, |decoded| decoded < answered)
}

/// How many rows a conjunct of a filter looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConjunctCounts {
    /// The conjunct as text.
    pub conjunct: String,
    /// Rows of the file that the zones' bounds reject: no block of theirs is read.
    pub rejected_by_bounds: u64,
    /// Rows of the file that bloom filters reject beside those.
    pub rejected_by_blooms: u64,
    /// Rows of the file that all pass by the zones' bounds: it is not evaluated for them.
    pub passed_by_bounds: u64,
    /// Rows that it was evaluated for: conjuncts before it left them open.
    pub rows: u64,
    /// Rows of these that it left open.
    pub passed: u64,
}

impl RowFilter {
    /// Binds an expression to the columns that it names. Says what is wrong with it, and with which character.
    pub(crate) fn new(file: &OpenFile, expr: &Expr, is_strict: bool) -> Result<Self> {
        let bind = |projection: &Projection| match is_strict {
            true => expr.bind_strict(&projection.schema),
            false => expr.bind(&projection.schema),
        };
        let names: Vec<String> = expr.columns().into_iter().map(String::from).collect();
        let projection = match file.projection(Some(&names)) {
            Err(error) if error.is_of_several_columns() => return Err(error),
            Err(error) if error.kind() == ErrorKind::NoSuchColumn => {
                // The filter knows where in its text a name is that is no column.
                let is_there = |name: &&String| {
                    let found = file.projection(Some(std::slice::from_ref(*name)));
                    !found.is_err_and(|error| error.kind() == ErrorKind::NoSuchColumn)
                };
                let there: Vec<String> = names.iter().filter(is_there).cloned().collect();
                let unknown = bind(&file.projection(Some(&there))?).err();
                let what = unknown.map(|unknown| unfit(&unknown, ErrorKind::NoSuchColumn));
                return Err(what.unwrap_or(error));
            }
            projection => projection?,
        };
        let filter = bind(&projection).map_err(|error| unfit(&error, ErrorKind::InvalidFilter))?;
        let proofs = proofs(file, &filter, &projection)?;
        let facts = filter.conjuncts().iter().zip(proofs);
        let facts = facts.map(|(conjunct, (proved, rejected_by_zones))| Facts {
            asked: asked(conjunct, &filter, &projection),
            proved,
            rejected_by_zones,
            seen: Default::default(),
            costs: file.costs.of(conjunct.to_string()),
        });
        Ok(Self {
            facts: facts.collect(),
            n_rows: file.rows(),
            filter,
            projection,
            seen: Default::default(),
        })
    }

    /// Returns those of some rows that may pass, as far as the zones tell.
    pub(crate) fn that_may_pass(&self, rows: RowSelection) -> RowSelection {
        let proved = self.facts.iter().filter_map(|facts| facts.proved.as_ref());
        proved.fold(rows, |rows, proved| rows.and(&proved.may_pass))
    }

    /// The conjuncts, and what is known of them.
    fn conjuncts(&self) -> impl Iterator<Item = (&Conjunct, &Facts)> {
        self.filter.conjuncts().iter().zip(&self.facts)
    }

    /// The leaf columns that it looks at.
    pub(super) fn columns(&self) -> impl Iterator<Item = &Arc<Column>> {
        self.projection.columns.iter()
    }

    pub(super) fn projection(&self) -> &Projection {
        &self.projection
    }

    pub(super) fn counts(&self) -> Vec<ConjunctCounts> {
        let n_rows = self.n_rows;
        let counts = self.conjuncts().map(|(conjunct, known)| ConjunctCounts {
            conjunct: conjunct.to_string(),
            rejected_by_bounds: known.rejected_by_zones,
            rejected_by_blooms: rejected(known.proved.as_ref(), n_rows)
                .saturating_sub(known.rejected_by_zones),
            passed_by_bounds: known.proved.as_ref().map_or(0, |it| it.passes.len()),
            rows: known.seen[0].load(Ordering::Relaxed),
            passed: known.seen[1].load(Ordering::Relaxed),
        });
        counts.collect()
    }

    /// The conjuncts, first those that reject most rows for their time.
    fn in_order(&self) -> impl Iterator<Item = (&Conjunct, &Facts)> {
        let priced = self
            .conjuncts()
            .map(|(conjunct, known)| (self.price(conjunct, &known.costs.all), conjunct, known));
        let mut order: Vec<_> = priced.collect();
        order.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
        order
            .into_iter()
            .map(|(_, conjunct, known)| (conjunct, known))
    }

    /// Nanoseconds that it takes to reject a row, as far as is known.
    fn price(&self, conjunct: &Conjunct, cost: &Cost) -> f64 {
        cost.nanos_per_rejected_row().unwrap_or_else(|| {
            let fields = conjunct.fields().iter();
            let fields = fields.filter_map(|field| self.projection.fields.get(*field));
            let columns = fields.flat_map(|field| &field.columns);
            let bytes: usize = columns.map(|column| column.row_bytes()).sum();
            2.0 * BYTE_NANOS * bytes as f64
        })
    }

    /// Whether a conjunct looks at a column for some of these rows, as far as the zones tell.
    pub(super) fn looks_at(&self, column: &Arc<Column>, rows: &RowSelection) -> bool {
        let has = |field: &usize| {
            let field = self.projection.fields.get(*field);
            field.is_some_and(|field| field.columns.iter().any(|it| Arc::ptr_eq(it, column)))
        };
        self.conjuncts()
            .any(|(conjunct, known)| conjunct.fields().iter().any(has) && !known.passes_all(rows))
    }

    /// The rows that pass, with the arrays of `output` as far as they were decoded. `None` if there are too many for
    /// one batch. Blocks that are in the window are not read.
    pub(super) fn passing(
        &self,
        reader: Reader<'_>,
        output: &Projection,
        rows: RowSelection,
        window: Option<&Arc<Window>>,
    ) -> Result<Option<Found>> {
        let windows: Vec<Arc<Window>> = window.into_iter().cloned().collect();
        // No conjunct's cost: it is read for all of them.
        for window in &windows {
            window.read();
        }
        let n_rows = rows.len();
        let mut open = Open {
            rows,
            passed: None,
            arrays: vec![None; self.projection.fields.len()],
        };
        let so_far = self.so_far();
        let is_wanted = |asked: &Asked| {
            let mut wanted = output.columns.iter();
            wanted.any(|column| Arc::ptr_eq(column, &asked.column))
        };
        // Of few rows that pass, the others need not be decoded.
        let few_pass = |asked: &Asked| PickCost::of(&asked.column).pays(so_far);
        let is_decoded_anyway = |asked: &Asked, costs: &ConjunctCosts| {
            asked.is_refused.load(Ordering::Relaxed)
                || is_wanted(asked) && !few_pass(asked)
                || decodes_faster(costs)
        };
        for (conjunct, known) in self.in_order() {
            let costs = &known.costs;
            reader.cancel.check()?;
            if known.passes_all(&open.rows) {
                continue;
            }
            let start = Instant::now();
            let n_open = open.n_rows();
            let answered = match &known.asked {
                Some(asked) if !is_decoded_anyway(asked, costs) => {
                    let bits = reader.holds(&asked.column, &asked.test, &open.rows, &windows)?;
                    asked.is_refused.fetch_or(bits.is_none(), Ordering::Relaxed);
                    bits
                }
                _ => None,
            };
            let is_answered = answered.is_some();
            let bits = match answered {
                Some(bits) => bits,
                None if self.decode(reader, conjunct, &mut open, &windows)? => {
                    open.evaluate(conjunct)?
                }
                None => return Ok(None),
            };
            let n_passed = open.close(bits, &reader.file.session.pool)?;
            let time = start.elapsed();
            costs.all.add(n_open, n_passed, time);
            known.seen[0].fetch_add(n_open, Ordering::Relaxed);
            known.seen[1].fetch_add(n_passed, Ordering::Relaxed);
            if known.asked.is_some() {
                let way = if is_answered {
                    &costs.answered
                } else {
                    &costs.decoded
                };
                way.add(n_open, n_passed, time);
            }
            if n_passed == 0 {
                break;
            }
        }
        self.count(n_rows, &open);
        let pool = &reader.file.session.pool;
        let of_field = |field| {
            let mut known = self.projection.fields.iter().zip(&open.arrays);
            let known = known.find(|(known, _)| Arc::ptr_eq(known, field));
            let array = known.and_then(|(_, array)| array.as_ref());
            array
                .map(|array| of_type(field.field.data_type(), array, pool))
                .transpose()
        };
        let known = output.fields.iter().map(of_field);
        let known = match known.collect::<Result<Vec<Option<ArrayRef>>>>() {
            // Fewer rows have fewer bytes.
            Err(error) if error.kind() == ErrorKind::LimitExceeded && open.rows.len() > 1 => {
                return Ok(None);
            }
            known => known?,
        };
        Ok(Some(Found {
            known: match known.iter().any(Option::is_some) {
                true => known,
                false => Vec::new(),
            },
            rows: open.rows,
            passed: open.passed,
            windows,
        }))
    }

    /// The rows of the windows so far.
    pub(super) fn so_far(&self) -> FoundRows {
        let [all, passed, runs] = &self.seen;
        FoundRows {
            passed: passed.load(Ordering::Relaxed),
            runs: runs.load(Ordering::Relaxed),
            all: all.load(Ordering::Relaxed),
        }
    }

    /// Adds a window to them.
    fn count(&self, n_rows: u64, open: &Open) {
        let found = match &open.passed {
            Some(bits) => FoundRows::of(bits),
            None => FoundRows {
                passed: open.rows.len(),
                runs: open.rows.runs().count() as u64,
                all: n_rows,
            },
        };
        let [all, passed, runs] = &self.seen;
        all.fetch_add(n_rows, Ordering::Relaxed);
        passed.fetch_add(found.passed, Ordering::Relaxed);
        runs.fetch_add(found.runs, Ordering::Relaxed);
    }

    /// Decodes what a conjunct looks at and was not decoded yet; false if the rows are too many for one batch.
    fn decode(
        &self,
        reader: Reader<'_>,
        conjunct: &Conjunct,
        open: &mut Open,
        windows: &[Arc<Window>],
    ) -> Result<bool> {
        let missing = conjunct.fields().iter().copied();
        let missing = missing.filter(|field| open.arrays.get(*field).is_some_and(Option::is_none));
        let missing: Vec<usize> = missing.collect();
        if missing.is_empty() {
            return Ok(true);
        }
        let fields = missing
            .iter()
            .filter_map(|field| self.projection.fields.get(*field).cloned());
        let fields: Vec<_> = fields.collect();
        let columns: Vec<_> = fields
            .iter()
            .flat_map(|field| field.columns.iter().cloned())
            .collect();
        let of = Fields {
            fields: &fields,
            columns: &columns,
            may_be_cut: false,
            as_entries: true,
        };
        let Some(arrays) = reader.arrays(of, &open.rows, windows)? else {
            return Ok(false);
        };
        for (field, array) in missing.into_iter().zip(arrays) {
            let [array] = array.parts.as_slice() else {
                return Ok(false);
            };
            if let Some(place) = open.arrays.get_mut(field) {
                *place = Some(array.clone());
            }
        }
        Ok(true)
    }
}

/// Reads the zones of a filter's columns, and asks the bloom filters of those that it compares with values, about rows
/// that the zones leave. Returns for each conjunct what both tell, and how many rows the zones alone reject.
fn proofs(
    file: &OpenFile,
    filter: &Filter,
    projection: &Projection,
) -> Result<Vec<(Option<Proved>, u64)>> {
    let (fields, n_rows) = (&projection.fields, file.rows());
    let columns: Vec<&Column> = projection.columns.iter().map(Arc::as_ref).collect();
    let questions = KeyQuestions::of(filter.conjuncts(), fields)?;
    let early = questions.ask_with_zones(file, &columns)?;
    let by_zones = filter.conjuncts().iter().map(|conjunct| {
        let proved = proved(conjunct, fields, n_rows, None)?;
        let n_rejected = rejected(proved.as_ref(), n_rows);
        Ok((proved, n_rejected))
    });
    let mut proofs = by_zones.collect::<Result<Vec<_>>>()?;
    if questions.is_empty() {
        return Ok(proofs);
    }
    let open = proofs.iter().filter_map(|(proved, _)| proved.as_ref());
    let open = open.fold(RowSelection::from(0..n_rows), |rows, proved| {
        rows.and(&proved.may_pass)
    });
    let answers = match early {
        Some(answers) => answers,
        None => questions.ask_about(file, &open)?,
    };
    for (conjunct, (by_zones, _)) in filter.conjuncts().iter().zip(&mut proofs) {
        if !conjunct.keys().is_empty() {
            *by_zones = proved(conjunct, fields, n_rows, Some(&answers))?;
        }
    }
    Ok(proofs)
}

/// Rows that a proof rejects.
fn rejected(proved: Option<&Proved>, n_rows: u64) -> u64 {
    proved.map_or(0, |it| n_rows.saturating_sub(it.may_pass.len()))
}

impl Facts {
    /// Whether all of these rows pass, as far as the zones tell.
    fn passes_all(&self, rows: &RowSelection) -> bool {
        let Some(proved) = self.proved.as_ref().filter(|it| !it.passes.is_empty()) else {
            return false;
        };
        rows.and(&proved.passes).len() == rows.len()
    }
}

/// Rows that no conjunct has rejected so far.
struct Open {
    /// Rows that are decoded.
    rows: RowSelection,
    /// A bit for each of them that is open, if not all are.
    passed: Option<BooleanBuffer>,
    /// The fields of the filter as far as they were decoded.
    arrays: Vec<Option<ArrayRef>>,
}

impl Open {
    fn n_rows(&self) -> u64 {
        self.passed
            .as_ref()
            .map_or(self.rows.len(), |bits| bits.count_set_bits() as u64)
    }

    /// The rows for which a conjunct is true, of those that are decoded: a bit for each.
    fn evaluate(&self, conjunct: &Conjunct) -> Result<BooleanBuffer> {
        let fields = conjunct.fields().iter();
        let columns = fields.filter_map(|field| self.arrays.get(*field).cloned().flatten());
        let columns: Vec<ArrayRef> = columns.collect();
        conjunct
            .evaluate(&columns, self.rows.len() as usize)
            .map_err(|error| Error::new(ErrorKind::InvalidInput, format!("{conjunct}: {error}")))
    }

    /// Closes the rows whose bit is not set, and returns how many are open. If they are so few that even numbers are
    /// picked, the others are not decoded any more.
    fn close(&mut self, bits: BooleanBuffer, pool: &Pool) -> Result<u64> {
        let bits = match &self.passed {
            Some(before) => before & &bits,
            None => bits,
        };
        let found = FoundRows::of(&bits);
        if found.passed == 0 || PickCost::numbers(NUMBER_BYTES).pays(found) {
            self.rows = self.rows.select(&bits);
            let passed = Passed::new(&bits, pool);
            for array in self.arrays.iter_mut().flatten() {
                *array = passed.of(array)?;
            }
            self.passed = None;
        } else if found.passed < found.all {
            self.passed = Some(bits);
        }
        Ok(found.passed)
    }
}

/// The part of a conjunct that the decoders of its column can answer. No other conjunct may look at the column, which
/// is decoded for that.
fn asked(conjunct: &Conjunct, filter: &Filter, projection: &Projection) -> Option<Asked> {
    let [number] = conjunct.fields() else {
        return None;
    };
    let others = filter.conjuncts().iter();
    let mut others = others.filter(|other| !std::ptr::eq(*other, conjunct));
    if others.any(|other| other.fields().contains(number)) {
        return None;
    }
    let field = projection.fields.get(*number)?;
    let [column] = field.columns.as_slice() else {
        return None;
    };
    let has_values = matches!(
        column.value_type,
        Some(ValueType::Fixed(_) | ValueType::Bytes)
    );
    // Rows that are stored one by one are refused, which is known of text before it is read.
    let is_by_rows = column.pages.iter().any(Page::is_indexed);
    if !has_values || !column.is_flat() || column.packing.is_some() || is_by_rows {
        return None;
    }
    let test = conjunct.column_test(field.field.data_type())?;
    Some(Asked {
        column: column.clone(),
        test,
        is_refused: AtomicBool::new(false),
    })
}

fn unfit(error: &FilterError, kind: ErrorKind) -> Error {
    Error::new(kind, format!("condition: {error}"))
}
