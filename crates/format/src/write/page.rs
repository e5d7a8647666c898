//! From the rows of a page to its stored bytes: encoded blocks, block table and digests. Nothing is written here, so
//! pages can be made by many threads.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tarsia_arrow::LeafPath;
use tarsia_codec::{
    ColumnMemory, LogicalType, OwnedValues, Registry, RoundingError, SharedBuffer, UsedEntries,
    ValueType, Values,
};
use tarsia_compliance as compliance;
use tarsia_compliance::Salts;
use tarsia_metadata as metadata;
use tarsia_page_writer::{
    BlockRows, Choose, EncodeContext, EncodedPage, PageInput, Room, encode_page,
    encode_strict_page, protect_page, used_entries, wipe_unused,
};
use tarsia_structure::SHARED_DEPTH_MAX;

use crate::error::{Error, ErrorKind, Result};

/// Which page of the file: what its digests cover beside its bytes.
#[derive(Clone, Copy)]
pub(super) struct PageId {
    /// Number of the leaf column.
    pub(super) leaf: u32,
    /// Counts the column's pages from 0, those of shared buffers from [`compliance::SHARED_PAGE_FIRST`].
    pub(super) number: u32,
}

/// Needs of making a page beside its rows.
pub(super) struct PageContext<'a> {
    /// Id of the page; of the shared pages of a column, the first one's.
    pub(super) id: PageId,
    pub(super) registry: &'a Registry,
    /// Salts of a column whose values can be erased.
    pub(super) salts: Option<&'a Salts>,
    /// Path of the leaf of a strict column.
    pub(super) strict: Option<&'a LeafPath>,
}

/// The rows of a page, encoded, and the pages of its shared buffers.
pub(super) struct DataPage {
    pub(super) page: SealedPage,
    pub(super) shared: Vec<SharedPage>,
    /// Where values were rounded, how far they are from what they were.
    pub(super) rounding_error: RoundingError,
    /// Its part of the column's zone map; empty if the column has none.
    pub(super) zones: Vec<u8>,
    /// Its bloom filters; empty if the column has none.
    pub(super) blooms: Vec<u8>,
}

/// The page of a shared buffer. Its number, which its digests need, is known when it is appended.
#[derive(Clone)]
pub(super) struct SharedPage {
    pub(super) page: EncodedPage,
    /// Used entries of a column whose values can be erased.
    pub(super) entries: Option<UsedOf>,
    /// Shared pages that it is decoded with.
    pub(super) shared: Vec<SharedPage>,
}

/// The entries of a shared buffer that are stored: those that the page refers to which it was made for. All others are
/// wiped, as an erasure would leave them: no value stands for them that could be erased.
#[derive(Clone)]
pub(super) struct UsedOf {
    /// Digest of all entries.
    pub(super) all: [u8; 32],
    pub(super) used: Arc<UsedEntries>,
}

/// A page with its digests.
pub(super) struct SealedPage {
    pub(super) page: EncodedPage,
    /// Block table and block digests; empty for one block.
    pub(super) side: Vec<u8>,
    pub(super) digest: [u8; 32],
}

/// Type of the values of a column.
#[derive(Clone, Copy)]
struct ColumnType {
    value_type: ValueType,
    logical_type: LogicalType,
}

/// Encodes the rows of a page.
///
/// # Errors
/// [`ErrorKind::LimitExceeded`], and what encodings refuse.
pub(super) fn encode(
    input: PageInput<'_>,
    of_page: &PageContext<'_>,
    chooser: &dyn Choose,
    memory: &dyn ColumnMemory,
    repeats: Option<&Repeats>,
) -> Result<DataPage> {
    let context = EncodeContext {
        registry: of_page.registry,
        chooser,
        memory: Some(memory),
        checksum: metadata::crc32c_of,
        erasable: of_page.salts.is_some(),
    };
    let column = ColumnType {
        value_type: input.values.value_type(),
        logical_type: input.logical_type,
    };
    let repeats = repeats.filter(|_| of_page.salts.is_none());
    let key = repeats.and_then(|_| key_of(&input));
    let found = repeats
        .zip(key)
        .and_then(|(repeats, key)| repeats.get(&key));
    let encoded = match found {
        Some(found) => found,
        None => {
            let page = match of_page.strict {
                None => encode_page(input, &context)?,
                Some(path) => encode_strict_page(input, path.nullable(), &context)?,
            };
            let shared = encode_shared(&page, column, &context, of_page.salts.is_some(), 0)?;
            let encoded = Arc::new(Encoded { page, shared });
            if let Some((repeats, key)) = repeats.zip(key) {
                repeats.keep(key, &encoded);
            }
            encoded
        }
    };
    let Encoded { page, shared } = Arc::unwrap_or_clone(encoded);
    let page = seal(page, of_page)?;
    Ok(DataPage {
        page,
        shared,
        rounding_error: RoundingError::default(),
        zones: Vec::new(),
        blooms: Vec::new(),
    })
}

/// A page without digests, and its shared buffers.
#[derive(Clone)]
struct Encoded {
    page: EncodedPage,
    shared: Vec<SharedPage>,
}

/// The last pages of long values, by digests of what was encoded: a column of few distinct texts of a megabyte repeats
/// whole pages. An encoded page is a function of its rows, so that it does not matter which one is taken.
#[derive(Default)]
pub(super) struct Repeats(Mutex<VecDeque<(Key, Arc<Encoded>)>>);

/// Digests of the values, and of their lengths and which are null.
type Key = [[u8; 32]; 2];

/// Pages that are held.
const REPEATS_MAX: usize = 16;

/// Pages of shorter values than this in the mean are always encoded.
const LONG_BYTES: usize = 64 << 10;

impl Repeats {
    fn get(&self, key: &Key) -> Option<Arc<Encoded>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = held.iter().find(|(of, _)| of == key);
        found.map(|(_, encoded)| Arc::clone(encoded))
    }

    /// Pages that are as long as their values are not held.
    fn keep(&self, key: Key, encoded: &Arc<Encoded>) {
        if encoded.page.bytes.len() > LONG_BYTES {
            return;
        }
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.truncate(REPEATS_MAX - 1);
        held.push_front((key, Arc::clone(encoded)));
    }
}

/// The key of a flat page of long byte strings.
fn key_of(input: &PageInput<'_>) -> Option<Key> {
    let Values::Bytes(strings) = input.values else {
        return None;
    };
    let data = strings.value_data();
    let is_long = !strings.is_empty() && data.len() / strings.len() >= LONG_BYTES;
    if input.levels.is_some() || !is_long {
        return None;
    }
    let mut rows = Vec::new();
    for i in 0..strings.len() {
        rows.extend_from_slice(&strings.value_bytes(i).to_le_bytes());
        rows.push(input.validity.is_none_or(|validity| validity.get(i)).into());
    }
    Some([
        compliance::section_digest(0, data),
        compliance::section_digest(1, &rows),
    ])
}

/// A digest of the values of a shared buffer.
fn digest_of(values: &OwnedValues) -> [u8; 32] {
    let (offsets, bytes): (&[u32], &[u8]) = match values {
        OwnedValues::Bits { bytes, .. } | OwnedValues::Fixed { bytes, .. } => (&[], bytes),
        OwnedValues::Bytes { offsets, data } => (offsets, data),
    };
    let mut all = Vec::with_capacity(offsets.len() * 4 + bytes.len());
    all.extend(offsets.iter().flat_map(|offset| offset.to_le_bytes()));
    all.extend_from_slice(bytes);
    compliance::section_digest(0, &all)
}

/// The pages of a page's shared buffers, and of theirs. What buffers of the column's type mean, its values do.
fn encode_shared(
    page: &EncodedPage,
    column: ColumnType,
    context: &EncodeContext<'_>,
    only_used: bool,
    depth: u32,
) -> Result<Vec<SharedPage>> {
    if depth > SHARED_DEPTH_MAX && !page.shared.is_empty() {
        return Err(Error::new(
            ErrorKind::LimitExceeded,
            format!("shared buffers of shared buffers more than {SHARED_DEPTH_MAX} deep"),
        ));
    }
    let mut pages = Vec::with_capacity(page.shared.len());
    let used = match only_used {
        true => used_entries(page, context.registry, metadata::crc32c_of)?,
        false => Vec::new(),
    };
    for (number, (spec, values)) in page.meta.shared.iter().zip(&page.shared).enumerate() {
        let used = used.get(number).filter(|_| spec.kind.has_entries());
        let wiped;
        let (values, entries) = match used {
            None => (&**values, None),
            Some(used) => {
                let buffer = SharedBuffer::new(spec.kind, values.clone());
                wiped = wipe_unused(&buffer, used)?;
                let entries = UsedOf {
                    all: digest_of(values),
                    used: used.clone(),
                };
                (&wiped, Some(entries))
            }
        };
        let input = PageInput {
            shared: Some(spec.kind),
            shared_depth: depth + 1,
            logical_type: match spec.value_type == column.value_type {
                true => column.logical_type,
                false => LogicalType::Unknown,
            },
            ..PageInput::of_values(values.as_values()?)
        };
        let page = encode_page(input, context)?;
        let shared = encode_shared(&page, column, context, only_used, depth + 1)?;
        pages.push(SharedPage {
            page,
            entries,
            shared,
        });
    }
    Ok(pages)
}

/// Adds block table and digests, and where values can be erased salts and room.
///
/// # Errors
/// [`ErrorKind::LimitExceeded`] if the page is too long.
pub(super) fn seal(mut page: EncodedPage, of_page: &PageContext<'_>) -> Result<SealedPage> {
    let PageId { leaf, number } = of_page.id;
    if let Some(salts) = of_page.salts {
        let salt = |block| salts.of(leaf, number, block);
        let room = match of_page.strict {
            None => Room::Growth,
            Some(_) => Room::Strict,
        };
        protect_page(
            &mut page,
            of_page.registry,
            room,
            &salt,
            metadata::crc32c_of,
        )?;
    }
    let n_blocks = page.starts.len() as u32;
    if n_blocks == 1 {
        let digest = compliance::block_digest(leaf, number, 0, page.block(0));
        return Ok(SealedPage {
            page,
            side: Vec::new(),
            digest,
        });
    }
    let row_starts: Vec<u32>;
    let rows = match &page.block_rows {
        BlockRows::Uniform(log2) => metadata::Rows::Uniform(*log2),
        BlockRows::Table(rows) => {
            let start = |next: &mut u32, rows: &u32| {
                let start = *next;
                *next += rows;
                Some(start)
            };
            row_starts = rows.iter().scan(0, start).collect();
            metadata::Rows::Table(&row_starts)
        }
    };
    let starts = page
        .starts
        .iter()
        .map(|start| u32::try_from(start / 8))
        .collect::<Result<Vec<u32>, _>>()
        .map_err(|_| Error::new(ErrorKind::LimitExceeded, "a page is larger than 32 GiB"))?;
    let mut side = metadata::build_block_table(&starts, rows)?;
    let digests: Vec<[u8; 16]> = (0..n_blocks)
        .map(|block| {
            let digest = compliance::block_digest(leaf, number, block, page.block(block as usize));
            compliance::stored_block_digest(&digest)
        })
        .collect();
    let digest = compliance::page_digest(leaf, number, &digests);
    side.extend_from_slice(digests.as_flattened());
    Ok(SealedPage { page, side, digest })
}
