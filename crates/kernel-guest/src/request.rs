//! Requests of the host, parsed.

use alloc::sync::Arc;
use alloc::vec::Vec;

use tarsia_codec::{AlignedBuf, OwnedValues};
#[cfg(feature = "nested")]
use tarsia_structure::Cut;

use crate::abi::{Entry, InputEntry, SharedEntry, TAGS_KNOWN, code, entries, tag};
use crate::fault::{Fault, Result, outside};
use crate::memory::Memory;

/// Rows of a batch that stay in the second-level cache with their output.
pub(crate) const BATCH_ROWS_PREFERRED: u32 = 16_384;

/// Most bytes of a batch's buffers if the request names no limit.
const OUTPUT_BYTES_MAX: u64 = 1 << 30;

/// The tags that this kernel knows, as bits.
const TAGS_HONOURED: u64 = match cfg!(feature = "nested") {
    true => TAGS_KNOWN | 1 << tag::CUTS,
    false => TAGS_KNOWN,
};

/// A block in the kernel's memory.
pub(crate) struct Input {
    pub(crate) address: u32,
    pub(crate) len: u32,
    pub(crate) rows: u32,
    pub(crate) first_row: u64,
}

impl Input {
    /// The row after its last one.
    pub(crate) fn end(&self) -> u64 {
        self.first_row + u64::from(self.rows)
    }

    pub(crate) fn bytes<'a>(&self, memory: &'a impl Memory) -> Result<&'a [u8]> {
        let bytes = memory.bytes(self.address, self.len);
        bytes.ok_or_else(|| outside("an input"))
    }
}

/// A parsed request.
pub(crate) struct Request<'a> {
    pub(crate) inputs: Vec<Input>,
    pub(crate) rows: Option<u64>,
    pub(crate) meta: Option<&'a [u8]>,
    pub(crate) shared: Vec<Arc<OwnedValues>>,
    pub(crate) batch_rows: u32,
    pub(crate) ranges: Option<Entry<'a>>,
    pub(crate) selection: Option<Entry<'a>>,
    pub(crate) output_bytes_max: u64,
    pub(crate) prepared: Option<u32>,
    pub(crate) whole: Option<(u32, u32)>,
    pub(crate) more: Option<u32>,
    #[cfg(feature = "nested")]
    pub(crate) cuts: Option<Entry<'a>>,
    pub(crate) honoured: u64,
}

impl<'a> Request<'a> {
    pub(crate) fn parse(memory: &impl Memory, bytes: &'a [u8]) -> Result<Self> {
        let mut request = Self {
            inputs: Vec::new(),
            rows: None,
            meta: None,
            shared: Vec::new(),
            batch_rows: BATCH_ROWS_PREFERRED,
            ranges: None,
            selection: None,
            output_bytes_max: OUTPUT_BYTES_MAX,
            prepared: None,
            whole: None,
            more: None,
            #[cfg(feature = "nested")]
            cuts: None,
            honoured: 0,
        };
        for entry in entries(bytes) {
            let entry = entry?;
            let bit = 1u64.checked_shl(entry.tag.into()).unwrap_or(0) & TAGS_HONOURED;
            let repeats = matches!(entry.tag, tag::INPUT | tag::SHARED);
            if request.honoured & bit != 0 && !repeats {
                let (code, after) = (code::MALFORMED, " occurs twice");
                return Err(Fault::numbered(code, "tag ", entry.tag.into(), after));
            }
            match entry.tag {
                tag::INPUT => {
                    let InputEntry { address, len, .. } = entry.input()?;
                    request.inputs.push(Input {
                        address,
                        len,
                        rows: 0,
                        first_row: 0,
                    });
                }
                tag::ROWS => request.rows = Some(entry.wide()?),
                tag::META => request.meta = Some(entry.payload),
                tag::SHARED => {
                    let shared = shared_values(memory, &entry.shared()?)?;
                    request.shared.push(Arc::new(shared));
                }
                tag::BATCH_ROWS => request.batch_rows = entry.word()?.max(1),
                tag::ROW_RANGES => request.ranges = Some(entry),
                tag::SELECTION => request.selection = Some(entry),
                tag::LIMITS => request.output_bytes_max = entry.wide()?,
                tag::PREPARED => request.prepared = Some(entry.word()?),
                tag::WHOLE => {
                    let room = entry.wide()?;
                    request.whole = Some((room as u32, (room >> 32) as u32));
                }
                tag::MORE => request.more = Some(entry.word()?),
                #[cfg(feature = "nested")]
                tag::CUTS => request.cuts = Some(entry),
                _ if entry.mandatory => {
                    let (code, after) = (code::UNSUPPORTED, " of the request");
                    return Err(Fault::numbered(code, "tag ", entry.tag.into(), after));
                }
                _ => {}
            }
            request.honoured |= bit;
        }
        Ok(request)
    }
}

/// Copies and checks a shared buffer that the host wrote into memory.
fn shared_values(memory: &impl Memory, entry: &SharedEntry) -> Result<OwnedValues> {
    let at = |(address, len): (u32, u32)| {
        memory
            .bytes(address, len)
            .ok_or_else(|| outside("a shared buffer"))
    };
    let malformed = || Fault::new(code::MALFORMED, "a shared buffer's lengths");
    let len = usize::try_from(entry.len).map_err(|_| malformed())?;
    let bytes = AlignedBuf::copy_of(at(entry.values)?);
    let values = match entry.kind {
        1 => OwnedValues::Bits { bytes, len },
        2 => OwnedValues::Fixed {
            bytes,
            width: entry.width as usize,
            len,
        },
        3 => {
            let (words, rest) = at(entry.offsets)?.as_chunks::<4>();
            if !rest.is_empty() || Some(words.len()) != len.checked_add(1) {
                return Err(malformed());
            }
            OwnedValues::Bytes {
                offsets: words.iter().map(|word| u32::from_le_bytes(*word)).collect(),
                data: bytes,
            }
        }
        _ => return Err(malformed()),
    };
    // Decoders index into it, so lengths and offsets that do not fit are refused here.
    values.as_values()?;
    Ok(values)
}

/// The cuts that a request names.
#[cfg(feature = "nested")]
pub(crate) fn cuts_of(entry: Option<&Entry<'_>>) -> Result<Vec<(usize, Cut)>> {
    let mut cuts = Vec::new();
    let Some(entry) = entry else {
        return Ok(cuts);
    };
    let mut words = entry.words()?;
    while let Some(level) = words.next() {
        let (Some(start), Some(end)) = (words.next(), words.next()) else {
            return Err(Fault::new(code::MALFORMED, "cuts of three numbers each"));
        };
        cuts.push((level as usize, Cut { start, end }));
    }
    Ok(cuts)
}
