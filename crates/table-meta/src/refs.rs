//! Ref entries, tags, and the object that makes a folder a table: small objects of JSON.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::ids::{ObjectId, TableId, TxnId};
use crate::limits::{VERSION_MAJOR, VERSION_MINOR};
use crate::sealed::{Sealed, check_text, seal};

const FORMAT: &str = "tarsia-table";

/// Most schemas that a ref entry names.
const SCHEMAS_MAX: usize = 2;

/// The object `TABLE`. It is written once and never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRoot {
    /// Random.
    pub id: TableId,
    /// Milliseconds since 1970 in UTC.
    pub time: u64,
    /// Features that readers and writers must know. None is defined.
    pub features: Vec<String>,
}

impl TableRoot {
    /// The object's bytes.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] for many features.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut fields = Map::new();
        fields.insert("format".to_owned(), FORMAT.into());
        fields.insert("major".to_owned(), VERSION_MAJOR.into());
        fields.insert("minor".to_owned(), VERSION_MINOR.into());
        fields.insert("uuid".to_owned(), self.id.to_string().into());
        fields.insert("features".to_owned(), self.features.clone().into());
        fields.insert("time".to_owned(), self.time.into());
        seal(fields)
    }

    /// Reads the object.
    ///
    /// # Errors
    /// [`Error::Corrupt`]; [`Error::Unsupported`] for another version and for features, which it names.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let object = "TABLE";
        let sealed = Sealed::parse(object, bytes)?;
        if sealed.text("format")? != FORMAT {
            return Err(sealed.corrupt("format", FORMAT));
        }
        let (major, minor) = (sealed.number("major")?, sealed.number("minor")?);
        if major != u64::from(VERSION_MAJOR) {
            let what = format!("format version {major}.{minor}");
            return Err(Error::unsupported(object, what));
        }
        let features = sealed.texts("features")?;
        if let Some(feature) = features.first() {
            let shown: String = feature.chars().take(60).collect();
            let what = format!("the feature `{}`", shown.escape_debug());
            return Err(Error::unsupported(object, what));
        }
        Ok(Self {
            id: sealed.parsed("uuid", "id of a table", TableId::parse)?,
            time: sealed.number("time")?,
            features,
        })
    }
}

/// Effect of a ref entry on its branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefOp {
    /// Made the branch, or made it again after it was deleted.
    Create,
    /// Added a commit to it.
    Commit,
    /// Set it to another commit.
    Reset,
    /// Deleted it.
    Delete,
}

impl RefOp {
    const ALL: [Self; 4] = [Self::Create, Self::Commit, Self::Reset, Self::Delete];

    /// The word in the entry.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Commit => "commit",
            Self::Reset => "reset",
            Self::Delete => "delete",
        }
    }
}

/// Ref entry `n` of a branch: the newest one says which commit the branch is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefEntry {
    /// Its number, which its key says, too.
    pub n: u64,
    /// The commit; of a deletion the one that the branch was at.
    pub commit: ObjectId,
    /// The commit of the entry before; `None` for the first one.
    pub before: Option<ObjectId>,
    /// Objects that a reader of the commit needs, too: its schema, and the one that this is stored as changes of. They
    /// are a hint, by which all can be read at the same time: there may be none, and the commit has the last word.
    pub schemas: Vec<ObjectId>,
    /// Its effect.
    pub op: RefOp,
    /// Transaction that wrote it.
    pub txn: TxnId,
    /// The branch that a branch was made of, if it was one.
    pub source: Option<String>,
    /// For people.
    pub author: String,
    /// Milliseconds since 1970 in UTC, not before those of the entry before.
    pub time: u64,
    /// Name and version of the program.
    pub tool: String,
}

impl RefEntry {
    /// Whether the branch exists after this entry.
    pub fn is_live(&self) -> bool {
        self.op != RefOp::Delete
    }

    /// The entry's bytes, as one of this branch.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for texts that are too long, and for more than two schemas.
    pub fn to_bytes(&self, branch: &str) -> Result<Vec<u8>> {
        if self.schemas.len() > SCHEMAS_MAX {
            return Err(Error::invalid("more than two schemas of a ref entry"));
        }
        check_text("an author", &self.author)?;
        check_text("the name of a tool", &self.tool)?;
        let mut fields = Map::new();
        fields.insert("branch".to_owned(), branch.into());
        fields.insert("n".to_owned(), self.n.into());
        fields.insert("commit".to_owned(), self.commit.to_string().into());
        if let Some(before) = &self.before {
            fields.insert("before".to_owned(), before.to_string().into());
        }
        if !self.schemas.is_empty() {
            let schemas: Vec<_> = self.schemas.iter().map(ObjectId::to_string).collect();
            fields.insert("schemas".to_owned(), schemas.into());
        }
        fields.insert("op".to_owned(), self.op.name().into());
        fields.insert("txn".to_owned(), self.txn.to_string().into());
        if let Some(source) = &self.source {
            fields.insert("source".to_owned(), source.as_str().into());
        }
        fields.insert("author".to_owned(), self.author.as_str().into());
        fields.insert("time".to_owned(), self.time.into());
        fields.insert("tool".to_owned(), self.tool.as_str().into());
        seal(fields)
    }

    /// Reads entry `n` of a branch.
    ///
    /// # Errors
    /// [`Error::Corrupt`], also for an entry of another branch or number.
    pub fn parse(bytes: &[u8], branch: &str, n: u64) -> Result<Self> {
        let sealed = Sealed::parse("ref entry", bytes)?;
        is_of(&sealed, "ref entry", "branch", branch)?;
        let found = sealed.number("n")?;
        if found != n {
            let what = format!("number {found} under the key of number {n}");
            return Err(Error::corrupt("ref entry", what));
        }
        let op = sealed.text("op")?;
        let op = RefOp::ALL.into_iter().find(|known| known.name() == op);
        let before = sealed.optional_text("before")?.map(ObjectId::parse);
        let before = before.transpose();
        let schemas = sealed.optional_texts("schemas")?;
        if schemas.len() > SCHEMAS_MAX {
            return Err(sealed.corrupt("schemas", "list of one or two digests"));
        }
        let schemas = schemas.iter().map(|digits| ObjectId::parse(digits));
        let schemas = schemas.collect::<Result<_>>();
        Ok(Self {
            n,
            commit: sealed.parsed("commit", "digest", ObjectId::parse)?,
            before: before.map_err(|_| sealed.corrupt("before", "digest"))?,
            schemas: schemas.map_err(|_| sealed.corrupt("schemas", "list of digests"))?,
            op: op.ok_or_else(|| sealed.corrupt("op", "operation that this build knows"))?,
            txn: sealed.parsed("txn", "id of a transaction", TxnId::parse)?,
            source: sealed.optional_text("source")?.map(str::to_owned),
            author: sealed.text("author")?.to_owned(),
            time: sealed.number("time")?,
            tool: sealed.text("tool")?.to_owned(),
        })
    }
}

/// A tag: a name for a commit that never moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// The commit.
    pub commit: ObjectId,
    /// For people.
    pub message: String,
    /// For people.
    pub author: String,
    /// Milliseconds since 1970 in UTC.
    pub time: u64,
}

impl Tag {
    /// The tag's bytes, under this name.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for texts that are too long.
    pub fn to_bytes(&self, name: &str) -> Result<Vec<u8>> {
        check_text("an author", &self.author)?;
        let mut fields: Map<String, Value> = Map::new();
        fields.insert("tag".to_owned(), name.into());
        fields.insert("commit".to_owned(), self.commit.to_string().into());
        fields.insert("message".to_owned(), self.message.as_str().into());
        fields.insert("author".to_owned(), self.author.as_str().into());
        fields.insert("time".to_owned(), self.time.into());
        seal(fields)
    }

    /// Reads a tag.
    ///
    /// # Errors
    /// [`Error::Corrupt`], also for a tag of another name.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self> {
        let sealed = Sealed::parse("tag", bytes)?;
        is_of(&sealed, "tag", "tag", name)?;
        Ok(Self {
            commit: sealed.parsed("commit", "digest", ObjectId::parse)?,
            message: sealed.text("message")?.to_owned(),
            author: sealed.text("author")?.to_owned(),
            time: sealed.number("time")?,
        })
    }
}

/// Refuses an object that was written under another name: somebody copied it.
pub(crate) fn is_of(
    sealed: &Sealed,
    object: &'static str,
    field: &'static str,
    name: &str,
) -> Result<()> {
    let found = sealed.text(field)?;
    if found == name {
        return Ok(());
    }
    let shown: String = found.chars().take(60).collect();
    let what = format!(
        "it is one of `{}`, under the key of `{}`",
        shown.escape_debug(),
        name.escape_debug()
    );
    Err(Error::corrupt(object, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> RefEntry {
        RefEntry {
            n: 3,
            commit: ObjectId([1; 32]),
            before: Some(ObjectId([2; 32])),
            schemas: vec![ObjectId([4; 32]), ObjectId([5; 32])],
            op: RefOp::Commit,
            txn: TxnId([3; 16]),
            source: None,
            author: "ada \"the first\"".to_owned(),
            time: 1_780_000_000_000,
            tool: "tarsia 0.1.0".to_owned(),
        }
    }

    #[test]
    fn entries_are_read_back() {
        let mut entry = entry();
        for op in RefOp::ALL {
            entry.op = op;
            let bytes = entry.to_bytes("Main").unwrap();
            assert!(bytes.len() < 600, "{}", bytes.len());
            assert_eq!(RefEntry::parse(&bytes, "Main", 3), Ok(entry.clone()));
            assert_eq!(entry.is_live(), op != RefOp::Delete);
        }
        entry.before = None;
        entry.schemas.clear();
        entry.source = Some("Main".to_owned());
        assert_eq!(
            RefEntry::parse(&entry.to_bytes("a").unwrap(), "a", 3),
            Ok(entry.clone())
        );
        let error = RefEntry::parse(&entry.to_bytes("a").unwrap(), "b", 3).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("it is one of `a`, under the key of `b`")
        );
        let error = RefEntry::parse(&entry.to_bytes("a").unwrap(), "a", 4).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("number 3 under the key of number 4")
        );
        entry.author = "x".repeat(2000);
        assert!(entry.to_bytes("a").is_err());
        entry.author.clear();
        entry.schemas = vec![ObjectId([4; 32]); 3];
        assert!(entry.to_bytes("a").is_err());
    }

    #[test]
    fn tags_are_read_back() {
        let tag = Tag {
            commit: ObjectId([5; 32]),
            message: "first".to_owned(),
            author: String::new(),
            time: 0,
        };
        let bytes = tag.to_bytes("v1").unwrap();
        assert_eq!(Tag::parse(&bytes, "v1"), Ok(tag));
        assert!(Tag::parse(&bytes, "v2").is_err());
    }

    #[test]
    fn tables_of_other_versions_and_features_are_named() {
        let mut root = TableRoot {
            id: TableId([7; 16]),
            time: 5,
            features: Vec::new(),
        };
        assert_eq!(
            TableRoot::parse(&root.to_bytes().unwrap()),
            Ok(root.clone())
        );
        root.features.push("keys".to_owned());
        let error = TableRoot::parse(&root.to_bytes().unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "TABLE: the feature `keys` is not supported by this build"
        );
        let mut fields = Map::new();
        fields.insert("format".to_owned(), FORMAT.into());
        fields.insert("major".to_owned(), 1.into());
        fields.insert("minor".to_owned(), 2.into());
        let error = TableRoot::parse(&seal(fields).unwrap()).unwrap_err();
        assert!(error.to_string().contains("format version 1.2"), "{error}");
    }
}
