//! Updates of rows by their keys: values of some columns that name rows.

use std::collections::{BTreeMap, HashMap};

use arrow_array::{Array, ArrayRef, RecordBatchReader};
use arrow_schema::DataType;
use tarsia_filter::{Expr, Literal, col};
use tarsia_table_meta::key::{KeyType, KeyValue, array_of};
use tarsia_table_meta::{FieldId, FileId, Partition, TableField, TableSchema};

use super::Transaction;
use super::update::{PlacedRows, Writers, write_placed};
use crate::error::{Error, ErrorKind, Result};
use crate::origins::origin_at;
use crate::plan::PlannedFile;
use crate::project::{Projection, fields_of};
use crate::scan::Origin;
use crate::table_file::{Condition, ReadOptions, TableFile};
use crate::update::UpdateFields;

/// Keys of so many rows are looked for one by one; of more, what lies between the lowest and the highest.
const SOUGHT_KEYS: usize = 64;

/// Treatment of new values whose key no row of the table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unmatched {
    /// Nothing is updated: it is an error that names the first of them.
    #[default]
    Fail,
    /// They are left out.
    Skip,
}

/// Rows that an update by key is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Matched {
    /// Rows of the table that get new values.
    pub rows: u64,
    /// Rows of new values whose key no row of the table has.
    pub unmatched: u64,
}

/// New values, and where those of a key are.
struct Given {
    /// Values of the fields that are updated, by batch.
    values: Vec<Vec<ArrayRef>>,
    /// Batch and row of each key, in key encoding.
    places: HashMap<Vec<u8>, (usize, usize)>,
    /// Rows before each batch.
    firsts: Vec<usize>,
    key: Key,
    /// True for all rows that have one of the keys; `None` if nothing can be said.
    condition: Option<Expr>,
}

/// The fields that name rows.
struct Key {
    fields: Vec<TableField>,
    types: Vec<KeyType>,
}

/// Rows that were found.
struct Found {
    matched: Matched,
    /// By partition, then by the file that they were first written to.
    rows: BTreeMap<Partition, BTreeMap<FileId, PlacedRows>>,
    /// Files that were looked at.
    files: Vec<PlannedFile>,
}

impl Transaction {
    /// Gives rows new values, by their keys: all rows of the state in view whose values of the columns `keys` are those
    /// of a row of `reader` get the values of its other columns, which have the names of fields. Several rows may have
    /// one key; null is no key. All rows of `reader` are in memory. Of the table the columns of the keys are read,
    /// where partitions and zones do not rule out that there is one of the keys.
    ///
    /// Rows that this transaction adds, or that others add meanwhile, stay. The commit is refused if others meanwhile
    /// changed values of the keys, or the ones that are written.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a key that no row has, unless it is to be skipped, with the number of its row in
    /// `reader`, counted from 0, and for fields that there are not; [`ErrorKind::InvalidInput`] for a key that is there
    /// twice or is null, with its rows, for keys of a type that has no encoding as one (floating-point numbers,
    /// dictionaries, nested types), and for columns as in [`Transaction::update_where`]; errors of the reader and of
    /// the store.
    pub fn update_by(
        &mut self,
        keys: &[&str],
        reader: impl RecordBatchReader,
        unmatched: Unmatched,
    ) -> Result<Matched> {
        let (of, given) = self.given(keys, reader)?;
        let found = self.find_by(&given, unmatched)?;
        let ids: Vec<FieldId> = given.key.fields.iter().map(|field| field.id).collect();
        for planned in &found.files {
            self.note_reads(&ids, planned);
        }
        for (partition, files) in &found.rows {
            let mut writers = Writers::new(&of, partition);
            for rows in files.values() {
                write_placed(&mut writers, rows, &given.values)?;
            }
            self.updated.extend(writers.finish()?);
        }
        Ok(found.matched)
    }

    /// The rows that [`Transaction::update_by`] would update. Nothing is written.
    ///
    /// # Errors
    /// As [`Transaction::update_by`].
    pub fn count_by(
        &self,
        keys: &[&str],
        reader: impl RecordBatchReader,
        unmatched: Unmatched,
    ) -> Result<Matched> {
        let (_, given) = self.given(keys, reader)?;
        Ok(self.find_by(&given, unmatched)?.matched)
    }

    fn given(
        &self,
        keys: &[&str],
        reader: impl RecordBatchReader,
    ) -> Result<(UpdateFields, Given)> {
        let key = Key::new(self.snapshot.schema(), keys)?;
        let schema = reader.schema();
        let of_keys = key.places(&schema)?;
        let places = (0..schema.fields().len()).filter(|place| !of_keys.contains(place));
        let places: Vec<usize> = places.collect();
        let names = places
            .iter()
            .filter_map(|place| schema.fields().get(*place));
        let names: Vec<&str> = names.map(|field| field.name().as_str()).collect();
        let of = self.update_fields(&names)?;
        let mut given = Given {
            values: Vec::new(),
            places: HashMap::new(),
            firsts: Vec::new(),
            key,
            condition: None,
        };
        let mut bounds = Bounds::default();
        let mut n_rows = 0;
        for batch in reader {
            let batch = batch?;
            let columns = |places: &[usize]| -> Vec<ArrayRef> {
                let columns = places
                    .iter()
                    .filter_map(|place| batch.columns().get(*place));
                columns.cloned().collect()
            };
            let values = columns(&places);
            of.check(&values, batch.num_rows())?;
            given.add(&columns(&of_keys), values, n_rows, &mut bounds)?;
            n_rows += batch.num_rows();
        }
        given.condition = bounds.condition(&given.key, self.snapshot.schema())?;
        Ok((of, given))
    }

    fn find_by(&self, given: &Given, unmatched: Unmatched) -> Result<Found> {
        let mut found = Found {
            matched: Matched::default(),
            rows: BTreeMap::new(),
            files: Vec::new(),
        };
        if given.places.is_empty() {
            return Ok(found);
        }
        let names = given.key.fields.iter();
        let names: Vec<String> = names.map(|field| field.field.name().clone()).collect();
        let projection = Projection::new(self.snapshot.schema(), Some(&names))?;
        let mut is_matched = vec![false; given.n_rows()];
        for planned in self.snapshot.plan(given.condition.as_ref())? {
            if self.removed.contains_key(&planned.entry.file) {
                continue;
            }
            let rows = self.find_in(given, &planned, &projection, &mut is_matched)?;
            let n_rows: usize = rows.values().map(|rows| rows.rows.len()).sum();
            found.matched.rows += n_rows as u64;
            if n_rows > 0 {
                let partition = planned.entry.partition.clone();
                found.rows.entry(partition).or_default().extend(rows);
            }
            found.files.push(planned);
        }
        let first = is_matched.iter().position(|is_matched| !is_matched);
        if let (Some(row), Unmatched::Fail) = (first, unmatched) {
            let what = format!("no row of the table has the {} of row {row}", given.key);
            return Err(Error::new(ErrorKind::NotFound, what));
        }
        let n_unmatched = is_matched.iter().filter(|is_matched| !**is_matched).count();
        found.matched.unmatched = n_unmatched as u64;
        Ok(found)
    }

    /// Finds rows in a file, by the file that they were first written to.
    fn find_in(
        &self,
        given: &Given,
        planned: &PlannedFile,
        projection: &Projection,
        is_matched: &mut [bool],
    ) -> Result<BTreeMap<FileId, PlacedRows>> {
        let file = TableFile::open(&self.snapshot, planned)?;
        let live = TableFile::live(&self.snapshot, planned)?;
        let n_live = live.len();
        let mut rows = live.without(&self.deleted_of(planned)?);
        if let Some(condition) = given.condition.as_ref().filter(|_| !planned.all_pass) {
            let condition = Condition::new(condition, self.snapshot.schema())?;
            rows = file.matching(&condition, rows)?;
        }
        let mut found: BTreeMap<FileId, PlacedRows> = BTreeMap::new();
        if rows.is_empty() {
            return Ok(found);
        }
        let options = ReadOptions {
            has_names: true,
            ..ReadOptions::default()
        };
        let mut n_found = 0;
        let mut scan = file.scan(projection, rows, options)?;
        let mut encoded = Vec::new();
        while let Some(rows) = scan.next_rows(projection)? {
            let names = rows
                .names
                .ok_or_else(|| Error::corrupt("rows without names"))?;
            let values = given.key.values(rows.batch.columns());
            for segment in &names.segments {
                let origin = origin_at(planned, segment.origin)?;
                let positions = names.positions_of(&segment.rows);
                let of_origin = found.entry(origin).or_default();
                for (row, position) in segment.rows.clone().zip(positions) {
                    given.key.encode(&values, row, &mut encoded);
                    let Some((batch, at)) = given.places.get(&encoded).copied() else {
                        continue;
                    };
                    let number = given.firsts.get(batch).map(|first| first + at);
                    if let Some(it) = number.and_then(|number| is_matched.get_mut(number)) {
                        *it = true;
                    }
                    let origin = Origin {
                        file: origin,
                        position: *position,
                    };
                    of_origin.rows.push((origin, batch, at));
                    n_found += 1;
                }
            }
        }
        found.retain(|_, rows| !rows.rows.is_empty());
        if planned.entry.origins.is_empty() && n_found == n_live {
            for rows in found.values_mut() {
                rows.dense = Some(planned.entry.rows);
            }
        }
        Ok(found)
    }
}

impl Given {
    fn n_rows(&self) -> usize {
        self.places.len()
    }

    /// Adds a batch; `first` rows came before it.
    fn add(
        &mut self,
        keys: &[ArrayRef],
        values: Vec<ArrayRef>,
        first: usize,
        bounds: &mut Bounds,
    ) -> Result<()> {
        let batch = self.values.len();
        let n_rows = keys.first().map_or(0, |column| column.len());
        let of_columns = self.key.values(keys);
        for (place, values) in of_columns.iter().enumerate() {
            if let Some(row) = values.iter().position(|value| *value == KeyValue::Null) {
                let name = self.key.name(place);
                let what = format!("row {}: key `{name}` is null", first + row);
                return Err(Error::invalid(what));
            }
        }
        for row in 0..n_rows {
            let mut encoded = Vec::new();
            self.key.encode(&of_columns, row, &mut encoded);
            if let Some((batch, at)) = self.places.insert(encoded, (batch, row)) {
                let other = self.firsts.get(batch).map_or(first, |first| *first) + at;
                let row = first + row;
                let what = format!("row {row} has the same {} as row {other}", self.key);
                return Err(Error::invalid(what));
            }
        }
        bounds.add(of_columns);
        self.values.push(values);
        self.firsts.push(first);
        Ok(())
    }
}

impl Key {
    fn new(schema: &TableSchema, names: &[&str]) -> Result<Self> {
        let mut key = Self {
            fields: Vec::new(),
            types: Vec::new(),
        };
        for name in names {
            let shown = name.escape_debug();
            let field = schema.by_name(name);
            let field = field
                .ok_or_else(|| Error::not_found(format!("the table has no field `{shown}`")))?;
            let data_type = field.field.data_type();
            let key_type = KeyType::of(data_type).ok_or_else(|| {
                let what =
                    format!("field `{shown}` of type {data_type} is no key: it has no encoding");
                Error::invalid(what)
            })?;
            if key.fields.iter().any(|known| known.id == field.id) {
                return Err(Error::invalid(format!("key `{shown}` is there twice")));
            }
            key.fields.push(field.clone());
            key.types.push(key_type);
        }
        match key.fields.is_empty() {
            true => Err(Error::invalid("an update by no key")),
            false => Ok(key),
        }
    }

    fn name(&self, place: usize) -> String {
        let field = self.fields.get(place);
        field.map_or_else(String::new, |it| it.field.name().escape_debug().to_string())
    }

    /// Places of the keys in a schema of new values.
    fn places(&self, schema: &arrow_schema::Schema) -> Result<Vec<usize>> {
        let places = self.fields.iter().map(|field| {
            let name = field.field.name();
            let shown = name.escape_debug();
            let place = schema
                .index_of(name)
                .map_err(|_| Error::invalid(format!("the new values have no key `{shown}`")))?;
            if schema
                .fields()
                .iter()
                .filter(|it| it.name() == name)
                .count()
                > 1
            {
                let what = format!("the new values have the key `{shown}` twice");
                return Err(Error::invalid(what));
            }
            let (found, expected) = (schema.field(place).data_type(), field.field.data_type());
            match found == expected {
                true => Ok(place),
                false => Err(Error::invalid(format!(
                    "key `{shown}` of type {found} for a field of type {expected}"
                ))),
            }
        });
        places.collect()
    }

    /// Values of columns.
    fn values(&self, columns: &[ArrayRef]) -> Vec<Vec<KeyValue>> {
        let columns = columns.iter().zip(&self.types);
        columns.map(|(column, it)| it.values(column)).collect()
    }

    /// Replaces `out` by the encoding of a row.
    fn encode(&self, columns: &[Vec<KeyValue>], row: usize, out: &mut Vec<u8>) {
        out.clear();
        for (values, key_type) in columns.iter().zip(&self.types) {
            key_type.encode(values.get(row).unwrap_or(&KeyValue::Null), out);
        }
    }
}

/// The names of the fields.
impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = (0..self.fields.len()).map(|place| format!("`{}`", self.name(place)));
        let what = if self.fields.len() == 1 {
            "key"
        } else {
            "keys"
        };
        write!(f, "{what} {}", names.collect::<Vec<_>>().join(", "))
    }
}

/// The lowest and the highest value of each key, and all values while they are few.
#[derive(Default)]
struct Bounds {
    ends: Vec<(KeyValue, KeyValue)>,
    few: Option<Vec<Vec<KeyValue>>>,
    n_rows: usize,
}

impl Bounds {
    fn add(&mut self, columns: Vec<Vec<KeyValue>>) {
        let n_rows = columns.first().map_or(0, Vec::len);
        if n_rows == 0 {
            return;
        }
        for (place, values) in columns.iter().enumerate() {
            let (Some(low), Some(high)) = (values.iter().min(), values.iter().max()) else {
                continue;
            };
            match self.ends.get_mut(place) {
                Some(ends) => {
                    if *low < ends.0 {
                        ends.0 = low.clone();
                    }
                    if *high > ends.1 {
                        ends.1 = high.clone();
                    }
                }
                None => self.ends.push((low.clone(), high.clone())),
            }
        }
        self.n_rows += n_rows;
        let few = self
            .few
            .get_or_insert_with(|| vec![Vec::new(); columns.len()]);
        match self.n_rows <= SOUGHT_KEYS {
            true => few
                .iter_mut()
                .zip(columns)
                .for_each(|(few, more)| few.extend(more)),
            false => few.iter_mut().for_each(Vec::clear),
        }
    }

    /// A condition that is true for each row with one of the keys.
    fn condition(&self, key: &Key, schema: &TableSchema) -> Result<Option<Expr>> {
        let mut condition: Option<Expr> = None;
        let columns = key.fields.iter().zip(&self.ends).enumerate();
        for (place, (field, (low, high))) in columns {
            let data_type = field.field.data_type();
            let literal = |value: &KeyValue| {
                let array = array_of(data_type, std::slice::from_ref(value))?;
                Ok::<_, Error>(Literal::array(array))
            };
            let name = field.field.name().as_str();
            let few = self.few.as_ref().and_then(|few| few.get(place));
            let expr = match few.filter(|few| !few.is_empty()) {
                Some(few) => {
                    let few = few.iter().map(literal).collect::<Result<Vec<_>>>()?;
                    col(name).is_in(few)
                }
                None => col(name).between(literal(low)?, literal(high)?),
            };
            // Types and names that conditions do not know are looked at row by row.
            let is_known = *data_type != DataType::Boolean
                && fields_of(&expr, schema).is_ok_and(|ids| ids == [field.id])
                && Condition::new(&expr, schema).is_ok();
            if is_known {
                condition = Some(match condition {
                    Some(condition) => condition.and(expr),
                    None => expr,
                });
            }
        }
        Ok(condition)
    }
}
