//! Tables: what users call.

mod branches;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMillisecondType;
use arrow_array::{ArrayRef, StringArray};
use arrow_schema::{DataType, TimeUnit};
use tarsia_io::{List, Store};
use tarsia_table_meta::names::{self, ObjectKind};
use tarsia_table_meta::{
    Change, Commit, ObjectId, Operation, RefEntry, RefOp, Rule, SchemaObject, TableId, TableRoot,
    Tag, TxnId,
};

use crate::drive::drive;
use crate::error::{Error, ErrorKind, Result};
use crate::objects::{Objects, unexpected};
use crate::place::check_place;
use crate::protocol::{Committed, create};
use crate::refs;
pub use crate::refs::MAIN;
use crate::snapshot::{Shared, Snapshot};
use crate::spec::{CommitInfo, TableSpec, random, said};
use crate::steps::{Answer, Desk, Need, Steps};
use crate::transaction::Transaction;
use crate::write::FileOptions;

/// First commits that so many tries of `create` left are looked at; more are a table's.
const FIRST_COMMITS_MAX: usize = 16;

/// A table in a store. Cloning shares it; all methods can be called from many threads.
#[derive(Clone)]
pub struct Table {
    shared: Arc<Shared>,
    root: TableRoot,
    /// The newest ref entries that were seen.
    known: Arc<Mutex<HashMap<String, RefEntry>>>,
    /// Number of the newest ref entry of `main` that a list showed when the table was opened.
    listed: Option<u64>,
}

/// A ref entry and the commit that it names.
#[derive(Debug, Clone)]
pub struct LogEntry {
    /// The ref entry.
    pub entry: RefEntry,
    /// Its commit; `None` if it is gone, which keeps nobody from reading the others.
    pub commit: Option<Arc<Commit>>,
}

/// A change of a branch that another one lacks.
#[derive(Debug, Clone, PartialEq)]
pub struct DiffEntry {
    /// The transaction.
    pub txn: TxnId,
    /// Its operation.
    pub op: Operation,
    /// Author and message of the commit that the branch has it from.
    pub author: String,
    /// See `author`.
    pub message: String,
}

/// Changes that one of two branches has and the other lacks.
#[derive(Debug, Clone, PartialEq)]
pub struct Diff {
    /// Changes of the first branch alone, the oldest first.
    pub first: Vec<DiffEntry>,
    /// Changes of the second branch alone.
    pub second: Vec<DiffEntry>,
}

impl Table {
    /// Makes a table with the branch `main`, which has no rows.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`] if the store has a table; [`ErrorKind::Unsupported`] for a store that cannot create an
    /// object only if it is absent, or has no lists; [`ErrorKind::InvalidInput`] for fields and partitions that cannot
    /// be, and for a folder inside of a table, whose garbage collection would delete this one.
    pub fn create(store: Arc<dyn Store>, spec: &TableSpec, info: &CommitInfo) -> Result<Self> {
        check_writable(&store)?;
        check_place(&store)?;
        let (table, txn) = (TableId(random()?), info.new_txn()?);
        let schema = spec.fields(&txn)?;
        let partitions = spec.partitions(&schema)?;
        tarsia_table_meta::Partitioning::new(&partitions, &schema)?;
        let said = said(txn, info);
        let schema = SchemaObject::Whole(Arc::new(schema)).to_bytes()?;
        let root = TableRoot {
            id: table,
            time: said.time,
            features: Vec::new(),
        };
        let begin = move |desk: Desk| async move {
            let root = claim(&desk, root).await?;
            let schema_id = ObjectId::of(&schema);
            let first = Commit {
                table: root.id,
                parents: Vec::new(),
                generation: 0,
                seq: 0,
                schema: schema_id,
                specs: vec![partitions],
                txn,
                changes: vec![Change {
                    txn,
                    op: Operation::Create,
                    seq: 0,
                    alters: Vec::new(),
                }],
                own_manifests: Vec::new(),
                own_entries: Vec::new(),
                manifests: Vec::new(),
                entries: Vec::new(),
                idempotence: said.idempotent.clone().into_iter().collect(),
                files: 0,
                rows: 0,
                message: said.message,
                author: said.author.clone(),
                tool: said.tool.clone(),
                time: said.time,
            };
            let bytes = first.to_bytes()?;
            let id = ObjectId::of(&bytes);
            let put = |kind: ObjectKind, id: &ObjectId, bytes: Vec<u8>| Need::Put {
                key: kind.key(id),
                bytes: Arc::new(bytes),
            };
            let puts = vec![
                put(ObjectKind::Schema, &schema_id, schema),
                put(ObjectKind::Commit, &id, bytes),
            ];
            for answer in desk.ask(puts).await {
                if answer != Answer::Done {
                    return Err(unexpected(answer));
                }
            }
            let entry = RefEntry {
                n: 0,
                commit: id,
                before: None,
                schemas: vec![schema_id],
                op: RefOp::Create,
                txn,
                source: None,
                author: said.author,
                time: said.time,
                tool: said.tool,
            };
            match create(&desk, MAIN, None, &entry).await? {
                None => Ok(root),
                Some(_) => Err(Error::new(
                    ErrorKind::Exists,
                    "somebody else made the table just now",
                )),
            }
        };
        let root = drive(&store, Steps::new(begin))?;
        Ok(Self::of(store, root))
    }

    /// Opens a table. Reads one object, and at the same time asks where `main` is.
    ///
    /// # Errors
    /// [`ErrorKind::NotATable`]; [`ErrorKind::Unsupported`] for a newer format version and for features, which are
    /// named; [`ErrorKind::Corrupt`].
    pub fn open(store: Arc<dyn Store>) -> Result<Self> {
        let url = store.url("");
        let (bytes, listed) = drive(&store, Steps::new(|desk| refs::opened(desk, MAIN)))?;
        let no_table = || {
            let what = format!(
                "there is no table: the object `{}` is missing",
                names::TABLE_KEY
            );
            Error::new(ErrorKind::NotATable, what).of_object(&url)
        };
        let root = TableRoot::parse(&bytes.ok_or_else(no_table)?);
        let root = root.map_err(|error| Error::from(error).of_object(&url))?;
        Ok(Self {
            listed,
            ..Self::of(store, root)
        })
    }

    fn of(store: Arc<dyn Store>, root: TableRoot) -> Self {
        let objects = Arc::new(Objects::new(root.id));
        Self {
            shared: Arc::new(Shared { store, objects }),
            root,
            known: Arc::default(),
            listed: None,
        }
    }

    /// Commits that this handle and its clones make hold at most so many descriptions of files themselves; more lie in
    /// manifests. Unless given, and at most, 256. Fewer make smaller commits and more objects.
    #[must_use]
    pub fn inline_entries_max(self, n_entries: usize) -> Self {
        self.shared.objects.set_inline_entries_max(n_entries);
        self
    }

    /// The table's id and the time when it was made.
    pub fn root(&self) -> &TableRoot {
        &self.root
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The newest ref entries that this handle has seen.
    pub(crate) fn known(&self) -> HashMap<String, RefEntry> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    /// The newest ref entry of a branch that this handle has seen.
    fn known_head(&self, branch: &str) -> Option<RefEntry> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(branch).cloned()
    }

    /// The newest ref entry of a branch that exists.
    pub(crate) fn head(&self, branch: &str) -> Result<RefEntry> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known_head(branch);
        let name = branch.to_owned();
        let listed = self.listed.filter(|_| known.is_none() && branch == MAIN);
        let newest = self.shared.run(|desk, _| async move {
            match listed {
                Some(n) => refs::newest_from(&desk, &name, n).await,
                None => refs::newest(&desk, &name, known).await,
            }
        })?;
        if let Some(newest) = &newest {
            lock().insert(branch.to_owned(), newest.clone());
        }
        let missing =
            || Error::not_found(format!("there is no branch `{}`", branch.escape_debug()));
        newest.filter(RefEntry::is_live).ok_or_else(missing)
    }

    /// A state of the table.
    ///
    /// | name | state |
    /// |---|---|
    /// | `main` | the newest of a branch |
    /// | `main~2` | two commits before that |
    /// | `main@2026-05-01T00:00:00Z` | the one that the branch was at then |
    /// | `tag:v3` | the one that a tag names |
    /// | `3f2a91c0…` | the commit whose digest begins so, with 8 digits or more |
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`], [`ErrorKind::InvalidInput`], errors of the store.
    pub fn at(&self, state: &str) -> Result<Snapshot> {
        let id = self.resolve(state)?;
        let head = self.known_head(state).filter(|head| head.commit == id);
        let schemas = head.map_or(Vec::new(), |head| head.schemas);
        Snapshot::open(self.shared.clone(), id, schemas)
    }

    fn resolve(&self, state: &str) -> Result<ObjectId> {
        if let Some((name, n)) = state.rsplit_once('~') {
            let n: u64 = n.parse().map_err(|_| {
                Error::invalid(format!(
                    "`{}`: a number of commits follows `~`",
                    state.escape_debug()
                ))
            })?;
            return self.before(self.resolve(name)?, n, state);
        }
        if let Some(tag) = state.strip_prefix("tag:") {
            return Ok(self.tagged(tag)?.commit);
        }
        if let Some((branch, time)) = state.split_once('@') {
            return self.at_time(branch, time);
        }
        let found = self.head(state);
        let is_digest = (names::DIGITS_MIN..=names::DIGITS_MAX).contains(&state.len())
            && state
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        match found {
            Ok(head) => Ok(head.commit),
            Err(error) if error.kind() == ErrorKind::NotFound && is_digest => {
                self.commit_of_digits(state)
            }
            Err(error) => Err(error),
        }
    }

    fn tagged(&self, tag: &str) -> Result<Tag> {
        let name = tag.to_owned();
        let found = self
            .shared
            .run(|desk, _| async move { refs::tag(&desk, &name).await })?;
        found.ok_or_else(|| Error::not_found(format!("there is no tag `{}`", tag.escape_debug())))
    }

    fn at_time(&self, branch: &str, time: &str) -> Result<ObjectId> {
        let millis = millis_of(time)?;
        let head = self.head(branch)?;
        let name = branch.to_owned();
        let walk = self.shared.run(|desk, _| async move {
            let mut found = None;
            refs::back(&desk, &name, head, |entry| {
                if entry.time <= millis {
                    found = Some(entry.clone());
                }
                found.is_none()
            })
            .await?;
            Ok::<_, Error>(found)
        });
        let found = walk?.filter(RefEntry::is_live);
        let missing = || {
            let what = format!(
                "branch `{}` did not exist at {}",
                branch.escape_debug(),
                time.escape_debug()
            );
            Error::not_found(what)
        };
        Ok(found.ok_or_else(missing)?.commit)
    }

    fn before(&self, id: ObjectId, n: u64, state: &str) -> Result<ObjectId> {
        let name = state.to_owned();
        self.shared.run(|desk, objects| async move {
            let mut at = id;
            for _ in 0..n {
                let commit = objects.commit(&desk, at).await?;
                let missing = || {
                    Error::not_found(format!(
                        "`{}` is before the first commit",
                        name.escape_debug()
                    ))
                };
                at = *commit.parents.first().ok_or_else(missing)?;
            }
            Ok(at)
        })
    }

    fn commit_of_digits(&self, digits: &str) -> Result<ObjectId> {
        let folder = digits.get(..2).unwrap_or_default();
        let list =
            List::new(format!("{}{folder}/{digits}", ObjectKind::Commit.prefix())).page_max(2);
        let (objects, _) = self
            .shared
            .run(|desk, _| async move { refs::list_all(&desk, list).await })?;
        let mut found = objects
            .iter()
            .filter_map(|it| names::object_of_key(&it.key));
        match (found.next(), found.next()) {
            (Some((_, id)), None) => Ok(id),
            (Some(_), Some(_)) => Err(Error::invalid(format!(
                "several commits begin with {digits}: write more digits"
            ))),
            (None, _) => Err(Error::not_found(format!(
                "there is no branch and no commit `{digits}`"
            ))),
        }
    }

    /// Begins a transaction on a branch.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a branch that there is not, and for a tag: tags do not move;
    /// [`ErrorKind::Forbidden`] for a branch that is only merged into;
    /// [`ErrorKind::Unsupported`] for a store that cannot create an object only if it is absent.
    pub fn begin(&self, branch: &str, info: CommitInfo) -> Result<Transaction> {
        check_writable(&self.shared.store)?;
        self.check_rule(branch, Rule::MergeOnly)?;
        let base = self.head(branch)?;
        let snapshot = Snapshot::open(self.shared.clone(), base.commit, base.schemas.clone())?;
        let txn = info.new_txn()?;
        Ok(Transaction::new(
            snapshot,
            branch,
            base,
            txn,
            info,
            FileOptions::default(),
        ))
    }

    /// The ref entry that a transaction wrote; `None` if it wrote none, so far as can be seen now. After
    /// [`ErrorKind::Unknown`] a request may still be on its way: ask again later before the work is done anew.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn outcome(&self, branch: &str, txn: TxnId) -> Result<Option<Committed>> {
        let log = self.log(branch)?;
        let of_entry = |it: &&LogEntry| it.entry.txn == txn;
        Ok(log.iter().find(of_entry).map(|it| Committed {
            commit: it.entry.commit,
            n: it.entry.n,
            was_there: true,
        }))
    }

    /// The ref entries of a branch, the newest first, with their commits. A deleted branch has them, too.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`], errors of the store.
    pub fn log(&self, branch: &str) -> Result<Vec<LogEntry>> {
        let name = branch.to_owned();
        self.shared.run(|desk, objects| async move {
            let newest = refs::newest(&desk, &name, None).await?;
            let missing =
                || Error::not_found(format!("there is no branch `{}`", name.escape_debug()));
            let entries = refs::back(&desk, &name, newest.ok_or_else(missing)?, |_| true).await?;
            let mut log = Vec::with_capacity(entries.len());
            for entry in entries {
                let commit = objects.find_commit(&desk, entry.commit).await?;
                log.push(LogEntry { entry, commit });
            }
            Ok(log)
        })
    }

    /// The branches that exist, by name, and their newest ref entries.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn branches(&self) -> Result<Vec<(String, RefEntry)>> {
        self.shared.run(|desk, _| async move {
            let mut branches = Vec::new();
            for name in refs::branches(&desk).await? {
                let newest = refs::newest(&desk, &name, None).await?;
                branches.extend(newest.filter(RefEntry::is_live).map(|entry| (name, entry)));
            }
            Ok(branches)
        })
    }

    /// The tags, by name.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn tags(&self) -> Result<Vec<(String, Tag)>> {
        self.shared.run(|desk, _| async move {
            let mut tags = Vec::new();
            for name in refs::tags(&desk).await? {
                let tag = refs::tag(&desk, &name).await?;
                tags.extend(tag.map(|tag| (name, tag)));
            }
            Ok(tags)
        })
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let url = self.shared.store.url("");
        f.debug_struct("Table")
            .field("url", &url)
            .field("id", &self.root.id)
            .finish()
    }
}

/// Creates `TABLE`. One that is there, but without its first branch, was left by a crash: then it is used.
async fn claim(desk: &Desk, root: TableRoot) -> Result<TableRoot> {
    let exists = || Error::new(ErrorKind::Exists, "there is a table already");
    let need = Need::PutIfAbsent {
        key: names::TABLE_KEY.to_owned(),
        bytes: Arc::new(root.to_bytes()?),
    };
    let answer = desk.ask_one(need).await;
    if answer == Answer::Done {
        return Ok(root);
    }
    let Some(bytes) = refs::get_json(desk, names::TABLE_KEY.to_owned()).await? else {
        return Err(unexpected(answer));
    };
    let found = TableRoot::parse(&bytes)?;
    // This comes first: whoever is making the table now makes its first branch before anything else.
    let known = known_objects(desk, &found).await?;
    match (refs::newest(desk, MAIN, None).await?, known) {
        (Some(_), _) => Err(exists()),
        (None, None) => Ok(found),
        (None, Some(key)) => {
            let what = format!(
                "there is a table already, or a copy that was interrupted: branch `{MAIN}` has no ref entry, but there \
                 are objects such as `{key}`"
            );
            Err(Error::new(ErrorKind::Exists, what).of_object(names::TABLE_KEY))
        }
    }
}

/// An object that a `create` that crashed does not leave: it leaves `TABLE`, schemas, and commits that are first ones.
async fn known_objects(desk: &Desk, root: &TableRoot) -> Result<Option<String>> {
    let first = |prefix: &str, n_objects: usize| {
        let list = List::new(prefix).page_max(n_objects);
        async move {
            match desk.ask_one(Need::List(list)).await {
                Answer::Listed(page) => Ok(page.objects.into_iter().map(|it| it.key)),
                other => Err(unexpected(other)),
            }
        }
    };
    for prefix in ["refs/", "data/", ObjectKind::Manifest.prefix()] {
        if let Some(key) = first(prefix, 1).await?.next() {
            return Ok(Some(key));
        }
    }
    let objects = Objects::new(root.id);
    for (n, key) in first(ObjectKind::Commit.prefix(), FIRST_COMMITS_MAX + 1)
        .await?
        .enumerate()
    {
        let Some((_, id)) = names::object_of_key(&key) else {
            continue;
        };
        let is_first = n < FIRST_COMMITS_MAX
            && matches!(objects.find_commit(desk, id).await, Ok(Some(commit)) if commit.parents.is_empty());
        if !is_first {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

pub(crate) fn check_writable(store: &Arc<dyn Store>) -> Result<()> {
    let can = store.capabilities();
    let lacks = match (can.can_put_if_absent, can.can_list) {
        (true, true) => return Ok(()),
        (false, _) => "it cannot create an object only if there is none of that name",
        (_, false) => "it has no lists of objects",
    };
    let what = format!("tables are not written to this store: {lacks}");
    Err(Error::new(ErrorKind::Unsupported, what).of_object(&store.url("")))
}

/// Milliseconds since 1970 of a time in the form of ISO 8601; one without a zone is in UTC.
fn millis_of(text: &str) -> Result<u64> {
    let bad = || {
        Error::invalid(format!(
            "`{}` is no time such as 2026-05-01T12:00:00Z",
            text.escape_debug()
        ))
    };
    let texts: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let utc = DataType::Timestamp(TimeUnit::Millisecond, Some("+00:00".into()));
    let times = arrow_cast::cast(&texts, &utc).map_err(|_| bad())?;
    let times = times
        .as_primitive_opt::<TimestampMillisecondType>()
        .ok_or_else(bad)?;
    let millis = times.iter().next().flatten().ok_or_else(bad)?;
    u64::try_from(millis).map_err(|_| bad())
}
