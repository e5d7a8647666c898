//! Byte layouts of the interface `t1`, little-endian, for guest and host. Normative text: `docs/spec/kernel.md`.

use alloc::vec::Vec;

/// The minor version of `t1`: grows when a tag is added.
pub const MINOR: i32 = 2;

/// Tags of a request's entries. Numbers are never used again.
pub mod tag {
    /// A block: u32 address, u32 length, u64 offset in the page. Repeated, in row order.
    pub const INPUT: u16 = 1;
    /// u64: present rows of all inputs together.
    pub const ROWS: u16 = 2;
    /// Arrow's C format string of the column. Not honoured by kernels of minor version 0.
    pub const TYPE: u16 = 3;
    /// The page's description, verbatim.
    pub const META: u16 = 4;
    /// A decoded shared buffer; see [`super::SharedEntry`]. Repeated, in the order of their numbers.
    pub const SHARED: u16 = 5;
    /// u32: most rows of a batch.
    pub const BATCH_ROWS: u16 = 6;
    /// Pairs of u32 (first row, rows), rising, without overlap: the rows wanted.
    pub const ROW_RANGES: u16 = 7;
    /// u32 each, rising, repeats allowed: the rows wanted.
    pub const SELECTION: u16 = 8;
    /// Reserved: what rows must satisfy.
    pub const PREDICATE: u16 = 9;
    /// Reserved: output layouts the host takes.
    pub const LAYOUTS: u16 = 10;
    /// u64: most bytes of a batch's buffers.
    pub const LIMITS: u16 = 11;
    /// Reserved: erased rows of layouts whose units carry no count of them.
    pub const ERASED: u16 = 12;
    /// u32: a handle whose META and shared buffers are taken instead of those of this request.
    pub const PREPARED: u16 = 13;
    /// u32 rows, u32 bytes of strings: all rows come as one batch, which this request begins. Since minor version 1.
    pub const WHOLE: u16 = 14;
    /// u32: the handle of a reader with [`WHOLE`] that asked for more inputs, which are those of this request. Since
    /// minor version 1.
    pub const MORE: u16 = 15;
    /// Triples of u32 (number of a level of lists, first item, item behind the last): of those lists only these items
    /// are wanted. Known by kernels that decode nested pages. Since minor version 2.
    pub const CUTS: u16 = 16;
}

/// The tags that every kernel of this version knows, as bits.
pub const TAGS_KNOWN: u64 = 1 << tag::INPUT
    | 1 << tag::ROWS
    | 1 << tag::META
    | 1 << tag::SHARED
    | 1 << tag::BATCH_ROWS
    | 1 << tag::ROW_RANGES
    | 1 << tag::SELECTION
    | 1 << tag::LIMITS
    | 1 << tag::PREPARED
    | 1 << tag::WHOLE
    | 1 << tag::MORE;

/// Error codes that exports return. Numbers are never used again.
pub mod code {
    /// The request or the page is malformed.
    pub const MALFORMED: i32 = -1;
    /// A mandatory tag, a layout or an encoding that the kernel does not know.
    pub const UNSUPPORTED: i32 = -2;
    /// No memory.
    pub const NO_MEMORY: i32 = -3;
    /// No such handle or token.
    pub const BAD_HANDLE: i32 = -4;
    /// More rows or bytes than allowed.
    pub const LIMIT: i32 = -5;
    /// A version of an encoding that is too new.
    pub const VERSION: i32 = -6;
}

/// Alignment of every buffer, in either direction.
pub const ALIGN: u32 = 64;

/// Bytes of the record that `t1_check` writes.
pub const CHECK_BYTES: usize = 32;

/// Most bytes of an error's text.
pub const ERROR_BYTES_MAX: usize = 4096;

/// Output layout: validity, offsets of byte strings, values.
pub const LAYOUT_PLAIN: u16 = 0;
/// Output layout of a level: validity of its slots. Since minor version 2, as those that follow.
pub const LAYOUT_VALIDITY: u16 = 1;
/// Output layout of a level: the ends of its lists.
pub const LAYOUT_ENDS: u16 = 2;
/// Output layout of a level of lists that all have one length: no buffers.
pub const LAYOUT_CONSTANT_LENGTH: u16 = 3;

/// The output layouts of kernels that decode nested pages, as bits.
pub const LAYOUTS_NESTED: u32 =
    1 << LAYOUT_PLAIN | 1 << LAYOUT_VALIDITY | 1 << LAYOUT_ENDS | 1 << LAYOUT_CONSTANT_LENGTH;

const ENTRY_BYTES: usize = 8;
const MANDATORY: u16 = 1;
const INPUT_BYTES: usize = 16;
const HEADER_BYTES: usize = 48;
const NODE_BYTES: usize = 32;
const BUFFER_BYTES: usize = 16;
/// More nodes or buffers than any batch of this version has; parsing stops there.
const PARTS_MAX: u32 = 256;

/// Describes what is wrong with bytes of this interface, and at which byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// The field.
    pub what: &'static str,
    /// Its offset in the request or description.
    pub at: usize,
}

impl core::fmt::Display for Malformed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} at byte {}", self.what, self.at)
    }
}

/// Writes a request entry by entry.
#[derive(Debug, Default)]
pub struct RequestWriter {
    bytes: Vec<u8>,
}

impl RequestWriter {
    /// Removes all entries and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// The request so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a mandatory entry whose payload is the parts one after the other. Returns false, and writes nothing,
    /// if its length does not fit 32 bits.
    #[must_use]
    pub fn entry(&mut self, tag: u16, parts: &[&[u8]]) -> bool {
        self.push(tag, MANDATORY, parts)
    }

    /// Adds an entry that the kernel may ignore.
    #[must_use]
    pub fn optional(&mut self, tag: u16, parts: &[&[u8]]) -> bool {
        self.push(tag, 0, parts)
    }

    fn push(&mut self, tag: u16, flags: u16, parts: &[&[u8]]) -> bool {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let Ok(length) = u32::try_from(len) else {
            return false;
        };
        self.bytes.extend_from_slice(&tag.to_le_bytes());
        self.bytes.extend_from_slice(&flags.to_le_bytes());
        self.bytes.extend_from_slice(&length.to_le_bytes());
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        true
    }

    /// Appends an [`tag::INPUT`].
    pub fn input(&mut self, address: u32, len: u32, offset: u64) {
        let mut entry = [0; ENTRY_BYTES + INPUT_BYTES];
        entry[..2].copy_from_slice(&tag::INPUT.to_le_bytes());
        entry[2..4].copy_from_slice(&MANDATORY.to_le_bytes());
        entry[4..8].copy_from_slice(&(INPUT_BYTES as u32).to_le_bytes());
        entry[8..12].copy_from_slice(&address.to_le_bytes());
        entry[12..16].copy_from_slice(&len.to_le_bytes());
        entry[16..].copy_from_slice(&offset.to_le_bytes());
        // At once: a request has many of these.
        self.bytes.extend_from_slice(&entry);
    }

    /// Appends an entry of one u32.
    pub fn word(&mut self, tag: u16, value: u32) {
        let _fits = self.entry(tag, &[&value.to_le_bytes()]);
    }

    /// Appends an entry of one u64.
    pub fn wide(&mut self, tag: u16, value: u64) {
        let _fits = self.entry(tag, &[&value.to_le_bytes()]);
    }

    /// Appends an [`tag::SHARED`].
    pub fn shared(&mut self, shared: &SharedEntry) {
        let fields = [
            shared.kind,
            shared.width,
            shared.values.0,
            shared.values.1,
            shared.offsets.0,
            shared.offsets.1,
        ];
        let mut payload = [0; 32];
        for (at, field) in payload.as_chunks_mut().0.iter_mut().zip(fields) {
            *at = field.to_le_bytes();
        }
        payload[24..].copy_from_slice(&shared.len.to_le_bytes());
        let _fits = self.entry(tag::SHARED, &[&payload]);
    }
}

/// One entry of a request.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its tag.
    pub tag: u16,
    /// True if a kernel that does not know the tag must refuse the request.
    pub mandatory: bool,
    /// Its payload.
    pub payload: &'a [u8],
    /// Offset of the payload in the request.
    pub at: usize,
}

impl Entry<'_> {
    fn malformed(&self, what: &'static str) -> Malformed {
        Malformed { what, at: self.at }
    }

    /// The payload as one u32.
    ///
    /// # Errors
    /// Another length.
    pub fn word(&self) -> Result<u32, Malformed> {
        let bytes = self.payload.try_into();
        Ok(u32::from_le_bytes(
            bytes.map_err(|_| self.malformed("a u32"))?,
        ))
    }

    /// The payload as one u64.
    ///
    /// # Errors
    /// Another length.
    pub fn wide(&self) -> Result<u64, Malformed> {
        let bytes = self.payload.try_into();
        Ok(u64::from_le_bytes(
            bytes.map_err(|_| self.malformed("a u64"))?,
        ))
    }

    /// The payload as u32s.
    ///
    /// # Errors
    /// A length that is no multiple of 4.
    pub fn words(&self) -> Result<impl Iterator<Item = u32>, Malformed> {
        let (words, rest) = self.payload.as_chunks::<4>();
        match rest {
            [] => Ok(words.iter().map(|word| u32::from_le_bytes(*word))),
            _ => Err(self.malformed("a list of u32")),
        }
    }

    /// The payload of an [`tag::INPUT`].
    ///
    /// # Errors
    /// Another length.
    pub fn input(&self) -> Result<InputEntry, Malformed> {
        let ([address, len], offset) = match self.payload.as_chunks::<4>() {
            (words, []) if words.len() == 4 => ([words[0], words[1]], &self.payload[8..]),
            _ => return Err(self.malformed("an input of 16 bytes")),
        };
        Ok(InputEntry {
            address: u32::from_le_bytes(address),
            len: u32::from_le_bytes(len),
            offset: offset.try_into().map_or(0, u64::from_le_bytes),
        })
    }

    /// The payload of a [`tag::SHARED`].
    ///
    /// # Errors
    /// Another length.
    pub fn shared(&self) -> Result<SharedEntry, Malformed> {
        let (fields, len) = match self.payload.split_at_checked(24) {
            Some((fields, len)) if len.len() == 8 => (fields.as_chunks::<4>().0, len),
            _ => return Err(self.malformed("a shared buffer's 32 bytes")),
        };
        let field = |i: usize| fields.get(i).map_or(0, |word| u32::from_le_bytes(*word));
        Ok(SharedEntry {
            kind: field(0),
            width: field(1),
            values: (field(2), field(3)),
            offsets: (field(4), field(5)),
            len: len.try_into().map_or(0, u64::from_le_bytes),
        })
    }
}

/// One input: a block in the kernel's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputEntry {
    /// Address of its first byte.
    pub address: u32,
    /// Its length in bytes.
    pub len: u32,
    /// Where the block is in the page, in bytes. Kernels do not need it.
    pub offset: u64,
}

/// A decoded shared buffer (a dictionary's entries) that is in the kernel's memory while `t1_init` runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedEntry {
    /// 1 bits, 2 fixed width, 3 byte strings, as in META.
    pub kind: u32,
    /// Bytes of a value, for kind 2.
    pub width: u32,
    /// Address and length of packed bits, values or the strings' bytes.
    pub values: (u32, u32),
    /// Address and length of `len + 1` u32 offsets, for kind 3.
    pub offsets: (u32, u32),
    /// Number of values.
    pub len: u64,
}

/// The entries of a request, in order. After an error nothing follows.
#[derive(Debug, Clone)]
pub struct RequestEntries<'a> {
    request: &'a [u8],
    at: usize,
}

/// Reads a request.
pub fn entries(request: &[u8]) -> RequestEntries<'_> {
    RequestEntries { request, at: 0 }
}

impl<'a> Iterator for RequestEntries<'a> {
    type Item = Result<Entry<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.request.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return None;
        }
        let parsed = self.parse(rest);
        self.at = match &parsed {
            Ok(entry) => entry.at + entry.payload.len().next_multiple_of(8),
            Err(_) => self.request.len(),
        };
        Some(parsed)
    }
}

impl<'a> RequestEntries<'a> {
    fn parse(&self, rest: &'a [u8]) -> Result<Entry<'a>, Malformed> {
        let malformed = |what| Malformed { what, at: self.at };
        let (head, rest) = rest
            .split_first_chunk::<ENTRY_BYTES>()
            .ok_or(malformed("an entry's 8 bytes"))?;
        let flags = u16::from_le_bytes([head[2], head[3]]);
        if flags & !MANDATORY != 0 {
            return Err(malformed("an entry's flags"));
        }
        let len = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let payload = rest.get(..len).ok_or(malformed("an entry's length"))?;
        let padding = len
            .checked_next_multiple_of(8)
            .and_then(|end| rest.get(len..end))
            .ok_or(malformed("an entry's padding"))?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(malformed("an entry's padding"));
        }
        Ok(Entry {
            tag: u16::from_le_bytes([head[0], head[1]]),
            mandatory: flags & MANDATORY != 0,
            payload,
            at: self.at + ENTRY_BYTES,
        })
    }
}

/// The answer of `t1_check`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Tags that are honoured, as bits.
    pub tags: u64,
    /// Output layouts, as bits.
    pub layouts: u32,
    /// Rows of a batch that the kernel prefers.
    pub batch_rows: u32,
}

impl Capabilities {
    /// The record's bytes.
    pub fn to_bytes(self) -> [u8; CHECK_BYTES] {
        let mut out = [0; CHECK_BYTES];
        out[..8].copy_from_slice(&self.tags.to_le_bytes());
        out[8..12].copy_from_slice(&self.layouts.to_le_bytes());
        out[12..16].copy_from_slice(&self.batch_rows.to_le_bytes());
        out
    }

    /// Reads the record.
    pub fn parse(bytes: &[u8; CHECK_BYTES]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..] = *bytes;
        Self {
            tags: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            layouts: u32::from_le_bytes([i, j, k, l]),
            batch_rows: u32::from_le_bytes([m, n, o, p]),
        }
    }
}

/// One array of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrayNode {
    /// Number of items.
    pub length: u64,
    /// Number of null items, or -1 if they were not counted.
    pub null_count: i64,
    /// Index of its first buffer.
    pub first_buffer: u32,
    /// Its buffers: validity (length 0 where all are valid), offsets of byte strings, values; of a level its bits or
    /// ends.
    pub n_buffers: u16,
    /// Number of its child arrays, which follow it.
    pub n_children: u16,
    /// How its buffers are laid out.
    pub layout: u16,
}

/// The description of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchDescription {
    /// Tags of the request that were honoured, as bits.
    pub honoured: u64,
    /// Rows of the batch.
    pub rows: u64,
    /// Rows of the reader's batches before this one.
    pub first_row: u64,
    /// Arrays in pre-order.
    pub nodes: Vec<ArrayNode>,
    /// Address and length of each buffer.
    pub buffers: Vec<(u64, u64)>,
}

impl BatchDescription {
    /// Appends the description's bytes.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        let head = BatchHead {
            honoured: self.honoured,
            rows: self.rows,
            first_row: self.first_row,
        };
        write_batch(out, head, &self.nodes, &self.buffers);
    }

    /// Reads a description of exactly these bytes. Addresses are not looked at; every node's buffers and children
    /// exist.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let malformed = |what, at| Malformed { what, at };
        let word = |at: usize| -> Result<u32, Malformed> {
            let field = bytes.get(at..).and_then(|rest| rest.first_chunk());
            field
                .map(|field| u32::from_le_bytes(*field))
                .ok_or(malformed("a field", at))
        };
        let wide = |at: usize| -> Result<u64, Malformed> {
            Ok(u64::from(word(at)?) | u64::from(word(at + 4)?) << 32)
        };
        let (n_nodes, n_buffers) = (word(4)?, word(8)?);
        if n_nodes == 0 || n_nodes > PARTS_MAX || n_buffers > PARTS_MAX {
            return Err(malformed("the number of arrays and buffers", 4));
        }
        let nodes_end = HEADER_BYTES + NODE_BYTES * n_nodes as usize;
        let len = nodes_end + BUFFER_BYTES * n_buffers as usize;
        if bytes.len() != len || word(0)? as usize != len {
            return Err(malformed("the description's length", 0));
        }
        if word(12)? != 0 || wide(40)? != 0 {
            return Err(malformed("reserved fields", 12));
        }
        let mut nodes = Vec::with_capacity(n_nodes as usize);
        for at in (HEADER_BYTES..nodes_end).step_by(NODE_BYTES) {
            let (counts, layout) = (word(at + 20)?, word(at + 24)?);
            let node = ArrayNode {
                length: wide(at)?,
                null_count: wide(at + 8)? as i64,
                first_buffer: word(at + 16)?,
                n_buffers: counts as u16,
                n_children: (counts >> 16) as u16,
                layout: layout as u16,
            };
            if layout >> 16 != 0 || word(at + 28)? != 0 {
                return Err(malformed("reserved fields", at + 26));
            }
            let buffers_end = u64::from(node.first_buffer) + u64::from(node.n_buffers);
            let below = (nodes_end - at) / NODE_BYTES - 1;
            if buffers_end > u64::from(n_buffers) || usize::from(node.n_children) > below {
                return Err(malformed("an array's buffers or children", at + 16));
            }
            nodes.push(node);
        }
        let buffers = (nodes_end..len)
            .step_by(BUFFER_BYTES)
            .map(|at| Ok((wide(at)?, wide(at + 8)?)))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            honoured: wide(16)?,
            rows: wide(24)?,
            first_row: wide(32)?,
            nodes,
            buffers,
        })
    }
}

/// The part of a description that is about the batch as a whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchHead {
    /// Tags that were honoured, as bits.
    pub(crate) honoured: u64,
    pub(crate) rows: u64,
    /// Rows of earlier batches.
    pub(crate) first_row: u64,
}

/// Appends the bytes of a description: the batch, its arrays, address and length of each buffer.
pub(crate) fn write_batch(
    out: &mut Vec<u8>,
    head: BatchHead,
    nodes: &[ArrayNode],
    buffers: &[(u64, u64)],
) {
    let len = HEADER_BYTES + NODE_BYTES * nodes.len() + BUFFER_BYTES * buffers.len();
    let start = out.len();
    out.resize(start + len, 0);
    let mut places = out
        .get_mut(start..)
        .unwrap_or_default()
        .as_chunks_mut()
        .0
        .iter_mut();
    let mut put = |wide: u64| {
        if let Some(place) = places.next() {
            *place = wide.to_le_bytes();
        }
    };
    // Counts are at most a handful: a batch is one column.
    put(len as u64 | (nodes.len() as u64) << 32);
    put(buffers.len() as u64);
    for wide in [head.honoured, head.rows, head.first_row, 0] {
        put(wide);
    }
    for node in nodes {
        put(node.length);
        put(node.null_count as u64);
        let counts = u64::from(node.n_buffers) << 32 | u64::from(node.n_children) << 48;
        put(u64::from(node.first_buffer) | counts);
        put(node.layout.into());
    }
    for (address, len) in buffers {
        put(*address);
        put(*len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn description() -> BatchDescription {
        BatchDescription {
            honoured: TAGS_KNOWN,
            rows: 5,
            first_row: 1 << 40,
            nodes: vec![ArrayNode {
                length: 5,
                null_count: -1,
                first_buffer: 0,
                n_buffers: 2,
                n_children: 0,
                layout: LAYOUT_PLAIN,
            }],
            buffers: vec![(64, 1), (1 << 33, 40)],
        }
    }

    #[test]
    fn descriptions_come_back_and_every_prefix_is_refused() {
        let mut bytes = Vec::new();
        description().write_to(&mut bytes);
        assert_eq!(bytes.len(), 48 + 32 + 32);
        assert_eq!(BatchDescription::parse(&bytes), Ok(description()));
        for len in 0..bytes.len() {
            assert!(BatchDescription::parse(&bytes[..len]).is_err(), "{len}");
        }
        for at in [0, 4, 8, 12, 40, 48 + 16, 48 + 20, 48 + 22, 48 + 26, 48 + 28] {
            let mut bad = bytes.clone();
            bad[at] ^= 0x81;
            assert!(BatchDescription::parse(&bad).is_err(), "{at}");
        }
    }

    #[test]
    fn requests_come_back_entry_by_entry() {
        let mut request = RequestWriter::default();
        request.input(64, 100, 1 << 40);
        request.word(tag::BATCH_ROWS, 7);
        assert!(request.optional(99, &[b"abc", b"de"]));
        let shared = SharedEntry {
            kind: 3,
            width: 0,
            values: (1, 2),
            offsets: (3, 4),
            len: 5,
        };
        request.shared(&shared);
        let parsed: Vec<_> = entries(request.bytes()).collect::<Result<_, _>>().unwrap();
        let input = InputEntry {
            address: 64,
            len: 100,
            offset: 1 << 40,
        };
        assert_eq!(parsed[0].input(), Ok(input));
        assert_eq!(parsed[1].word(), Ok(7));
        assert!(parsed[1].mandatory && !parsed[2].mandatory);
        assert_eq!((parsed[2].tag, parsed[2].payload), (99, &b"abcde"[..]));
        assert_eq!(parsed[3].shared(), Ok(shared));
        assert!(parsed[2].word().is_err() && parsed[2].words().is_err());
        for len in 1..24 {
            let cut = entries(&request.bytes()[..len]).last().unwrap();
            assert!(cut.is_err(), "{len}");
        }
    }

    #[test]
    fn padding_and_flags_are_checked() {
        let mut request = RequestWriter::default();
        request.word(tag::BATCH_ROWS, 7);
        for at in [2, 3, 12] {
            let mut bad = request.bytes().to_vec();
            bad[at] = 0x80;
            assert!(entries(&bad).next().unwrap().is_err(), "{at}");
        }
    }
}
