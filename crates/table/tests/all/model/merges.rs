//! Steps of histories that merge and rebase, and what they are to refuse.

use std::collections::BTreeSet;
use std::rc::Rc;

use tarsia_table::{ErrorKind, Overlap};

use super::{Change, Changes, Fields, History, Logged, Pending, Updated, fold};

/// Whether changes are to meet those that a target has and their branch lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meeting {
    Never,
    /// Both updated one field, perhaps of the same rows.
    Maybe,
    /// Both changed one field of the schema, or the names meet.
    Always,
}

/// Rows and fields that changes are about.
#[derive(Debug, Default)]
struct About {
    altered: BTreeSet<u64>,
    names: BTreeSet<String>,
    updated: Vec<Updated>,
}

impl About {
    fn of(changes: &[Logged]) -> Self {
        let mut about = Self::default();
        let changes = changes.iter().map(|logged| &logged.change);
        changes.for_each(|change| about.add(change));
        about
    }

    fn add(&mut self, change: &Change) {
        match change {
            Change::Add { field, name, .. } | Change::Rename { field, name } => {
                self.altered.insert(*field);
                self.names.insert(name.clone());
            }
            Change::Drop { field } => {
                self.altered.insert(*field);
            }
            Change::Update(updated, _) => self.updated.push(*updated),
            Change::Both(all) => all.iter().for_each(|change| self.add(change)),
            Change::Append(_) | Change::Delete(_) => {}
        }
    }
}

impl History {
    /// Alters a source and merges it, a few times. Now and then the target is altered, too, or some branch compacted.
    pub(super) fn repeated_merges(&mut self) {
        let (source, target) = (self.branch(), self.branch());
        for _ in 0..2 + self.rng.below(3) {
            self.alter_branch(&source);
            if self.rng.percent(20) {
                self.alter_branch(&target);
            }
            if self.rng.percent(15) {
                self.compact();
            }
            match self.rng.below(6) {
                0 => self.merge(&target, &source),
                1 => self.rebase(&source, &target),
                _ => self.merge(&source, &target),
            }
        }
    }

    fn alter_branch(&mut self, branch: &str) {
        let (info, id) = self.info();
        let mut txn = self.table.begin(branch, info).unwrap();
        let (_, fields) = fold(&self.known[&txn.snapshot().id()]);
        if let Some(change) = self.alter(&mut txn, &fields) {
            let logged = Logged { txn: id, change };
            let branch = branch.to_owned();
            self.commit(Pending {
                txn,
                branch,
                logged,
            });
        }
    }

    pub(super) fn merge(&mut self, source: &str, target: &str) {
        let (info, _) = self.info();
        let (from, to) = (self.head(source), self.head(target));
        let overlap = [Overlap::Fail, Overlap::Source][self.rng.below(2)];
        let merged = self.table.merge_with(source, target, overlap, &info);
        let meeting = meeting(&self.known[&from], &self.known[&to], overlap);
        let lacking = lacking(&self.known[&from], &self.known[&to]);
        match merged {
            Ok(committed) => {
                assert_ne!(meeting, Meeting::Always, "merged {source} into {target}");
                assert_eq!(committed.was_there, lacking.is_empty());
                let mut changes = (*self.known[&to]).clone();
                changes.extend(lacking);
                self.known
                    .entry(committed.commit)
                    .or_insert_with(|| Rc::new(changes));
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                assert_ne!(meeting, Meeting::Never, "{source} into {target}: {error}");
                self.n_conflicts += 1;
            }
        }
    }

    pub(super) fn rebase(&mut self, branch: &str, onto: &str) {
        let (info, _) = self.info();
        let (from, to) = (self.head(branch), self.head(onto));
        let meeting = meeting(&self.known[&from], &self.known[&to], Overlap::Fail);
        let lacking = lacking(&self.known[&from], &self.known[&to]);
        match self.table.rebase(branch, onto, &info) {
            Ok(_) if self.head(branch) == from => {}
            Ok(n_changes) => {
                assert_ne!(meeting, Meeting::Always, "rebased {branch} onto {onto}");
                assert_eq!(n_changes, lacking.len());
                // One commit for each change.
                let mut changes = (*self.known[&to]).clone();
                for (change, back) in lacking.iter().zip((0..lacking.len()).rev()) {
                    changes.push(change.clone());
                    let commit = self.head(&format!("{branch}~{back}"));
                    let state = Rc::new(changes.clone());
                    self.known.entry(commit).or_insert(state);
                }
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                assert_ne!(meeting, Meeting::Never, "{branch} onto {onto}: {error}");
                self.n_conflicts += 1;
            }
        }
    }
}

/// Changes that are in one state and not in another one.
fn lacking(from: &Changes, to: &Changes) -> Vec<Logged> {
    let known: BTreeSet<_> = to.iter().map(|logged| logged.txn).collect();
    from.iter()
        .filter(|logged| !known.contains(&logged.txn))
        .cloned()
        .collect()
}

/// Compares the changes that a target lacks with those that the source lacks. What both have is no matter.
fn meeting(from: &Changes, to: &Changes, overlap: Overlap) -> Meeting {
    let lacking_here = lacking(from, to);
    let (mine, others) = (About::of(&lacking_here), About::of(&lacking(to, from)));
    let is_met = !mine.altered.is_disjoint(&others.altered)
        || !mine.names.is_disjoint(&others.names)
        || !is_possible(&lacking_here, fold(to).1);
    let is_updated = mine.updated.iter().any(|it| others.updated.contains(it));
    match (is_met, is_updated && overlap == Overlap::Fail) {
        (true, _) => Meeting::Always,
        (false, true) => Meeting::Maybe,
        (false, false) => Meeting::Never,
    }
}

/// Whether changes make sense behind those that made these fields: no name is taken, each field is there.
fn is_possible(changes: &[Logged], mut fields: Fields) -> bool {
    fn apply(change: &Change, fields: &mut Fields) -> bool {
        let is_free = |name: &str, fields: &Fields| fields.iter().all(|known| known.1 != name);
        match change {
            Change::Add { field, name, .. } => {
                let is_free = is_free(name, fields);
                fields.push((*field, name.clone(), None));
                is_free
            }
            Change::Rename { field, name } => {
                let is_free = is_free(name, fields);
                let known = fields.iter_mut().find(|known| known.0 == *field);
                known.map(|known| known.1.clone_from(name)).is_some() && is_free
            }
            Change::Drop { field } => {
                let n_before = fields.len();
                fields.retain(|known| known.0 != *field);
                fields.len() < n_before
            }
            Change::Both(all) => all.iter().all(|change| apply(change, fields)),
            Change::Append(_) | Change::Delete(_) | Change::Update(..) => true,
        }
    }
    changes
        .iter()
        .all(|logged| apply(&logged.change, &mut fields))
}
