//! Steps of histories that update columns, and those that compact.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, FixedSizeBinaryArray, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::{DataType, Field};
use tarsia_filter::{Literal, col};
use tarsia_table::{
    Compact, ErrorKind, FILE_COLUMN, Origin, POSITION_COLUMN, Snapshot, Transaction, Unmatched,
};
use tarsia_testkit::rng::Rng;

use super::{Change, Fields, History, Rows, TEXTS, Updated, origins, origins_in, value_of};
use crate::common::reader;

impl History {
    /// Gives rows new values: those of a condition, some by their names, or all.
    pub(super) fn update(
        &mut self,
        txn: &mut Transaction,
        rows: &Rows,
        fields: &Fields,
    ) -> Option<Change> {
        let known = fields.get(self.rng.below(fields.len().max(1))).cloned();
        let (updated, name) = match known {
            Some((field, name, _)) if self.rng.percent(70) => (Updated::Field(field), name),
            _ => (Updated::Text, "t".to_owned()),
        };
        if updated == Updated::Text && self.is_by_text {
            let refused = txn.update_where(&col("n").gt_eq(0), &[("t", "a".into())]);
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidInput);
            return None;
        }
        match self.rng.below(5) {
            0 => Some(self.update_where(txn, rows, updated, &name)),
            1 => self.update_rows(txn, updated, &name),
            2 => Some(self.update_by(txn, rows, updated, &name)),
            3 => Some(update_column(txn, rows, fields, updated, &name)),
            _ => self.add_column(txn, rows, fields),
        }
    }

    fn update_where(
        &mut self,
        txn: &mut Transaction,
        rows: &Rows,
        updated: Updated,
        name: &str,
    ) -> Change {
        let (filter, passes) = self.condition();
        let met = rows.iter().filter(|(n, row)| passes(**n, &row.0));
        let met: Vec<i64> = met.map(|(n, _)| *n).collect();
        let (value, literal) = self.new_value(updated);
        let n_rows = txn.update_where(&filter, &[(name, literal)]).unwrap();
        assert_eq!(n_rows, met.len() as u64, "{filter}");
        Change::Update(updated, met.into_iter().map(|n| (n, value)).collect())
    }

    fn new_value(&mut self, updated: Updated) -> (Option<i64>, Literal) {
        let value = self.rng.below(TEXTS.len()) as i64;
        match updated {
            Updated::Text => (Some(value), TEXTS[value as usize].into()),
            Updated::Field(_) if self.rng.percent(20) => (None, Literal::null()),
            Updated::Field(_) => (Some(value), value.into()),
        }
    }

    fn update_rows(
        &mut self,
        txn: &mut Transaction,
        updated: Updated,
        name: &str,
    ) -> Option<Change> {
        let mut chosen = origins(txn);
        chosen.retain(|_| self.rng.percent(30));
        mixed(&mut self.rng, &mut chosen);
        let mut values = BTreeMap::new();
        for (n, _) in &chosen {
            values.insert(*n, self.new_value(updated).0);
        }
        let files = chosen.iter().map(|(_, origin)| origin.file.0);
        let files = FixedSizeBinaryArray::try_from_iter(files).ok()?;
        let positions = chosen.iter().map(|(_, origin)| origin.position);
        let new = chosen.iter().map(|(n, _)| values[n]);
        let columns: [(&str, ArrayRef); 3] = [
            (FILE_COLUMN, Arc::new(files)),
            (name, array_of(updated, new)),
            (
                POSITION_COLUMN,
                Arc::new(UInt64Array::from_iter_values(positions)),
            ),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let n_rows = txn.update_rows(reader(&batch)).unwrap();
        assert_eq!(n_rows, chosen.len() as u64);
        Some(Change::Update(updated, values))
    }

    /// Gives some rows new values by their numbers, among them numbers that no row has.
    fn update_by(
        &mut self,
        txn: &mut Transaction,
        rows: &Rows,
        updated: Updated,
        name: &str,
    ) -> Change {
        let share = [10, 50, 100][self.rng.below(3)];
        let mut values = BTreeMap::new();
        for n in 0..self.next_row {
            if self.rng.percent(share) {
                values.insert(n, self.new_value(updated).0);
            }
        }
        let mut given: Vec<(i64, Option<i64>)> = values.iter().map(|(n, it)| (*n, *it)).collect();
        mixed(&mut self.rng, &mut given);
        let keys = Int64Array::from_iter_values(given.iter().map(|it| it.0));
        let new = array_of(updated, given.iter().map(|it| it.1));
        let columns = [("n", Arc::new(keys) as ArrayRef, false), (name, new, true)];
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        values.retain(|n, _| rows.contains_key(n));
        if values.len() < given.len() {
            let refused = txn.update_by(&["n"], reader(&batch), Unmatched::Fail);
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotFound);
        }
        let matched = txn
            .update_by(&["n"], reader(&batch), Unmatched::Skip)
            .unwrap();
        assert_eq!(matched.rows, values.len() as u64);
        assert_eq!(matched.unmatched as usize, given.len() - values.len());
        Change::Update(updated, values)
    }

    fn add_column(
        &mut self,
        txn: &mut Transaction,
        rows: &Rows,
        fields: &Fields,
    ) -> Option<Change> {
        self.next_field += 1;
        let (field, name) = (self.next_field, format!("f{}", self.rng.below(6)));
        let new = Field::new(&name, DataType::Int64, true);
        let added = txn.add_column(new, &["n"], |batch| Ok(batch.column(0).clone()));
        if fields.iter().any(|known| known.1 == name) {
            assert_eq!(added.unwrap_err().kind(), ErrorKind::InvalidInput);
            return None;
        }
        assert_eq!(added.unwrap(), rows.len() as u64);
        let values = rows.keys().map(|n| (*n, Some(*n))).collect();
        let add = Change::Add {
            field,
            name,
            default: None,
        };
        let update = Change::Update(Updated::Field(field), values);
        Some(Change::Both(vec![add, update]))
    }

    pub(super) fn compact(&mut self) {
        let branch = self.branch();
        let (info, _) = self.info();
        let before = self.known[&self.head(&branch)].clone();
        let small = if self.rng.flip() { u64::MAX } else { 0 };
        let compact = Compact::new().branch(branch).small_bytes(small);
        let done = self.table.compact(&compact, &info).unwrap();
        self.n_compactions += done.commits.len();
        for commit in done.commits {
            self.known.insert(commit, before.clone());
        }
    }

    /// Makes the entries of a branch one run. That changes no rows, and is never a conflict.
    pub(super) fn compact_metadata(&mut self) {
        let branch = self.branch();
        let (info, _) = self.info();
        let head = self.head(&branch);
        let before = self.known[&head].clone();
        let n_runs = self.table.at(&branch).unwrap().metadata_runs();
        let done = self.table.compact_metadata(&branch, &info).unwrap();
        assert_eq!(done.was_there, n_runs <= 1, "{n_runs} runs");
        assert_eq!(done.was_there, done.commit == head);
        assert!(self.table.at(&branch).unwrap().metadata_runs() <= 1);
        self.known.insert(done.commit, before);
    }

    /// Compares names of rows with those that they had before, and takes rows by their names.
    pub(super) fn check_names(&mut self, snapshot: &Snapshot, rows: &Rows) {
        let scan = snapshot.scan().columns(&["n"]).with_origins();
        let found = origins_in(scan.build().unwrap());
        assert_eq!(found.len(), rows.len());
        for (n, origin) in &found {
            assert_eq!(self.names.entry(*n).or_insert(*origin), origin, "row {n}");
        }
        let mut some = found;
        some.retain(|_| self.rng.percent(40));
        mixed(&mut self.rng, &mut some);
        let names: Vec<Origin> = some.iter().map(|(_, origin)| *origin).collect();
        let taken = snapshot.take(&names, Some(&["n", "t"])).unwrap();
        let numbers = taken.column(0).as_primitive::<Int64Type>();
        let texts = taken.column(1).as_string::<i32>();
        for (i, (n, _)) in some.iter().enumerate() {
            assert_eq!((numbers.value(i), texts.value(i)), (*n, rows[n].0.as_str()));
        }
    }
}

/// Values of a field.
fn array_of(updated: Updated, values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    match updated {
        Updated::Text => {
            let texts = values.map(|value| TEXTS[value.unwrap() as usize]);
            Arc::new(StringArray::from_iter_values(texts))
        }
        Updated::Field(_) => Arc::new(values.collect::<Int64Array>()),
    }
}

/// Brings items into another order.
fn mixed<T>(rng: &mut Rng, items: &mut [T]) {
    for end in (1..items.len()).rev() {
        items.swap(end, rng.below(end + 1));
    }
}

/// Gives all rows a value that is computed from the one that they have: the next one.
fn update_column(
    txn: &mut Transaction,
    rows: &Rows,
    fields: &Fields,
    updated: Updated,
    name: &str,
) -> Change {
    let place = |text: &str| TEXTS.iter().position(|it| *it == text).unwrap();
    let next = |text: &str| (place(text) + 1) % TEXTS.len();
    let n_rows = txn.update_column(name, &[name], |batch| {
        let column = batch.column(0);
        Ok(match updated {
            Updated::Text => {
                let texts = column.as_string::<i32>().iter().flatten();
                let texts = texts.map(|text| TEXTS[next(text)]);
                Arc::new(StringArray::from_iter_values(texts)) as ArrayRef
            }
            Updated::Field(_) => {
                let numbers = column.as_primitive::<Int64Type>().iter();
                Arc::new(
                    numbers
                        .map(|it| it.map(|it| it + 1))
                        .collect::<Int64Array>(),
                )
            }
        })
    });
    assert_eq!(n_rows.unwrap(), rows.len() as u64);
    let values = rows.iter().map(|(n, row)| {
        let value = match updated {
            Updated::Text => Some(next(&row.0) as i64),
            Updated::Field(field) => value_of(row, field, fields).map(|it| it + 1),
        };
        (*n, value)
    });
    Change::Update(updated, values.collect())
}
