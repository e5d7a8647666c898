//! References between objects: the one place that says what a commit and an entry need.
//!
//! Garbage collection, copies and checks of whole tables go by it.

use tarsia_table_meta::{Commit, Entry, EntryOp, ManifestRow, ObjectId};

/// An object that another one refers to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reference<'a> {
    /// A schema, and the one that it is stored as changes of.
    Schema(ObjectId),
    /// A manifest, and what its entries refer to.
    Manifest(&'a ManifestRow),
    /// An entry of the commit itself.
    Entry(&'a Entry),
}

/// Part of a commit that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The state, to read its rows.
    State,
    /// The changes that led to it, to repeat them elsewhere and to compare others with them.
    Changes,
}

/// Direct references of a part of a commit. Parents are history, which is kept apart.
pub(crate) fn of_commit(commit: &Commit, part: Part) -> Vec<Reference<'_>> {
    let mut references = vec![Reference::Schema(commit.schema)];
    let own = commit.own_entries.iter().map(Reference::Entry);
    match part {
        Part::State => {
            references.extend(commit.manifests.iter().map(Reference::Manifest));
            references.extend(commit.entries.iter().map(Reference::Entry));
        }
        Part::Changes => {
            references.extend(commit.own_manifests.iter().map(Reference::Manifest));
        }
    }
    references.extend(own);
    references
}

/// The schema and the file of an entry, if it has them. A removal needs nothing, and the files of its targets have
/// entries of their own.
pub(crate) fn of_entry(entry: &Entry) -> (Option<ObjectId>, bool) {
    match entry.op {
        EntryOp::Add => (entry.schema, entry.has_file()),
        EntryOp::Remove => (None, false),
    }
}
