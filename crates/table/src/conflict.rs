//! Conflicts: changes that may not happen at the same time.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use tarsia_table_meta::{Alter, Entry, EntryOp, FieldId, FileId, TableSchema, TxnId};

use crate::clash::{Clashes, Common, is_update};
use crate::error::{Error, Result};
use crate::extend::own_entries_that_meet;
use crate::history::{Node, changes};
use crate::objects::Objects;
use crate::steps::Desk;

/// Things that were changed by others.
#[derive(Debug, Default)]
pub(crate) struct Others {
    /// Files that they removed.
    pub(crate) removed: HashSet<FileId>,
    /// The ones among these whose rows a compaction put into another file.
    pub(crate) moved: HashSet<FileId>,
    /// Updates of columns, and the transactions that made them.
    pub(crate) updates: Vec<(TxnId, Entry)>,
    /// Changes of the schema, and the transactions that made them.
    alters: Vec<(TxnId, Alter)>,
}

impl Others {
    pub(crate) async fn of(desk: &Desk, objects: &Objects, commits: &[Node]) -> Result<Self> {
        let mut others = Self::default();
        for (_, commit) in commits {
            let is_compaction = commit.changes.iter().any(|it| !it.op.is_logical());
            let txns: HashMap<u64, TxnId> =
                commit.changes.iter().map(|it| (it.seq, it.txn)).collect();
            for entry in own_entries_that_meet(desk, objects, commit).await? {
                if entry.op == EntryOp::Remove {
                    others.removed.insert(entry.file);
                    if is_compaction {
                        others.moved.insert(entry.file);
                    }
                } else if let Some(txn) = txns.get(&entry.seq).filter(|_| is_update(&entry)) {
                    others.updates.push((*txn, entry));
                }
            }
        }
        for (_, change) in changes(commits) {
            let alters = change.alters.iter().cloned();
            others.alters.extend(alters.map(|it| (change.txn, it)));
        }
        Ok(others)
    }

    /// Leaves out what these transactions changed. A merge gives the ones that its source has: they came from there,
    /// or from where the source has them from, and what the source changed afterwards was made knowing them.
    /// Files that are removed stay removed, whoever did it.
    pub(crate) fn without(mut self, known: &HashSet<TxnId>) -> Self {
        self.updates.retain(|(txn, _)| !known.contains(txn));
        self.alters.retain(|(txn, _)| !known.contains(txn));
        self
    }

    fn alters(&self) -> impl Iterator<Item = &Alter> {
        self.alters.iter().map(|(_, alter)| alter)
    }

    /// Refuses changes of a schema that meet those of others: of one field, or one name for two fields.
    pub(crate) fn check_alters(&self, mine: &[Alter], schema: &TableSchema) -> Result<()> {
        let name = |id: FieldId| match schema.by_id(id) {
            Some(field) => format!("field `{}`", field.field.name().escape_debug()),
            None => format!("the field of id {id}"),
        };
        for alter in mine {
            if let Some(other) = self.alters().find(|other| other.id() == alter.id()) {
                return Err(Error::conflict(format!(
                    "{} was changed by another commit",
                    name(other.id())
                )));
            }
            let taken = alter
                .new_name()
                .filter(|new| self.alters().any(|other| other.new_name() == Some(new)));
            if let Some(taken) = taken {
                return Err(Error::conflict(format!(
                    "another commit has given the name `{}` to a field",
                    taken.escape_debug()
                )));
            }
        }
        Ok(())
    }

    /// Refuses rows with a field that others dropped.
    pub(crate) fn check_fields(
        &self,
        written: &HashSet<FieldId>,
        schema: &TableSchema,
    ) -> Result<()> {
        let dropped = self
            .alters()
            .find(|alter| matches!(alter, Alter::Drop { .. }) && written.contains(&alter.id()));
        match dropped {
            None => Ok(()),
            Some(alter) => {
                let field = schema.by_id(alter.id());
                let name = field.map_or("?", |field| field.field.name()).escape_debug();
                let what =
                    format!("another commit dropped field `{name}`, which the new rows have");
                Err(Error::conflict(what))
            }
        }
    }

    /// Refuses updates of rows and fields that others updated, or that were computed from such; of fields that others
    /// dropped or widened; and changes of the schema that drop or widen a field that others updated.
    pub(crate) async fn check_updates(
        &self,
        desk: &Desk,
        entries: &[Entry],
        alters: &[Alter],
        reads: &BTreeMap<FieldId, BTreeSet<FileId>>,
        schema: &TableSchema,
    ) -> Result<()> {
        let mine = || entries.iter().filter(|entry| is_update(entry));
        let fields: BTreeSet<FieldId> = mine().flat_map(|entry| entry.fields.clone()).collect();
        let met = self.alters().filter(|it| is_of_values(it));
        let mut met = met.map(Alter::id);
        let is_mine = |id: &FieldId| fields.contains(id) || reads.contains_key(id);
        if let Some(id) = met.find(is_mine) {
            let what = "another commit dropped it or gave it another type";
            return Err(clash(schema, id, what));
        }
        let others = || self.updates.iter().map(|(_, entry)| entry);
        let is_altered = |id: FieldId| alters.iter().any(|it| is_of_values(it) && it.id() == id);
        for other in others() {
            if let Some(id) = other.fields.iter().find(|id| is_altered(**id)) {
                return Err(clash(schema, *id, "another commit gave rows new values"));
            }
            for id in &other.fields {
                let Some(files) = reads.get(id) else { continue };
                if let Some(target) = other.targets.iter().find(|it| files.contains(&it.file)) {
                    let file = target.file;
                    let what = format!(
                        "another commit changed values in file {file} that were read for this update"
                    );
                    return Err(clash(schema, *id, &what));
                }
            }
        }
        let mut clashes = Clashes::with(desk, others());
        for entry in mine() {
            check_common(&clashes.common(entry).await?, schema)?;
        }
        Ok(())
    }
}

/// Refuses rows and fields that two updates have in common.
pub(crate) fn check_common(common: &Common, schema: &TableSchema) -> Result<()> {
    match common.iter().next() {
        None => Ok(()),
        Some(((id, file), rows)) => {
            let row = rows.iter().next().unwrap_or(0);
            let what = format!("row {row} of file {file} was updated by another commit, too");
            Err(clash(schema, *id, &what))
        }
    }
}

fn clash(schema: &TableSchema, id: FieldId, what: &str) -> Error {
    let name = match schema.by_id(id) {
        Some(field) => format!("field `{}`", field.field.name().escape_debug()),
        None => format!("the field of id {id}"),
    };
    Error::conflict(format!("{name}: {what}"))
}

/// Whether a change of the schema is about the values of a field.
fn is_of_values(alter: &Alter) -> bool {
    matches!(alter, Alter::Drop { .. } | Alter::Widen { .. })
}
