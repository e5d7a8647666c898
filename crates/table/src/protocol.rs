//! The commit protocol: a commit counts when its ref entry is created.
//!
//! 1. The newest ref entry is found, going on from the one that the transaction began with.
//! 2. What came in between is read. If my change is among it, that is all. Else it is checked for conflicts.
//! 3. The commit and its manifests and schema are written: plain puts, since their names are digests.
//! 4. The next ref entry is created. On any answer but success it is read: mine is success; another's begins again;
//!    absent is tried again with the same bytes, since the request may still arrive. An entry of mine that was read
//!    after such an answer is created once more: that it exists is what a store answers when it is there for good.
//!
//! A crash before 4 leaves objects that nothing refers to, after it the commit is there. Nothing is deleted. Checked by
//! a model for 3 writers and 2 faults; ref entries that are never deleted are what makes it hold.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tarsia_io::StoreErrorKind;
use tarsia_table_meta::{
    Alter, Commit, Entry, EntryKind, EntryOp, FieldId, FileId, ObjectId, Operation, RefEntry,
    RefOp, Rule, names,
};

use crate::clash::Overlap;
use crate::conflict::Others;
use crate::deletes::without_removed;
use crate::error::{Error, ErrorKind, Result};
use crate::extend::{Built, Merged, NewChange, Said, compacted, extend};
use crate::history::{Node, since};
use crate::merge::merged;
use crate::objects::{Objects, unexpected};
use crate::refs;
use crate::rules::forbidden;
use crate::steps::{Answer, Desk, Need};

/// Tries before an outcome is unknown, or a branch is too busy.
const CREATES_MAX: u32 = 12;
const ROUNDS_MAX: u32 = 200;
/// Waits are random parts of this time, doubled at each try.
const WAIT_MILLIS: u64 = 10;
const WAIT_MILLIS_MAX: u64 = 5_000;
/// After somebody else was faster, a writer waits no longer than some rounds of a slow store: later it would meet as
/// many others, and starve.
const LOST_WAIT_MILLIS_MAX: u64 = 400;

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The commit.
    pub commit: ObjectId,
    /// Number of its ref entry.
    pub n: u64,
    /// Whether the transaction's number, or the transaction itself, had been committed before: then nothing was done.
    pub was_there: bool,
}

/// Work that is to be put on a branch.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    /// A change that was made with a state in view.
    Change(Draft),
    /// The changes of another branch.
    Merge {
        /// Its commit.
        source: ObjectId,
        /// Its name, for messages.
        name: String,
        /// Whether the branch may only be set to the source's commit.
        only_forward: bool,
        overlap: Overlap,
    },
    /// All entries of the state into one run of manifests.
    CompactMetadata,
}

/// A change as a transaction leaves it.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) op: Operation,
    pub(crate) entries: Vec<Entry>,
    pub(crate) alters: Vec<Alter>,
    /// Schema objects that entries refer to.
    pub(crate) schemas: Vec<Need>,
    /// Fields that new rows have.
    pub(crate) written: HashSet<FieldId>,
    /// Fields that updates were computed from, or whose values decided which rows are updated, and the files.
    pub(crate) reads: BTreeMap<FieldId, BTreeSet<FileId>>,
}

/// A transaction's wish.
#[derive(Debug, Clone)]
pub(crate) struct Wish {
    pub(crate) branch: String,
    /// The ref entry that the transaction began with.
    pub(crate) base: RefEntry,
    pub(crate) work: Work,
    pub(crate) said: Said,
}

/// A built commit, or the news that nothing is to be done.
enum Round {
    Write(Box<Built>),
    /// The branch is set to a commit that is there already.
    Forward(ObjectId),
    Nothing(ObjectId),
}

/// Makes a commit.
pub(crate) async fn commit(desk: Desk, objects: Arc<Objects>, wish: Wish) -> Result<Committed> {
    let mut tip = wish.base.clone();
    for round in 0..ROUNDS_MAX {
        let built = build(&desk, &objects, &wish, &tip).await?;
        let id = match &built {
            Round::Nothing(commit) => {
                return Ok(Committed {
                    commit: *commit,
                    n: tip.n,
                    was_there: true,
                });
            }
            Round::Forward(commit) => *commit,
            Round::Write(built) => {
                for answer in desk.ask(built.puts.clone()).await {
                    if answer != Answer::Done {
                        return Err(unexpected(answer));
                    }
                }
                built.id
            }
        };
        let entry = RefEntry {
            n: tip.n + 1,
            commit: id,
            before: Some(tip.commit),
            schemas: match &built {
                Round::Write(built) => objects.schema_objects(built.commit.schema),
                Round::Forward(commit) | Round::Nothing(commit) => objects.schemas_of(commit),
            },
            op: RefOp::Commit,
            txn: wish.said.txn,
            source: None,
            author: wish.said.author.clone(),
            time: wish.said.time.max(tip.time),
            tool: wish.said.tool.clone(),
        };
        match create(&desk, &wish.branch, Some(&tip), &entry).await? {
            None => {
                if let Round::Write(built) = built {
                    objects.keep_commit(built.id, built.commit);
                }
                return Ok(Committed {
                    commit: id,
                    n: entry.n,
                    was_there: false,
                });
            }
            Some(other) => tip = refs::head(&desk, &wish.branch, Some(other)).await?,
        }
        desk.ask_one(Need::Wait(wait(&wish.said, round))).await;
    }
    let what = format!(
        "other writers were faster {ROUNDS_MAX} times; nothing was committed to `{}`",
        wish.branch.escape_debug()
    );
    Err(Error::conflict(what))
}

/// A part of a time that grows with each round: random, as far as other writers are concerned.
fn wait(said: &Said, round: u32) -> Duration {
    let longest = LOST_WAIT_MILLIS_MAX.min(WAIT_MILLIS << round.min(16));
    let [first, second, ..] = said.txn.0;
    let part = u64::from(first.rotate_left(round % 8)) * 256 + u64::from(second);
    Duration::from_millis(longest * part / 65_536)
}

async fn build(desk: &Desk, objects: &Objects, wish: &Wish, tip: &RefEntry) -> Result<Round> {
    let newest = (tip.commit, objects.commit(desk, tip.commit).await?);
    let base = (
        wish.base.commit,
        objects.commit(desk, wish.base.commit).await?,
    );
    let between = match tip.commit == wish.base.commit {
        true => Some(Vec::new()),
        false => since(desk, objects, base, newest.clone()).await?,
    };
    let all = between.as_deref().unwrap_or(&[]);
    let is_mine = |(_, commit): &&Node| {
        let mut changes = commit.changes.iter();
        commit.txn == wish.said.txn || changes.any(|change| change.txn == wish.said.txn)
    };
    if let Some((id, _)) = all.iter().find(is_mine) {
        return Ok(Round::Nothing(*id));
    }
    if let Some((application, number)) = &wish.said.idempotent
        && newest
            .1
            .idempotence
            .get(application)
            .is_some_and(|known| known >= number)
    {
        return Ok(Round::Nothing(newest.0));
    }
    match &wish.work {
        Work::Merge {
            source,
            name,
            only_forward,
            overlap,
        } => {
            let merge = merged(desk, objects, newest.clone(), *source, name, *overlap);
            let Some(merge) = merge.await? else {
                return Ok(Round::Nothing(newest.0));
            };
            if merge.is_forward {
                return Ok(Round::Forward(*source));
            }
            if *only_forward {
                return Err(forbidden(&wish.branch, Rule::ForwardOnly));
            }
            let parent = Some(Merged {
                id: *source,
                generation: merge.generation,
            });
            let (id, commit) = &newest;
            let built = extend(
                desk,
                objects,
                *id,
                commit,
                parent,
                merge.changes,
                &wish.said,
            );
            Ok(Round::Write(Box::new(built.await?)))
        }
        Work::CompactMetadata => {
            let (id, commit) = &newest;
            let built = compacted(desk, objects, *id, commit, &wish.said).await?;
            Ok(match built {
                Some(built) => Round::Write(Box::new(built)),
                None => Round::Nothing(*id),
            })
        }
        Work::Change(draft) => {
            let reset = || {
                let branch = wish.branch.escape_debug();
                Error::conflict(format!(
                    "branch `{branch}` was reset since the transaction began"
                ))
            };
            let between = between.ok_or_else(reset)?;
            let change = change_on(desk, objects, draft, wish, &newest.1, &between).await?;
            let (id, commit) = &newest;
            let built = extend(desk, objects, *id, commit, None, vec![change], &wish.said);
            let mut built = built.await?;
            built.puts.splice(0..0, draft.schemas.iter().cloned());
            Ok(Round::Write(Box::new(built)))
        }
    }
}

/// The change on a newer state than the one that the transaction had in view.
async fn change_on(
    desk: &Desk,
    objects: &Objects,
    draft: &Draft,
    wish: &Wish,
    tip: &Commit,
    between: &[Node],
) -> Result<NewChange> {
    let mut entries = draft.entries.clone();
    if !between.is_empty() {
        let others = Others::of(desk, objects, between).await?;
        let base = objects.commit(desk, wish.base.commit).await?;
        let schema = objects.schema(desk, base.schema).await?;
        others.check_alters(&draft.alters, &schema)?;
        others.check_fields(&draft.written, &schema)?;
        let updates = others.check_updates(desk, &entries, &draft.alters, &draft.reads, &schema);
        updates.await?;
        if draft.op == Operation::Compact {
            check_inputs(&entries, &others)?;
        }
        entries = without_removed(entries, &others, &wish.said.txn);
        // The schema may have another state now, in which the changes must make sense, too.
        let now = objects.schema(desk, tip.schema).await?;
        let altered = now.altered(&draft.alters);
        altered.map_err(|error| Error::conflict(error.to_string()))?;
    }
    Ok(NewChange {
        txn: wish.said.txn,
        op: draft.op,
        alters: draft.alters.clone(),
        entries,
        manifests: Vec::new(),
        puts: Vec::new(),
    })
}

/// Refuses a compaction of files that others removed.
fn check_inputs(entries: &[Entry], others: &Others) -> Result<()> {
    let mut inputs = entries
        .iter()
        .filter(|it| it.op == EntryOp::Remove && it.kind == EntryKind::Data);
    match inputs.find(|it| others.removed.contains(&it.file)) {
        None => Ok(()),
        Some(entry) => {
            let what = format!("another commit removed file {}", entry.file);
            Err(Error::conflict(what))
        }
    }
}

/// Creates a ref entry behind `newest`. Returns the entry of somebody else that was there before; `None` if this one is
/// there.
///
/// # Errors
/// [`ErrorKind::Unknown`] if it cannot be found out.
pub(crate) async fn create(
    desk: &Desk,
    branch: &str,
    newest: Option<&RefEntry>,
    entry: &RefEntry,
) -> Result<Option<RefEntry>> {
    let key = names::ref_key(branch, entry.n)?;
    if let Some(newest) = newest {
        settle(desk, branch, newest, &key).await?;
    }
    let bytes = Arc::new(entry.to_bytes(branch)?);
    let mut last = None;
    // Whether a request may have been done, or may still arrive.
    let mut may_be_done = false;
    for attempt in 0..CREATES_MAX {
        let need = Need::PutIfAbsent {
            key: key.clone(),
            bytes: bytes.clone(),
        };
        // A read alone may show an entry that a loss of power takes back.
        let mut is_settled = false;
        match desk.ask_one(need).await {
            Answer::Done => return Ok(None),
            Answer::Failed(error) => {
                let is_certain = error.kind() != StoreErrorKind::Unknown;
                let is_final = !matches!(
                    error.kind(),
                    StoreErrorKind::Unknown | StoreErrorKind::Transient | StoreErrorKind::Other
                );
                may_be_done |= !is_certain;
                if is_final && !may_be_done {
                    return Err(Error::from(error));
                }
                last = Some(error.to_string());
            }
            // The entry that is there may be mine, made by a request whose answer was lost.
            _ => is_settled = true,
        }
        match refs::entry(desk, branch, entry.n).await {
            Ok(Some(found)) if found == *entry && is_settled => return Ok(None),
            Ok(Some(found)) if found == *entry => {}
            Ok(Some(other)) => return Ok(Some(other)),
            Ok(None) => {}
            Err(error) if error.kind() == ErrorKind::Corrupt => return Err(error),
            Err(error) => last = Some(error.to_string()),
        }
        let longest = WAIT_MILLIS_MAX.min(WAIT_MILLIS << attempt);
        desk.ask_one(Need::Wait(Duration::from_millis(longest)))
            .await;
    }
    let why = last
        .unwrap_or_else(|| "the store says that the entry exists, and does not show it".to_owned());
    match may_be_done {
        true => {
            let what = format!(
                "whether transaction {} was committed is unknown: {why}",
                entry.txn
            );
            Err(Error::new(ErrorKind::Unknown, what)
                .of_object(&key)
                .of_txn(entry.txn))
        }
        false => {
            let what = format!("nothing was committed: {why}");
            Err(Error::new(ErrorKind::Store, what).of_object(&key))
        }
    }
}

/// Makes sure that the newest entry survives a loss of power, before one behind it is created at `key`. Where both lie
/// in one folder, the second is not there for good without the first.
async fn settle(desk: &Desk, branch: &str, newest: &RefEntry, key: &str) -> Result<()> {
    let before = names::ref_key(branch, newest.n)?;
    if folder_of(&before) == folder_of(key) {
        return Ok(());
    }
    let need = Need::PutIfAbsent {
        key: before.clone(),
        bytes: Arc::new(newest.to_bytes(branch)?),
    };
    match desk.ask_one(need).await {
        Answer::Done | Answer::Exists => Ok(()),
        Answer::Failed(error) => {
            let what = format!("nothing was committed: {error}");
            Err(Error::new(ErrorKind::Store, what).of_object(&before))
        }
        other => Err(unexpected(other)),
    }
}

fn folder_of(key: &str) -> &str {
    key.rsplit_once('/').map_or("", |(folder, _)| folder)
}
