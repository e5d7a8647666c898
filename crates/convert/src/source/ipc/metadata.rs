//! Flatbuffers of Arrow IPC: limits of their verification, and metadata that are no UTF-8.
//!
//! The verifier refuses a whole schema for one key or value that is no UTF-8. Such ones are replaced by texts
//! ([`binary_metadata`](crate::source::binary_metadata)).

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use flatbuffers::{ErrorTraceDetail, InvalidFlatbuffer, VerifierOptions};

use crate::source::binary_metadata::{key_text, value_text};

/// Keys and values of bytes in one schema. Each takes a verification of the whole.
const BINARY_TEXTS_MAX: usize = 1_000;

/// Tables inside each other. A column as deep as Tarsia stores it takes half of them.
const DEPTH_MAX: usize = 128;

/// Limits for a flatbuffer of this length. Tables and vectors of a flatbuffer may share bytes, so that few of them
/// stand for many; honest ones share strings only.
pub(super) fn limits(bytes: &[u8]) -> VerifierOptions {
    VerifierOptions {
        max_depth: DEPTH_MAX,
        max_tables: bytes.len() / 4,
        max_apparent_size: bytes.len().saturating_mul(64).saturating_add(1 << 20),
        ..VerifierOptions::default()
    }
}

/// Keys that the metadata of a schema, or of one of its fields, have twice with different values. Arrow in memory has
/// each once.
pub(super) fn keys_twice(schema: arrow_ipc::Schema<'_>) -> BTreeSet<String> {
    type Pairs<'a> =
        Option<flatbuffers::Vector<'a, flatbuffers::ForwardsUOffset<arrow_ipc::KeyValue<'a>>>>;
    fn of_pairs(pairs: Pairs<'_>, twice: &mut BTreeSet<String>) {
        let mut seen = HashMap::new();
        for pair in pairs.into_iter().flatten() {
            let key = pair.key().unwrap_or_default();
            let before = seen.insert(key, pair.value());
            if before.is_some_and(|before| before != pair.value()) {
                twice.insert(key.to_owned());
            }
        }
    }
    fn of_field(field: arrow_ipc::Field<'_>, twice: &mut BTreeSet<String>) {
        of_pairs(field.custom_metadata(), twice);
        for child in field.children().into_iter().flatten() {
            of_field(child, twice);
        }
    }
    let mut twice = BTreeSet::new();
    of_pairs(schema.custom_metadata(), &mut twice);
    for field in schema.fields().into_iter().flatten() {
        of_field(field, &mut twice);
    }
    twice
}

/// Returns the flatbuffer with base64 for the keys and values of metadata that are no UTF-8.
pub(super) fn readable(
    mut bytes: Vec<u8>,
    verify: impl Fn(&VerifierOptions, &[u8]) -> Result<(), InvalidFlatbuffer>,
) -> Result<Vec<u8>, String> {
    for _ in 0..=BINARY_TEXTS_MAX {
        let Err(error) = verify(&limits(&bytes), &bytes) else {
            return Ok(bytes);
        };
        let binary = BinaryText::of(&error).ok_or_else(|| text_of(&error))?;
        binary.replace(&mut bytes).ok_or_else(|| text_of(&error))?;
    }
    Err(format!(
        "more than {BINARY_TEXTS_MAX} keys and values of metadata are not UTF-8"
    ))
}

/// Why a flatbuffer is refused, on one line.
pub(super) fn text_of(error: &InvalidFlatbuffer) -> String {
    match error {
        InvalidFlatbuffer::DepthLimitReached => {
            format!("columns are nested deeper than {}", DEPTH_MAX - 4)
        }
        InvalidFlatbuffer::Utf8Error {
            range, error_trace, ..
        } => {
            let name = match error_trace.as_ref().first() {
                Some(ErrorTraceDetail::TableField { field_name, .. }) => field_name.clone(),
                _ => Cow::Borrowed("text"),
            };
            format!("the `{name}` at byte {} is not UTF-8", range.start)
        }
        other => {
            let text = other.to_string();
            text.lines().next().unwrap_or_default().to_owned()
        }
    }
}

/// A key or a value of metadata that is no UTF-8.
struct BinaryText {
    is_key: bool,
    /// Its bytes.
    start: usize,
    end: usize,
    /// Where its offset is.
    slot: usize,
    /// Where the offset of the table with key and value is.
    table_slot: usize,
}

impl BinaryText {
    /// `None` for other errors, also in other strings.
    fn of(error: &InvalidFlatbuffer) -> Option<Self> {
        let InvalidFlatbuffer::Utf8Error {
            range, error_trace, ..
        } = error
        else {
            return None;
        };
        let [
            ErrorTraceDetail::TableField {
                field_name: name,
                position: slot,
            },
            ErrorTraceDetail::VectorElement {
                position: table_slot,
                ..
            },
            ErrorTraceDetail::TableField {
                field_name: list, ..
            },
            ..,
        ] = error_trace.as_ref()
        else {
            return None;
        };
        let is_key = name == "key";
        ((is_key || name == "value") && list == "custom_metadata").then_some(BinaryText {
            is_key,
            start: range.start,
            end: range.end,
            slot: *slot,
            table_slot: *table_slot,
        })
    }

    /// Appends it in its new form, and a value's key, and points to them. Offsets of strings are forward ones. Keys are
    /// verified before values.
    fn replace(&self, bytes: &mut Vec<u8>) -> Option<()> {
        let binary = bytes.get(self.start..self.end)?;
        if self.is_key {
            let key = key_text(binary).into_owned();
            return append(bytes, self.slot, &key);
        }
        let table = self
            .table_slot
            .checked_add(word(bytes, self.table_slot)? as usize)?;
        let vtable = table.checked_add_signed(-(word(bytes, table)?.cast_signed() as isize))?;
        // The first field of the table is the key; 0 if it is left out.
        let key_field = bytes.get(vtable.checked_add(4)?..)?.first_chunk()?;
        let key_field = usize::from(u16::from_le_bytes(*key_field));
        let key_slot = table.checked_add(key_field).filter(|slot| *slot != table)?;
        let key = key_slot.checked_add(word(bytes, key_slot)? as usize)?;
        let key_bytes = word(bytes, key)? as usize;
        let key = bytes.get(key.checked_add(4)?..)?.get(..key_bytes)?;
        let (key, value) = value_text(str::from_utf8(key).ok()?, binary);
        append(bytes, key_slot, &key)?;
        append(bytes, self.slot, &value)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..)?
        .first_chunk()
        .copied()
        .map(u32::from_le_bytes)
}

/// Appends a string whose offset stands at `slot`.
fn append(bytes: &mut Vec<u8>, slot: usize, text: &str) -> Option<()> {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let offset = u32::try_from(bytes.len().checked_sub(slot)?).ok()?;
    bytes
        .get_mut(slot..slot + 4)?
        .copy_from_slice(&offset.to_le_bytes());
    bytes.extend_from_slice(&u32::try_from(text.len()).ok()?.to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(0);
    Some(())
}
