//! Changes that erasures have made to a file since it was written: rows that are deleted or gone, and blocks that
//! moved.

use std::ops::Range;
use std::sync::Arc;

use tarsia_compliance::{RowSet, section_digest};
use tarsia_metadata as metadata;
use tarsia_metadata::{Footer, History, MovedBlock, PastState, Postscript, Section};

use crate::error::{Error, ErrorKind, Result};
use crate::source::{AtHand, Step};

/// The sections that erasures write.
const CHANGES: [u32; 4] = [
    metadata::SECTION_DELETED,
    metadata::SECTION_ERASED,
    metadata::SECTION_MOVED,
    metadata::SECTION_HISTORY,
];

/// Changes by erasures, and what there is to tell the file's states apart.
#[derive(Default)]
pub(crate) struct Changes {
    /// Rows that readers do not see.
    pub(crate) deleted: Arc<RowSet>,
    /// Deleted rows that columns at level 2 do not hold any more.
    pub(crate) erased: Arc<RowSet>,
    /// In the order of column, page and block.
    pub(crate) moved: Vec<MovedBlock>,
    /// The salt of the root digest, and the states that the file had before; `None` if the root digest has no salt.
    pub(crate) history: Option<History>,
}

impl Changes {
    /// The sections that erasures write.
    pub(crate) fn read(hand: &AtHand<'_>, footer: &Footer, postscript: &Postscript) -> Step<Self> {
        let rows = postscript.rows;
        let mut changes = Self::default();
        hand.want(
            footer
                .sections
                .iter()
                .filter(|it| CHANGES.contains(&it.id))
                .map(|it| it.range.clone()),
        );
        if let Some(bytes) = section(hand, footer, metadata::SECTION_DELETED)? {
            changes.deleted = Arc::new(row_set(&bytes, rows, "deleted rows")?);
        }
        if let Some(bytes) = section(hand, footer, metadata::SECTION_ERASED)? {
            changes.erased = Arc::new(row_set(&bytes, rows, "erased rows")?);
        }
        if let Some(bytes) = section(hand, footer, metadata::SECTION_MOVED)? {
            changes.moved = metadata::moved_blocks(&bytes, footer.late_range(postscript))?;
        }
        if let Some(bytes) = section(hand, footer, metadata::SECTION_HISTORY)? {
            changes.history = Some(history(&bytes)?);
        }
        if !changes.erased.is_subset(&changes.deleted) {
            let what = "rows that are erased and not deleted";
            return Err(Error::new(ErrorKind::Corrupt, what).into());
        }
        Ok(changes)
    }

    /// Checks that the states before came before the epoch of this one.
    pub(crate) fn check_epoch(&self, epoch: u64) -> Result<()> {
        let states = self.history.iter().flat_map(|history| &history.states);
        match states.last() {
            Some(PastState { epoch: last, .. }) if *last >= epoch => {
                let what = format!("history: a state of epoch {last} before that of epoch {epoch}");
                Err(Error::new(ErrorKind::Corrupt, what))
            }
            _ => Ok(()),
        }
    }

    /// The blocks of a page that lie elsewhere, in order.
    pub(crate) fn moved_of(&self, leaf: u32, page: u32) -> Vec<(u32, Range<u64>)> {
        let before = |block: &MovedBlock| (block.leaf, block.page) < (leaf, page);
        let first = self.moved.partition_point(before);
        let of_page = self.moved.get(first..).unwrap_or_default().iter();
        let of_page = of_page.take_while(|block| (block.leaf, block.page) == (leaf, page));
        of_page
            .map(|block| (block.block, block.range.clone()))
            .collect()
    }
}

/// The bytes of the one section with an id, compared with their digest.
fn section(hand: &AtHand<'_>, footer: &Footer, id: u32) -> Step<Option<Vec<u8>>> {
    let mut found: Option<&Section> = None;
    for section in footer.sections_of(id) {
        if found.replace(section).is_some() {
            let what = format!("two sections with the id {id}");
            return Err(Error::new(ErrorKind::Corrupt, what).into());
        }
    }
    let Some(section) = found else {
        return Ok(None);
    };
    let bytes = hand.get(section.range.clone())?;
    let place = section.range.start;
    if section.version.major != 1 {
        let what = format!("section {id} version {}", section.version);
        return Err(Error::new(ErrorKind::Unsupported, what).into());
    }
    match section_digest(id, &bytes) == section.digest {
        true => Ok(Some(bytes.to_vec())),
        false => {
            let what = format!("section at byte {place}: digest");
            Err(Error::new(ErrorKind::Corrupt, what).into())
        }
    }
}

fn history(bytes: &[u8]) -> Result<History> {
    History::parse(bytes).map_err(|error| Error::from(error).prefixed("history"))
}

fn row_set(bytes: &[u8], rows: u64, what: &str) -> Result<RowSet> {
    let set = RowSet::parse(bytes, rows);
    set.map_err(|error| Error::new(ErrorKind::Corrupt, format!("the set of {what}: {error}")))
}

/// Which rows of a block are left, and where among these a row is.
pub(crate) struct Present<'a> {
    erased: Option<&'a RowSet>,
    /// A row of the table that is looked at next or later, and how many rows of the block before it are left.
    row: u64,
    index: u32,
    /// How many rows are left.
    pub(crate) n_rows: u32,
}

impl<'a> Present<'a> {
    /// Returns the present rows of the block that holds the rows `rows` of the table; `erased` are those that its
    /// column lacks.
    pub(crate) fn of(erased: Option<&'a RowSet>, rows: Range<u64>) -> Self {
        let n_erased = erased.map_or(0, |erased| erased.count(rows.clone()));
        let n_rows = rows.end.saturating_sub(rows.start);
        Self {
            erased: erased.filter(|_| n_erased > 0),
            row: rows.start,
            index: 0,
            // A block has at most 65,536 rows.
            n_rows: n_rows.saturating_sub(n_erased) as u32,
        }
    }

    /// Whether none is missing: each row's index is its distance from the first.
    pub(crate) fn is_whole(&self) -> bool {
        self.erased.is_none()
    }

    /// How many rows of the block before `row` are left. Rows are asked for in rising order.
    pub(crate) fn index_of(&mut self, row: u64) -> u32 {
        let between = self.row..row.max(self.row);
        let n_erased = self
            .erased
            .map_or(0, |erased| erased.count(between.clone()));
        self.index += (between.end - between.start - n_erased) as u32;
        self.row = between.end;
        self.index
    }
}
