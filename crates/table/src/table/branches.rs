//! Branches: made, set, tagged, merged, rebased, compared.

use std::collections::HashMap;
use std::sync::Arc;

use tarsia_table_meta::{Commit, ObjectId, RefEntry, RefOp, Rule, Tag, TxnId, names};

use super::{Diff, DiffEntry, Table, check_writable};
use crate::clash::Overlap;
use crate::error::{Error, ErrorKind, Result};
use crate::history::{Node, changes, parted};
use crate::merge::{lacking, overlap_of};
use crate::objects::{Objects, unexpected};
use crate::protocol::{Committed, Wish, Work, commit, create};
use crate::refs;
use crate::spec::{CommitInfo, said};
use crate::steps::{Answer, Desk, Need};

impl Table {
    /// Makes a branch at a state. Copies nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`], [`ErrorKind::NotFound`], [`ErrorKind::InvalidInput`] for a name that is refused,
    /// [`ErrorKind::TooOld`] for a state that garbage collection may be about to delete, [`ErrorKind::Unknown`].
    pub fn create_branch(&self, name: &str, state: &str, info: &CommitInfo) -> Result<()> {
        names::check_new_branch(name)?;
        let commit = self.resolve(state)?;
        self.check_nameable(commit, state)?;
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
    /// [`ErrorKind::NotFound`], [`ErrorKind::Forbidden`], [`ErrorKind::Unknown`].
    pub fn delete_branch(&self, name: &str, info: &CommitInfo) -> Result<()> {
        self.check_rule(name, Rule::NoReset)?;
        self.set(name, info, |newest| {
            Ok((RefOp::Delete, live(newest)?.commit, None))
        })
    }

    /// Sets a branch to a state. The commits that it was at stay in its log.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`], [`ErrorKind::TooOld`] for a state that garbage collection may be about to delete,
    /// [`ErrorKind::Forbidden`], [`ErrorKind::Unknown`].
    pub fn reset(&self, branch: &str, state: &str, info: &CommitInfo) -> Result<()> {
        let commit = self.resolve(state)?;
        self.check_nameable(commit, state)?;
        self.check_rule(branch, Rule::NoReset)?;
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
        self.shared.run(|desk, objects| async move {
            let mut newest = refs::newest(&desk, &name, None).await?;
            loop {
                let named =
                    |error: Error| error.of_object(&format!("branch `{}`", name.escape_debug()));
                let (op, commit, source) = next(newest.as_ref()).map_err(named)?;
                let entry = RefEntry {
                    n: newest.as_ref().map_or(0, |newest| newest.n + 1),
                    commit,
                    before: newest.as_ref().map(|newest| newest.commit),
                    schemas: objects.schemas_of(&commit),
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
    /// [`ErrorKind::Exists`], [`ErrorKind::NotFound`], [`ErrorKind::InvalidInput`] for a name that is refused,
    /// [`ErrorKind::TooOld`] for a state that garbage collection may be about to delete.
    pub fn tag(&self, name: &str, state: &str, info: &CommitInfo) -> Result<()> {
        check_writable(&self.shared.store)?;
        let key = names::tag_key(name)?;
        let commit = self.resolve(state)?;
        self.check_nameable(commit, state)?;
        let tag = Tag {
            commit,
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
    /// newer than all that the target has. If the target has no commits of its own, it is set to the source's commit.
    /// No data are copied. A change that the target has is not repeated, however it got there.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if changes that one has and the other lacks are of one field of the schema, give one
    /// name to two fields, or give the same rows new values of one field; [`ErrorKind::InvalidInput`] for states
    /// without a commit in common; [`ErrorKind::LimitExceeded`] for more than 512 changes; [`ErrorKind::Forbidden`] for
    /// a target that is only set forward; those of [`Transaction::commit`](crate::Transaction::commit).
    pub fn merge(&self, source: &str, target: &str, info: &CommitInfo) -> Result<Committed> {
        self.merge_with(source, target, Overlap::Fail, info)
    }

    /// [`Table::merge`], with a word on rows of which both changed the same field.
    ///
    /// # Errors
    /// As [`Table::merge`].
    pub fn merge_with(
        &self,
        source: &str,
        target: &str,
        overlap: Overlap,
        info: &CommitInfo,
    ) -> Result<Committed> {
        check_writable(&self.shared.store)?;
        let from = self.resolve(source)?;
        self.check_nameable(from, source)?;
        let wish = Wish {
            branch: target.to_owned(),
            base: self.head(target)?,
            work: Work::Merge {
                source: from,
                name: source.to_owned(),
                only_forward: self.policy()?.has(target, Rule::ForwardOnly),
                overlap,
            },
            said: said(info.new_txn()?, info),
        };
        self.shared.run(|desk, objects| commit(desk, objects, wish))
    }

    /// Puts the descriptions of all files of a branch into one run of manifests, sorted by partition, so that a plan of
    /// one partition reads one or two of them. Changes no row and copies no data, and is a conflict with nothing that
    /// others commit meanwhile. If there is one run already, nothing is done, and [`Committed::was_there`] is set. The
    /// entries of the state are in memory, some 300 bytes each.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Forbidden`] for a branch that is only merged into; those of
    /// [`Transaction::commit`](crate::Transaction::commit).
    pub fn compact_metadata(&self, branch: &str, info: &CommitInfo) -> Result<Committed> {
        check_writable(&self.shared.store)?;
        self.check_rule(branch, Rule::MergeOnly)?;
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
        self.rebase_with(branch, onto, Overlap::Fail, info)
    }

    /// [`Table::rebase`], with a word on rows of which both changed the same field: the branch is the source.
    ///
    /// # Errors
    /// As [`Table::rebase`].
    pub fn rebase_with(
        &self,
        branch: &str,
        onto: &str,
        overlap: Overlap,
        info: &CommitInfo,
    ) -> Result<usize> {
        check_writable(&self.shared.store)?;
        self.check_rule(branch, Rule::NoReset)?;
        let (head, state) = (self.head(branch)?, onto);
        let onto = self.resolve(state)?;
        self.check_nameable(onto, state)?;
        let said = said(info.new_txn()?, info);
        let name = branch.to_owned();
        self.shared.run(|desk, objects| async move {
            let rebased = rebased(&desk, &objects, head.commit, onto, overlap).await?;
            let entry = RefEntry {
                n: head.n + 1,
                commit: rebased.0,
                before: Some(head.commit),
                schemas: objects.schemas_of(&rebased.0),
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
    overlap: Overlap,
) -> Result<(ObjectId, usize)> {
    let source = (head, objects.commit(desk, head).await?);
    let mut tip: Node = (onto, objects.commit(desk, onto).await?);
    let apart = parted(desk, objects, tip.clone(), source).await?;
    if apart.one.is_empty() {
        return Ok((head, 0));
    }
    let others = crate::conflict::Others::of(desk, objects, &apart.one).await?;
    let others = others.without(&crate::history::txns(&apart.other));
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
    let mut changes = lacking(desk, objects, &apart.other, &apart.one, &others).await?;
    let n_changes = changes.len();
    let schema = objects.schema(desk, tip.1.schema).await?;
    overlap_of(desk, objects, &mut changes, &others, overlap, &schema).await?;
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
