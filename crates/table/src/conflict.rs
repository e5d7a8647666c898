//! Conflicts: changes that may not happen at the same time.

use std::collections::HashSet;

use tarsia_table_meta::{Alter, Change, FieldId, FileId, TableSchema};

use crate::error::{Error, Result};
use crate::extend::own_removals;
use crate::history::{Node, changes};
use crate::objects::Objects;
use crate::steps::Desk;

/// Things that were changed by others.
#[derive(Debug, Default)]
pub(crate) struct Others {
    /// Files that they removed.
    pub(crate) removed: HashSet<FileId>,
    alters: Vec<Alter>,
}

impl Others {
    pub(crate) async fn of(desk: &Desk, objects: &Objects, commits: &[Node]) -> Result<Self> {
        let mut others = Self::default();
        for (_, commit) in commits {
            let removals = own_removals(desk, objects, commit).await?;
            others.removed.extend(removals.iter().map(|it| it.file));
        }
        let alters = changes(commits).flat_map(|(_, change): (_, &Change)| &change.alters);
        others.alters = alters.cloned().collect();
        Ok(others)
    }

    /// Refuses changes of a schema that meet those of others: of one field, or one name for two fields.
    pub(crate) fn check_alters(&self, mine: &[Alter], schema: &TableSchema) -> Result<()> {
        let name = |id: FieldId| match schema.by_id(id) {
            Some(field) => format!("field `{}`", field.field.name().escape_debug()),
            None => format!("the field of id {id}"),
        };
        for alter in mine {
            if let Some(other) = self.alters.iter().find(|other| other.id() == alter.id()) {
                return Err(Error::conflict(format!(
                    "{} was changed by another commit",
                    name(other.id())
                )));
            }
            let taken = alter.new_name().filter(|new| {
                self.alters
                    .iter()
                    .any(|other| other.new_name() == Some(new))
            });
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
            .alters
            .iter()
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
}
