//! Tables: what users call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMillisecondType;
use arrow_array::{ArrayRef, StringArray};
use arrow_schema::{DataType, TimeUnit};
use tarsia_io::{List, Store};
use tarsia_table_meta::names::{self, ObjectKind};
use tarsia_table_meta::{
    Change, Commit, ObjectId, Operation, RefEntry, RefOp, SchemaObject, TableId, TableRoot, Tag,
    TxnId,
};

use crate::drive::drive;
use crate::error::{Error, ErrorKind, Result};
use crate::history::{Node, changes, parted};
use crate::merge::lacking;
use crate::objects::{Objects, unexpected};
use crate::protocol::{Committed, Wish, Work, commit, create};
use crate::refs;
use crate::snapshot::{Shared, Snapshot};
use crate::spec::{CommitInfo, TableSpec, random, said};
use crate::steps::{Answer, Desk, Need, Steps};
use crate::transaction::Transaction;
use crate::write::FileOptions;

/// The branch that a new table has.
pub const MAIN: &str = "main";

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
    /// be.
    pub fn create(store: Arc<dyn Store>, spec: &TableSpec, info: &CommitInfo) -> Result<Self> {
        check_writable(&store)?;
        let (table, txn) = (TableId(random()?), info.new_txn()?);
        let schema = spec.fields(&txn)?;
        let partitions = spec.partitions(&schema)?;
        tarsia_table_meta::Partitioning::new(&partitions, &schema)?;
        let said = said(txn, info);
        let schema = SchemaObject::Whole(schema).to_bytes()?;
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

    /// The newest ref entry of a branch that exists.
    pub(crate) fn head(&self, branch: &str) -> Result<RefEntry> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(branch).cloned();
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
        Snapshot::open(self.shared.clone(), self.resolve(state)?)
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
        let is_digest = (8..=64).contains(&state.len())
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
    /// [`ErrorKind::Unsupported`] for a store that cannot create an object only if it is absent.
    pub fn begin(&self, branch: &str, info: CommitInfo) -> Result<Transaction> {
        check_writable(&self.shared.store)?;
        let base = self.head(branch)?;
        let snapshot = Snapshot::open(self.shared.clone(), base.commit)?;
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

    /// Makes a branch at a state. Copies nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`], [`ErrorKind::NotFound`], [`ErrorKind::InvalidInput`] for a name that is refused,
    /// [`ErrorKind::Unknown`].
    pub fn create_branch(&self, name: &str, state: &str, info: &CommitInfo) -> Result<()> {
        let commit = self.resolve(state)?;
        let source = self.head(state).is_ok().then(|| state.to_owned());
        self.set(name, info, move |newest| match newest {
            Some(newest) if newest.is_live() => {
                Err(Error::new(ErrorKind::Exists, "the branch exists"))
            }
            _ => Ok((RefOp::Create, commit, source.clone())),
        })
    }

    /// Deletes a branch. Its ref entries stay, and its commits until nothing keeps them.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`], [`ErrorKind::Unknown`].
    pub fn delete_branch(&self, name: &str, info: &CommitInfo) -> Result<()> {
        self.set(name, info, |newest| {
            Ok((RefOp::Delete, live(newest)?.commit, None))
        })
    }

    /// Sets a branch to a state. The commits that it was at stay in its log.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`], [`ErrorKind::Unknown`].
    pub fn reset(&self, branch: &str, state: &str, info: &CommitInfo) -> Result<()> {
        let commit = self.resolve(state)?;
        self.set(branch, info, move |newest| {
            live(newest)?;
            Ok((RefOp::Reset, commit, None))
        })
    }

    /// Writes the next ref entry of a branch.
    fn set(
        &self,
        branch: &str,
        info: &CommitInfo,
        next: impl Fn(Option<&RefEntry>) -> Result<(RefOp, ObjectId, Option<String>)> + Send + 'static,
    ) -> Result<()> {
        check_writable(&self.shared.store)?;
        names::check_name(branch)?;
        let said = said(info.new_txn()?, info);
        let name = branch.to_owned();
        self.shared.run(|desk, _| async move {
            let mut newest = refs::newest(&desk, &name, None).await?;
            loop {
                let named =
                    |error: Error| error.of_object(&format!("branch `{}`", name.escape_debug()));
                let (op, commit, source) = next(newest.as_ref()).map_err(named)?;
                let entry = RefEntry {
                    n: newest.as_ref().map_or(0, |newest| newest.n + 1),
                    commit,
                    before: newest.as_ref().map(|newest| newest.commit),
                    op,
                    txn: said.txn,
                    source,
                    author: said.author.clone(),
                    time: said
                        .time
                        .max(newest.as_ref().map_or(0, |newest| newest.time)),
                    tool: said.tool.clone(),
                };
                match create(&desk, &name, newest.as_ref(), &entry).await? {
                    None => return Ok(()),
                    other => newest = refs::newest(&desk, &name, other).await?,
                }
            }
        })
    }

    /// Gives a state a name that never moves.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`], [`ErrorKind::NotFound`], [`ErrorKind::InvalidInput`] for a name that is refused.
    pub fn tag(&self, name: &str, state: &str, info: &CommitInfo) -> Result<()> {
        check_writable(&self.shared.store)?;
        let key = names::tag_key(name)?;
        let tag = Tag {
            commit: self.resolve(state)?,
            message: info.message.clone(),
            author: info.author.clone(),
            time: info.millis(),
        };
        let need = Need::PutIfAbsent {
            key: key.clone(),
            bytes: Arc::new(tag.to_bytes(name)?),
        };
        let name = name.to_owned();
        self.shared.run(|desk, _| async move {
            let answer = desk.ask_one(need).await;
            if answer == Answer::Done {
                return Ok(());
            }
            // The tag that is there may be mine.
            match (refs::tag(&desk, &name).await?, answer) {
                (Some(found), _) if found == tag => Ok(()),
                (Some(_), _) => {
                    let what = format!(
                        "there is a tag `{}`, and tags do not move",
                        name.escape_debug()
                    );
                    Err(Error::new(ErrorKind::Exists, what))
                }
                (None, answer) => Err(unexpected(answer).of_object(&key)),
            }
        })
    }

    /// Puts the changes of a source (a branch or another state) on a target branch that lacks them, in their order and
    /// newer than all that the target has. If the target has no changes of its own, it is set to the source's commit.
    /// No data are copied. A change that the target has is not repeated, however it got there.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if both changed one field of the schema, or gave one name to two fields;
    /// [`ErrorKind::InvalidInput`] for states without a commit in common; [`ErrorKind::LimitExceeded`] for more than
    /// 512 changes; those of [`Transaction::commit`].
    pub fn merge(&self, source: &str, target: &str, info: &CommitInfo) -> Result<Committed> {
        check_writable(&self.shared.store)?;
        let wish = Wish {
            branch: target.to_owned(),
            base: self.head(target)?,
            work: Work::Merge {
                source: self.resolve(source)?,
                name: source.to_owned(),
            },
            said: said(info.new_txn()?, info),
        };
        self.shared.run(|desk, objects| commit(desk, objects, wish))
    }

    /// Puts the descriptions of all files of a branch into one run of manifests, sorted by partition, so that a plan of
    /// one partition reads one or two of them. Changes no row and copies no data; appends and deletes that are made
    /// meanwhile are no conflict. The entries of the state are in memory, some 300 bytes each.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`], those of [`Transaction::commit`].
    pub fn compact_metadata(&self, branch: &str, info: &CommitInfo) -> Result<Committed> {
        check_writable(&self.shared.store)?;
        let wish = Wish {
            branch: branch.to_owned(),
            base: self.head(branch)?,
            work: Work::CompactMetadata,
            said: said(info.new_txn()?, info),
        };
        self.shared.run(|desk, objects| commit(desk, objects, wish))
    }

    /// The changes that one of two states has and the other lacks.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::InvalidInput`] for states without a commit in common.
    pub fn diff(&self, first: &str, second: &str) -> Result<Diff> {
        let ids = [self.resolve(first)?, self.resolve(second)?];
        self.shared.run(|desk, objects| async move {
            let [one, other] = ids;
            let one = (one, objects.commit(&desk, one).await?);
            let other = (other, objects.commit(&desk, other).await?);
            let parted = parted(&desk, &objects, one, other).await?;
            Ok(Diff {
                first: only(&parted.one, &parted.other),
                second: only(&parted.other, &parted.one),
            })
        })
    }

    /// Puts the changes of a branch that a state lacks behind that state, one commit for each, and sets the branch to
    /// the last one. Returns how many there were.
    ///
    /// # Errors
    /// As [`Table::merge`]; [`ErrorKind::Conflict`] if somebody else changed the branch meanwhile.
    pub fn rebase(&self, branch: &str, onto: &str, info: &CommitInfo) -> Result<usize> {
        check_writable(&self.shared.store)?;
        let (head, onto) = (self.head(branch)?, self.resolve(onto)?);
        let said = said(info.new_txn()?, info);
        let name = branch.to_owned();
        self.shared.run(|desk, objects| async move {
            let rebased = rebased(&desk, &objects, head.commit, onto).await?;
            let entry = RefEntry {
                n: head.n + 1,
                commit: rebased.0,
                before: Some(head.commit),
                op: RefOp::Reset,
                txn: said.txn,
                source: None,
                author: said.author,
                time: said.time.max(head.time),
                tool: said.tool,
            };
            if entry.commit == head.commit {
                return Ok(0);
            }
            match create(&desk, &name, Some(&head), &entry).await? {
                None => Ok(rebased.1),
                Some(_) => {
                    let what = format!("branch `{}` was changed meanwhile", name.escape_debug());
                    Err(Error::conflict(what))
                }
            }
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

fn only(commits: &[Node], others: &[Node]) -> Vec<DiffEntry> {
    let known = crate::history::txns(others);
    let lacking = changes(commits).filter(|(_, change)| !known.contains(&change.txn));
    let entries = lacking.map(|(commit, change)| DiffEntry {
        txn: change.txn,
        op: change.op,
        author: commit.author.clone(),
        message: commit.message.clone(),
    });
    entries.collect()
}

fn live(newest: Option<&RefEntry>) -> Result<&RefEntry> {
    let newest = newest.filter(|newest| newest.is_live());
    newest.ok_or_else(|| Error::not_found("there is no such branch"))
}

/// Writes the changes of a commit that `onto` lacks as commits behind it. Returns the last one, and their number.
async fn rebased(
    desk: &Desk,
    objects: &Objects,
    head: ObjectId,
    onto: ObjectId,
) -> Result<(ObjectId, usize)> {
    let source = (head, objects.commit(desk, head).await?);
    let mut tip: Node = (onto, objects.commit(desk, onto).await?);
    let apart = parted(desk, objects, tip.clone(), source).await?;
    if apart.one.is_empty() {
        return Ok((head, 0));
    }
    let others = crate::conflict::Others::of(desk, objects, &apart.one).await?;
    let said_by: HashMap<TxnId, Arc<Commit>> = apart
        .other
        .iter()
        .flat_map(|(_, commit)| {
            commit
                .changes
                .iter()
                .map(move |change| (change.txn, commit.clone()))
        })
        .collect();
    let changes = lacking(desk, objects, &apart.other, &apart.one).await?;
    let n_changes = changes.len();
    for change in changes {
        let schema = objects.schema(desk, tip.1.schema).await?;
        others.check_alters(&change.alters, &schema)?;
        let altered = schema.altered(&change.alters);
        altered.map_err(|error| Error::conflict(error.to_string()))?;
        let of = said_by.get(&change.txn);
        let said = crate::extend::Said {
            txn: change.txn,
            idempotent: None,
            message: of.map_or_else(String::new, |it| it.message.clone()),
            author: of.map_or_else(String::new, |it| it.author.clone()),
            tool: of.map_or_else(String::new, |it| it.tool.clone()),
            time: of.map_or(0, |it| it.time),
        };
        let mut built =
            crate::extend::extend(desk, objects, tip.0, &tip.1, None, vec![change], &said).await?;
        for answer in desk.ask(std::mem::take(&mut built.puts)).await {
            if answer != Answer::Done {
                return Err(unexpected(answer));
            }
        }
        tip = (built.id, objects.keep_commit(built.id, built.commit));
    }
    Ok((tip.0, n_changes))
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
    match refs::newest(desk, MAIN, None).await? {
        Some(_) => Err(exists()),
        None => Ok(found),
    }
}

fn check_writable(store: &Arc<dyn Store>) -> Result<()> {
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
