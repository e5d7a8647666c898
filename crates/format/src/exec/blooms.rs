//! Asks the bloom filters of columns for the values that a filter looks for.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::BooleanBuffer;
use tarsia_filter::{Conjunct, KeyRuns, Keys};
use tarsia_zones::{BloomShape, KeyHash, KeyHashes};

use super::collect::collect;
use super::open_file::OpenFile;
use super::read_zones::{has_unread_zones, parts_of_segments, read_zones_and};
use crate::error::{Result, while_reading};
use crate::plan::RowSelection;
use crate::source::{Stop, all};
use crate::table::{BloomOfRun, Column, TableField};

/// Bytes of filters that are held at a time.
const HELD_BYTES_MAX: u64 = 8 << 20;

/// Bytes of filters that are read together with zones, which may say that they are not needed, to save a wave.
const EARLY_BYTES_MAX: u64 = 1 << 20;

/// Questions that a filter asks of columns.
pub(super) struct KeyQuestions<'c> {
    columns: Vec<Asked<'c>>,
}

/// Questions that a filter asks of a column.
struct Asked<'c> {
    column: &'c Column,
    runs: Vec<BloomOfRun>,
    hashes: BTreeSet<KeyHash>,
}

/// A question: whether a run of rows may hold a value.
struct Piece {
    /// The bytes that answer it.
    place: Range<u64>,
    /// The number of its column among those that are asked.
    asked: usize,
    run: usize,
    hash: KeyHash,
}

/// Answers of the bloom filters of columns.
pub(super) struct KeyAnswers {
    /// By the number of the column.
    of_columns: BTreeMap<u32, Arc<KeysOfColumn>>,
}

/// Answers of the bloom filters of a column.
#[derive(Debug)]
pub(super) struct KeysOfColumn {
    /// Where each run ends, in rows of the table.
    ends: Vec<u64>,
    /// For each value and run whether the run may hold it.
    may_hold: BTreeMap<KeyHash, Vec<bool>>,
}

impl<'c> KeyQuestions<'c> {
    /// The questions of conjuncts that are bound to these fields; none where no column has bloom filters.
    pub(super) fn of(
        conjuncts: &[Conjunct],
        fields: &'c [Arc<TableField>],
    ) -> Result<KeyQuestions<'c>> {
        let mut columns: BTreeMap<u32, Asked<'c>> = BTreeMap::new();
        for Keys { place, values } in conjuncts.iter().flat_map(Conjunct::keys) {
            let field = fields.get(place.field);
            let column = field.and_then(|field| field.column_at(&place.path));
            let Some((column, blooms)) = column.and_then(|it| Some((it, it.blooms.as_ref()?)))
            else {
                continue;
            };
            let asked = columns.entry(column.leaf).or_insert_with(|| Asked {
                column,
                runs: blooms.runs(&column.pages).collect(),
                hashes: BTreeSet::new(),
            });
            asked.hashes.extend(hashes_of(&values)?);
        }
        Ok(Self {
            columns: columns.into_values().collect(),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The questions about runs with some of these rows, or about all. Where the bytes that answer are as many as those
    /// of the rows, nothing is asked.
    fn pieces(&self, rows: Option<&RowSelection>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (number, asked) in self.columns.iter().enumerate() {
            for (i, run) in asked.runs.iter().enumerate() {
                let is_open = |rows: &RowSelection| {
                    let mut open = rows.runs_within(run.rows.clone());
                    open.next().is_some()
                };
                if !rows.is_none_or(is_open) {
                    continue;
                }
                let of_run = asked.hashes.iter().map(|hash| {
                    let Range { start, end } = run.shape.shard_of(*hash);
                    Piece {
                        place: run.place.start + start..run.place.start + end,
                        asked: number,
                        run: i,
                        hash: *hash,
                    }
                });
                let of_run: Vec<Piece> = of_run.collect();
                if bytes_of(&of_run) < asked.column.encoded_bytes_about(&run.rows) {
                    pieces.extend(of_run);
                }
            }
        }
        pieces
    }

    /// Asks before the zones of these columns were read, in one wave with them, where a wave takes long and the answers
    /// are few bytes; reads the zones in any case.
    pub(super) fn ask_with_zones(
        &self,
        file: &OpenFile,
        columns: &[&Column],
    ) -> Result<Option<KeyAnswers>> {
        let is_early = !self.is_empty() && file.source.is_far();
        if is_early && has_unread_zones(columns.iter().copied()) {
            let pieces = self.pieces(None);
            if bytes_of(&pieces) <= EARLY_BYTES_MAX {
                return self.ask(file, columns, pieces).map(Some);
            }
        }
        self.ask(file, columns, Vec::new())?;
        Ok(None)
    }

    /// Asks about the runs that hold some of these rows.
    pub(super) fn ask_about(&self, file: &OpenFile, rows: &RowSelection) -> Result<KeyAnswers> {
        self.ask(file, &[], self.pieces(Some(rows)))
    }

    /// Reads the zones of these columns, and what answers the questions, as many at a time as may be held.
    fn ask(
        &self,
        file: &OpenFile,
        columns: &[&Column],
        mut pieces: Vec<Piece>,
    ) -> Result<KeyAnswers> {
        pieces.sort_unstable_by_key(|piece| (piece.place.start, piece.hash));
        let mut answers: Vec<KeysOfColumn> = self.columns.iter().map(KeysOfColumn::new).collect();
        let (mut columns, mut rest) = (columns, pieces.as_slice());
        loop {
            let mut held = 0;
            let fits = |piece: &&Piece| {
                held += piece.place.end - piece.place.start;
                held <= HELD_BYTES_MAX
            };
            let (now, later) = rest.split_at(rest.iter().take_while(fits).count());
            let found = read_zones_and(file, columns.iter().copied(), |hand| {
                all(now.iter().map(|piece| {
                    let bytes = hand.get_block(piece.place.clone())?;
                    self.may_hold(piece, &bytes).map_err(Stop::from)
                }))
            })?;
            for (piece, may_hold) in now.iter().zip(found) {
                if let Some(answers) = answers.get_mut(piece.asked)
                    && let Some(of_runs) = answers.may_hold.get_mut(&piece.hash)
                    && let Some(answer) = of_runs.get_mut(piece.run)
                {
                    *answer = may_hold;
                }
            }
            (columns, rest) = (&[], later);
            if rest.is_empty() {
                break;
            }
        }
        let of_columns = self.columns.iter().zip(answers);
        Ok(KeyAnswers {
            of_columns: of_columns
                .map(|(asked, answers)| (asked.column.leaf, Arc::new(answers)))
                .collect(),
        })
    }

    fn may_hold(&self, piece: &Piece, bytes: &[u8]) -> Result<bool> {
        let asked = self.columns.get(piece.asked);
        let Some((asked, run)) = asked.and_then(|it| Some((it, it.runs.get(piece.run)?))) else {
            return Ok(true);
        };
        let shape: BloomShape = run.shape;
        shape.may_hold(bytes, piece.hash).map_err(|error| {
            let Range { start, end } = run.rows;
            let what = format!("bloom filter of the rows {start}..{end}");
            let error = while_reading(error).prefixed(&what);
            error.in_page(run.page).in_column(asked.column.name())
        })
    }
}

/// Bytes that answer some questions; those that answer several count once.
fn bytes_of(pieces: &[Piece]) -> u64 {
    let places: BTreeMap<u64, u64> = pieces
        .iter()
        .map(|piece| (piece.place.start, piece.place.end - piece.place.start))
        .collect();
    places.values().sum()
}

/// The hashes of values of a flat type, none of them null.
fn hashes_of(values: &ArrayRef) -> Result<impl Iterator<Item = KeyHash>> {
    let mut found = KeyHashes::default();
    collect(values.data_type(), std::slice::from_ref(values), &mut found)?;
    Ok(found.hashes.into_iter().flatten())
}

impl KeyAnswers {
    /// The answers of a column; `None` if it was not asked.
    pub(super) fn of(&self, column: &Column) -> Option<&Arc<KeysOfColumn>> {
        self.of_columns.get(&column.leaf)
    }
}

impl KeysOfColumn {
    /// No answers yet: each run may hold each of the values.
    fn new(asked: &Asked<'_>) -> Self {
        let anything = vec![true; asked.runs.len()];
        let hashes = asked.hashes.iter();
        Self {
            ends: asked.runs.iter().map(|run| run.rows.end).collect(),
            may_hold: hashes.map(|hash| (*hash, anything.clone())).collect(),
        }
    }

    /// Where each run ends, in rows of the table.
    pub(super) fn ends(&self) -> &[u64] {
        &self.ends
    }

    /// The answers for segments with these ends, each part of one run.
    pub(super) fn of_segments(self: &Arc<Self>, ends: &[u64]) -> Arc<dyn KeyRuns> {
        Arc::new(KeysOfSegments {
            of_column: self.clone(),
            runs: parts_of_segments(&self.ends, ends).collect(),
        })
    }
}

/// Answers for parts of runs.
#[derive(Debug)]
struct KeysOfSegments {
    of_column: Arc<KeysOfColumn>,
    /// The run of each.
    runs: Vec<usize>,
}

impl KeyRuns for KeysOfSegments {
    fn that_may_hold(&self, values: &ArrayRef, at: usize) -> Option<BooleanBuffer> {
        let hash = hashes_of(&values.slice(at, 1)).ok()?.next()?;
        let of_runs = self.of_column.may_hold.get(&hash)?;
        let may_hold = |i: usize| {
            let run = self.runs.get(i).and_then(|run| of_runs.get(*run));
            run.copied().unwrap_or(true)
        };
        Some(BooleanBuffer::collect_bool(self.runs.len(), may_hold))
    }
}
