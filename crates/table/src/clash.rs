//! Clashes: updates that give the same rows new values of the same fields.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, BooleanArray, UInt64Array};
use arrow_select::filter::filter;
use tarsia::{File, OpenOptions, RowSet};
use tarsia_io::{Get, GetRange, MemoryStore, Store, block_on};
use tarsia_table_meta::{Entry, EntryKind, EntryOp, FieldId, FileId, Target, names};

use crate::error::{Error, Result};
use crate::objects::{Objects, unexpected};
use crate::overlay::{each_position, position_column};
use crate::steps::{Answer, Desk, Need};
use crate::update::{UpdateFields, UpdateWriter};

/// Outcome where two branches gave the same rows new values of the same field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// Nothing is merged: it is a conflict.
    #[default]
    Fail,
    /// The values of the source count.
    Source,
    /// The values of the target count. Update files of the source with such values are written again without them.
    Target,
}

/// Rows of a field that two updates have in common, by field and file.
pub(crate) type Common = BTreeMap<(FieldId, FileId), RowSet>;

/// Updates by the files that they are about, and the update files that were read.
pub(crate) struct Clashes<'a> {
    desk: &'a Desk,
    others: HashMap<FileId, Vec<&'a Entry>>,
    files: HashMap<FileId, Arc<File>>,
}

/// Whether an entry is an update.
pub(crate) fn is_update(entry: &Entry) -> bool {
    entry.kind == EntryKind::Update && entry.op == EntryOp::Add
}

impl<'a> Clashes<'a> {
    /// Prepares comparisons with these entries.
    pub(crate) fn with(desk: &'a Desk, others: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut by_file: HashMap<FileId, Vec<&Entry>> = HashMap::new();
        for entry in others.into_iter().filter(|entry| is_update(entry)) {
            for target in &entry.targets {
                by_file.entry(target.file).or_default().push(entry);
            }
        }
        Self {
            desk,
            others: by_file,
            files: HashMap::new(),
        }
    }

    /// The rows and fields that an update has in common with the others. Positions are read only where both are about
    /// some rows of the same file, and have a field in common.
    pub(crate) async fn common(&mut self, mine: &Entry) -> Result<Common> {
        let mut common = Common::new();
        if !is_update(mine) || self.others.is_empty() {
            return Ok(common);
        }
        for target in &mine.targets {
            let others = self.others.get(&target.file).cloned().unwrap_or_default();
            for other in others {
                let fields = mine.fields.iter().filter(|id| other.fields.contains(id));
                let fields: Vec<FieldId> = fields.copied().collect();
                let of_other = other.targets.iter().find(|it| it.file == target.file);
                let Some(of_other) = of_other.filter(|_| !fields.is_empty()) else {
                    continue;
                };
                let rows = self.rows(mine, target).await?;
                let of_other = self.rows(other, of_other).await?;
                let both = rows.difference(&rows.difference(&of_other));
                for id in fields.into_iter().filter(|_| !both.is_empty()) {
                    let known = common.entry((id, target.file)).or_default();
                    *known = known.union(&both);
                }
            }
        }
        Ok(common)
    }

    /// The rows that an update has new values for.
    async fn rows(&mut self, entry: &Entry, target: &Target) -> Result<RowSet> {
        let mut rows = RowSet::new();
        if target.dense {
            rows.insert_range(0..target.rows);
            return Ok(rows);
        }
        let file = self.file(entry).await?;
        let range = target.first_row..target.first_row.saturating_add(target.rows);
        each_position(&file, range, |_, positions| {
            for position in positions {
                rows.insert_range(*position..position.saturating_add(1));
            }
        })
        .map_err(|error| error.of_object(&names::data_key(&entry.file)))?;
        Ok(rows)
    }

    async fn file(&mut self, entry: &Entry) -> Result<Arc<File>> {
        if let Some(file) = self.files.get(&entry.file) {
            return Ok(file.clone());
        }
        let key = names::data_key(&entry.file);
        let need = Need::Get {
            key: key.clone(),
            bytes_max: entry.bytes,
        };
        let bytes = match self.desk.ask_one(need).await {
            Answer::Got(Some(bytes)) => bytes,
            Answer::Got(None) => {
                return Err(Error::corrupt("the update file is missing").of_object(&key));
            }
            other => return Err(unexpected(other).of_object(&key)),
        };
        let file = File::from_bytes(bytes, OpenOptions::new());
        let file = file.map_err(|error| Error::from(error).of_object(&key))?;
        let id = file.metadata().map_err(Error::from)?.file_id;
        if id != entry.file.0 || file.num_rows() != entry.rows {
            let what = "its id or its rows are not those of its entry";
            return Err(Error::corrupt(what).of_object(&key));
        }
        let file = Arc::new(file);
        self.files.insert(entry.file, file.clone());
        Ok(file)
    }

    /// Writes an update again without some of its values: as one entry for the fields that keep all of them, and one
    /// for each other field. Adds the files to `puts`.
    pub(crate) async fn without(
        &mut self,
        objects: &Objects,
        entry: &Entry,
        common: &Common,
        puts: &mut Vec<Need>,
    ) -> Result<Vec<Entry>> {
        let is_met = |id: &FieldId| common.keys().any(|(field, _)| field == id);
        let (met, kept): (Vec<FieldId>, Vec<FieldId>) =
            entry.fields.iter().copied().partition(is_met);
        let file = self.file(entry).await?;
        let sink: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let mut groups: Vec<Vec<FieldId>> = met.into_iter().map(|id| vec![id]).collect();
        groups.extend((!kept.is_empty()).then_some(kept));
        let schema_id = entry
            .schema
            .ok_or_else(|| Error::corrupt("an update has no schema"))?;
        let schema = objects.schema(self.desk, schema_id).await?;
        let mut entries = Vec::new();
        for fields in groups {
            let found = fields.iter().map(|id| schema.by_id(*id).cloned());
            let found = found.collect::<Option<Vec<_>>>();
            let of = UpdateFields {
                store: sink.clone(),
                schema: schema_id,
                fields: found.ok_or_else(|| Error::corrupt("an update of an unknown field"))?,
                memory_budget_bytes: tarsia::WriteOptions::new().memory_budget_bytes(),
            };
            let mut writer = UpdateWriter::new(of.clone(), entry.partition.clone(), false);
            for target in &entry.targets {
                let gone = fields
                    .first()
                    .and_then(|id| common.get(&(*id, target.file)));
                copy(&mut writer, &file, target, &of, gone)?;
            }
            entries.extend(writer.finish()?);
        }
        for entry in &entries {
            let key = names::data_key(&entry.file);
            let whole = GetRange::Whole {
                bytes_max: entry.bytes,
            };
            let bytes = Arc::new(block_on(sink.get(Get::new(key.clone(), whole)))?.bytes);
            puts.push(Need::Put { key, bytes });
        }
        Ok(entries)
    }
}

/// Copies the values of a target to a sparse update, without those of some rows.
fn copy(
    writer: &mut UpdateWriter,
    file: &File,
    target: &Target,
    of: &UpdateFields,
    gone: Option<&RowSet>,
) -> Result<()> {
    writer.begin(target.file)?;
    let mut columns: Vec<String> = of.fields.iter().map(|it| it.field.name().clone()).collect();
    if !target.dense {
        columns.push(position_column(file)?);
    }
    let end = target.first_row.saturating_add(target.rows);
    let scan = file.scan().columns(&columns).rows(target.first_row..end);
    let scan = match target.dense {
        true => scan.with_row_numbers(),
        false => scan,
    };
    for batch in scan.build()? {
        let batch = batch?;
        let positions = batch.columns().last();
        let positions = positions.and_then(|it| it.as_primitive_opt::<UInt64Type>());
        let positions = positions.ok_or_else(|| Error::corrupt("an update without positions"))?;
        let positions: UInt64Array = match target.dense {
            true => positions.unary(|row| row.wrapping_sub(target.first_row)),
            false => positions.clone(),
        };
        let is_kept = positions.values().iter();
        let is_kept = is_kept.map(|it| gone.is_none_or(|gone| !gone.contains(*it)));
        let is_kept = BooleanArray::from(is_kept.collect::<Vec<_>>());
        let values = batch.columns().iter().take(of.fields.len());
        let values = values.map(|column| filter(column.as_ref(), &is_kept));
        let values: Vec<ArrayRef> = values.collect::<Result<_, _>>()?;
        let positions = filter(&positions, &is_kept)?;
        let positions = positions.as_primitive_opt::<UInt64Type>();
        let positions = positions.ok_or_else(|| Error::corrupt("positions of another type"))?;
        if !positions.is_empty() {
            writer.write(positions, &values)?;
        }
    }
    Ok(())
}
