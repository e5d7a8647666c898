//! Descriptions of new tables, changes of schemas and commits, by names.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_array::ArrayRef;
use arrow_schema::{DataType, FieldRef, SchemaRef};
use tarsia_table_meta::{
    Alter, FieldId, PartitionField, PartitionSpec, TableField, TableSchema, Transform, TxnId,
    default_bytes,
};

use crate::error::{Error, ErrorKind, Result};

/// Name and version of this crate, as commits have it unless they say otherwise.
const TOOL: &str = concat!("tarsia-table ", env!("CARGO_PKG_VERSION"));

/// A table to be made: its fields, and how rows are spread over files.
#[derive(Debug, Clone)]
pub struct TableSpec {
    pub(crate) schema: SchemaRef,
    pub(crate) partition_by: Vec<String>,
}

impl TableSpec {
    /// A table of these fields, whose rows are not spread.
    pub fn new(schema: SchemaRef) -> Self {
        Self {
            schema,
            partition_by: Vec::new(),
        }
    }

    /// Spreads rows by values of fields, of which each file then has one: `country`, `year(time)`, `month(time)`,
    /// `day(time)`, `hour(time)`, `truncate(name, 4)`. A name may stand in double quotes, in which two quotes stand for
    /// one.
    #[must_use]
    pub fn partition_by<S: Into<String>>(mut self, fields: impl IntoIterator<Item = S>) -> Self {
        self.partition_by = fields.into_iter().map(Into::into).collect();
        self
    }

    /// Checks fields and partitions, as [`Table::create`](crate::Table::create) does.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`], [`ErrorKind::LimitExceeded`].
    pub fn check(&self) -> Result<()> {
        let schema = self.fields(&TxnId::default())?;
        let partitions = self.partitions(&schema)?;
        tarsia_table_meta::Partitioning::new(&partitions, &schema)?;
        Ok(())
    }

    pub(crate) fn fields(&self, txn: &TxnId) -> Result<TableSchema> {
        let fields = self
            .schema
            .fields()
            .iter()
            .zip(0..)
            .map(|(field, ordinal)| TableField {
                id: FieldId::new(txn, ordinal),
                field: field.clone(),
                default: None,
                former: Vec::new(),
            });
        Ok(TableSchema::new(
            fields.collect(),
            self.schema.metadata().clone(),
        )?)
    }

    pub(crate) fn partitions(&self, schema: &TableSchema) -> Result<PartitionSpec> {
        let fields = self
            .partition_by
            .iter()
            .map(|text| parse_partition(text, schema));
        let fields: Vec<PartitionField> = fields.collect::<Result<_>>()?;
        let is_twice = |(i, field): (usize, &PartitionField)| {
            let mut before = fields.iter().take(i);
            before.any(|it| (it.source, it.transform) == (field.source, field.transform))
        };
        if let Some(twice) = fields.iter().enumerate().position(is_twice) {
            let text = self.partition_by.get(twice).map_or("", String::as_str);
            let what = format!("partition `{}` is there twice", text.escape_debug());
            return Err(Error::invalid(what));
        }
        Ok(PartitionSpec { id: 0, fields })
    }
}

fn parse_partition(text: &str, schema: &TableSchema) -> Result<PartitionField> {
    let bad = |why: &str| Error::invalid(format!("partition `{}`: {why}", text.escape_debug()));
    let field = |name: &str, transform: Transform| {
        let name = unquoted(name.trim())
            .ok_or_else(|| bad("the double quotes of the name do not match"))?;
        let none = || bad(&format!("there is no field `{}`", name.escape_debug()));
        let field = schema.by_name(&name).ok_or_else(none)?;
        Ok(PartitionField {
            source: field.id,
            transform,
        })
    };
    let call = match text.trim() {
        quoted if quoted.starts_with('"') => None,
        text => text.strip_suffix(')').and_then(|it| it.split_once('(')),
    };
    let Some((function, arguments)) = call else {
        return field(text, Transform::Identity);
    };
    match function.trim() {
        "year" => field(arguments, Transform::Year),
        "month" => field(arguments, Transform::Month),
        "day" => field(arguments, Transform::Day),
        "hour" => field(arguments, Transform::Hour),
        "truncate" => {
            let (name, width) = arguments
                .rsplit_once(',')
                .ok_or_else(|| bad("truncate has a field and a width"))?;
            let width = width.trim().parse().ok().filter(|width| *width > 0);
            field(
                name,
                Transform::Truncate(
                    width.ok_or_else(|| bad("the width is no number from 1 to 4294967295"))?,
                ),
            )
        }
        other => Err(bad(&format!(
            "there is no transform `{}`",
            other.escape_debug()
        ))),
    }
}

/// A name that may stand in double quotes; `None` if they do not end where the name does.
fn unquoted(name: &str) -> Option<Cow<'_, str>> {
    let Some(quoted) = name.strip_prefix('"') else {
        return Some(Cow::Borrowed(name));
    };
    let mut found = quoted.strip_suffix('"')?.chars();
    let mut name = String::new();
    while let Some(char) = found.next() {
        if char == '"' && found.next() != Some('"') {
            return None;
        }
        name.push(char);
    }
    Some(Cow::Owned(name))
}

/// A change of a table's schema, by the names that fields have when it is made.
#[derive(Debug, Clone)]
pub struct AlterField(Change);

#[derive(Debug, Clone)]
enum Change {
    Add(FieldRef, Option<ArrayRef>),
    Drop(String),
    Rename(String, String),
    Move(String, Option<u32>),
    Widen(String, DataType),
    AllowNulls(String),
}

impl AlterField {
    /// Adds a field behind the others. Rows that are there already get null.
    pub fn add(field: impl Into<FieldRef>) -> Self {
        Self(Change::Add(field.into(), None))
    }

    /// Adds a field behind the others. Rows that are there already get the one value of an array.
    pub fn add_with_default(field: impl Into<FieldRef>, default: ArrayRef) -> Self {
        Self(Change::Add(field.into(), Some(default)))
    }

    /// Drops a field.
    pub fn drop(name: impl Into<String>) -> Self {
        Self(Change::Drop(name.into()))
    }

    /// Renames a field.
    pub fn rename(name: impl Into<String>, new: impl Into<String>) -> Self {
        Self(Change::Rename(name.into(), new.into()))
    }

    /// Moves a field to a place, counted from 0; to the end for `None`.
    pub fn move_to(name: impl Into<String>, place: Option<u32>) -> Self {
        Self(Change::Move(name.into(), place))
    }

    /// Gives a field a type that holds all values of the old one.
    pub fn widen(name: impl Into<String>, data_type: DataType) -> Self {
        Self(Change::Widen(name.into(), data_type))
    }

    /// Allows nulls in a field.
    pub fn allow_nulls(name: impl Into<String>) -> Self {
        Self(Change::AllowNulls(name.into()))
    }

    /// The change by ids. `ordinal` numbers the fields that a transaction adds.
    pub(crate) fn resolve(&self, schema: &TableSchema, txn: &TxnId, ordinal: u64) -> Result<Alter> {
        let id = |name: &String| {
            let field = schema.by_name(name);
            let missing =
                || Error::not_found(format!("the table has no field `{}`", name.escape_debug()));
            field.map(|field| field.id).ok_or_else(missing)
        };
        Ok(match &self.0 {
            Change::Add(field, default) => Alter::Add {
                field: TableField {
                    id: FieldId::new(txn, ordinal),
                    field: field.clone(),
                    default: match default {
                        Some(value) if value.data_type() != field.data_type() => {
                            let what = format!(
                                "a default of type {} for {}",
                                value.data_type(),
                                field.data_type()
                            );
                            return Err(Error::invalid(what));
                        }
                        Some(value) => Some(default_bytes(value)?),
                        None => None,
                    },
                    former: Vec::new(),
                },
                place: None,
            },
            Change::Drop(name) => Alter::Drop { id: id(name)? },
            Change::Rename(name, new) => Alter::Rename {
                id: id(name)?,
                name: new.clone(),
            },
            Change::Move(name, place) => Alter::Move {
                id: id(name)?,
                place: *place,
            },
            Change::Widen(name, data_type) => Alter::Widen {
                id: id(name)?,
                data_type: data_type.clone(),
            },
            Change::AllowNulls(name) => Alter::AllowNulls { id: id(name)? },
        })
    }
}

/// Text and numbers that a commit has for people and programs.
#[derive(Debug, Clone)]
pub struct CommitInfo {
    pub(crate) author: String,
    pub(crate) message: String,
    pub(crate) tool: String,
    pub(crate) idempotent: Option<(String, u64)>,
    pub(crate) time: Option<u64>,
    pub(crate) txn: Option<TxnId>,
}

impl CommitInfo {
    /// An author and a message, for people.
    pub fn new(author: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            author: author.into(),
            message: message.into(),
            tool: TOOL.to_owned(),
            idempotent: None,
            time: None,
            txn: None,
        }
    }

    /// Numbers the commit among those of an application. If a commit of this number or a higher one is in the branch,
    /// nothing is committed, and that is a success.
    #[must_use]
    pub fn idempotent(mut self, application: impl Into<String>, number: u64) -> Self {
        self.idempotent = Some((application.into(), number));
        self
    }

    /// Name and version of the program.
    #[must_use]
    pub fn tool(mut self, tool: impl Into<String>) -> Self {
        self.tool = tool.into();
        self
    }

    /// The time, in milliseconds since 1970 in UTC; that of this machine's clock otherwise.
    #[must_use]
    pub fn time(mut self, millis: u64) -> Self {
        self.time = Some(millis);
        self
    }

    /// The id of the transaction; a random one otherwise. Work that may be tried again by another process, such as a
    /// query of an engine, has the same id each time, so it is committed once.
    #[must_use]
    pub fn txn(mut self, txn: TxnId) -> Self {
        self.txn = Some(txn);
        self
    }

    pub(crate) fn new_txn(&self) -> Result<TxnId> {
        match self.txn {
            Some(txn) => Ok(txn),
            None => Ok(TxnId(random()?)),
        }
    }

    pub(crate) fn millis(&self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(0));
        self.time.unwrap_or(now)
    }
}

/// Random bytes of the system.
pub(crate) fn random() -> Result<[u8; 16]> {
    let mut bytes = [0; 16];
    let failed = |error| Error::new(ErrorKind::Unsupported, format!("no random bytes: {error}"));
    getrandom::fill(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

pub(crate) fn said(txn: TxnId, info: &CommitInfo) -> crate::extend::Said {
    crate::extend::Said {
        txn,
        idempotent: info.idempotent.clone(),
        message: info.message.clone(),
        author: info.author.clone(),
        tool: info.tool.clone(),
        time: info.millis(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_partitions_may_stand_in_quotes() {
        let names = [
            ("a", Some("a")),
            ("\"a, (b\"", Some("a, (b")),
            ("\"a\"\"b\"", Some("a\"b")),
            ("\"\"", Some("")),
            ("\"a", None),
            ("\"", None),
            ("\"a\"b\"", None),
            ("\"a\"\"", None),
        ];
        for (name, expected) in names {
            assert_eq!(unquoted(name).as_deref(), expected, "{name}");
        }
    }
}
