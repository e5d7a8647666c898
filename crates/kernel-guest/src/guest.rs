//! The state of an instance: safe code over [`Memory`].

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use tarsia_codec::{
    AlignedBuf, Error, ErrorKind, OwnedValues, Registry, Scratch, Selection, Tree, ValueType,
};
use tarsia_structure::{Block, BlockHeader, Meta, PageDecoder, RawColumn, RawParts};
#[cfg(feature = "nested")]
use tarsia_structure::{Cut, RawLevel};

use crate::abi::{
    ArrayNode, Capabilities, ERROR_BYTES_MAX, Entry, LAYOUT_PLAIN, Malformed, SharedEntry,
    TAGS_KNOWN, code, entries, tag, write_batch,
};
use crate::memory::Memory;

/// Rows of a batch that stay in the second-level cache with their output.
const BATCH_ROWS_PREFERRED: u32 = 16_384;

/// Most bytes of a batch's buffers where the request says nothing.
const OUTPUT_BYTES_MAX: u64 = 1 << 30;

/// Released buffers that are kept for the next batch.
const FREE_BUFFERS_MAX: usize = if cfg!(feature = "nested") { 16 } else { 8 };

/// Smaller buffers are not worth keeping.
const KEPT_BYTES_MIN: usize = 4096;

/// The tags that this kernel knows, as bits.
const TAGS_HONOURED: u64 = match cfg!(feature = "nested") {
    true => TAGS_KNOWN | 1 << tag::CUTS,
    false => TAGS_KNOWN,
};

/// What every flat page that is not refused can have.
const CAPABILITIES: Capabilities = Capabilities {
    tags: TAGS_KNOWN,
    layouts: 1 << LAYOUT_PLAIN,
    batch_rows: BATCH_ROWS_PREFERRED,
};

/// Why a call failed: a code of [`code`](mod@code) and a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Below zero.
    pub code: i32,
    /// What is wrong and where.
    pub message: String,
}

/// A [`Failure`] behind one pointer: results inside this module are one word.
pub(crate) struct Fault(Box<Failure>);

impl Fault {
    #[cold]
    #[inline(never)]
    pub(crate) fn new(code: i32, message: &str) -> Self {
        Self::about(code, message, None)
    }

    /// A message with a number in it.
    #[cold]
    #[inline(never)]
    fn about(code: i32, before: &str, number: Option<(u64, &str)>) -> Self {
        let mut message = String::new();
        ErrorKind::push_text(&mut message, before);
        if let Some((number, after)) = number {
            ErrorKind::push_number(&mut message, number);
            ErrorKind::push_text(&mut message, after);
        }
        Self(Box::new(Failure { code, message }))
    }
}

impl From<Malformed> for Fault {
    #[cold]
    #[inline(never)]
    fn from(malformed: Malformed) -> Self {
        let mut message = String::new();
        ErrorKind::push_text(&mut message, "request: ");
        ErrorKind::push_text(&mut message, malformed.what);
        ErrorKind::push_text(&mut message, " at byte ");
        Self::about(code::MALFORMED, &message, Some((malformed.at as u64, "")))
    }
}

impl From<Error> for Fault {
    #[cold]
    #[inline(never)]
    fn from(error: Error) -> Self {
        let code = match error.kind() {
            ErrorKind::Unsupported { .. } => code::UNSUPPORTED,
            ErrorKind::LimitExceeded { .. } => code::LIMIT,
            _ => code::MALFORMED,
        };
        let mut message = String::new();
        error.kind().describe(&mut message);
        Self(Box::new(Failure { code, message }))
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        *fault.0
    }
}

pub(crate) type Result<T, E = Fault> = core::result::Result<T, E>;

/// One run of decoded rows, which the guest holds until it is released.
#[derive(Debug)]
pub struct Batch {
    pub(crate) parts: RawParts,
    pub(crate) description: Vec<u8>,
    #[cfg(feature = "nested")]
    pub(crate) levels: Vec<RawLevel>,
}

impl Batch {
    /// The description, in the form of [`crate::abi::BatchDescription`].
    pub fn description(&self) -> &[u8] {
        &self.description
    }

    /// Those of the levels of nested rows, then validity, offsets of byte strings, values: as the description lists them, empty where there
    /// are none.
    pub fn buffers(&self) -> Vec<&[u8]> {
        let (buffers, n) = buffers_of(&self.parts);
        let items = buffers.into_iter().take(n);
        #[cfg(feature = "nested")]
        let items = crate::nested::buffers_of(&self.levels).chain(items);
        items.collect()
    }
}

/// The buffers of a batch and how many they are: two, or three for byte strings.
pub(crate) fn buffers_of(parts: &RawParts) -> ([&[u8]; 3], usize) {
    let validity_bytes = parts.rows.div_ceil(8);
    let validity = parts.validity.as_deref().unwrap_or_default();
    let validity = validity.get(..validity_bytes).unwrap_or_default();
    let values = parts.values.get(..parts.values_len).unwrap_or_default();
    if parts.offsets.is_empty() {
        return ([validity, values, &[]], 2);
    }
    let offsets = parts.offsets.get(..(parts.rows + 1) * 4);
    ([validity, offsets.unwrap_or_default(), values], 3)
}

pub(crate) struct Input {
    address: u32,
    len: u32,
    rows: u32,
    first_row: u64,
}

/// Rows wanted of one input.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    input: usize,
    /// Whether the rows are named by indices, `start ..` of the reader's list; else they are the input's rows `start ..`.
    pub(crate) by_index: bool,
    start: u32,
    len: u32,
}

pub(crate) struct Reader {
    pub(crate) page: Rc<PageDecoder>,
    inputs: Vec<Input>,
    /// What is still to be decoded, from `next_piece` on.
    pieces: Vec<Piece>,
    next_piece: usize,
    indices: Vec<u32>,
    /// The pieces of the batch at hand.
    pub(crate) batch: Vec<Piece>,
    batch_rows: u32,
    pub(crate) output_bytes_max: u64,
    pub(crate) honoured: u64,
    pub(crate) rows_done: u64,
    #[cfg(feature = "nested")]
    pub(crate) cuts: Vec<(usize, Cut)>,
    /// What all rows go to where they are to be one batch, until it is full.
    whole: Option<RawColumn>,
}

enum Slot {
    Prepared(Rc<PageDecoder>),
    Reader(Reader),
    Batch(Batch),
}

/// Handles and tokens are places in one list; places are used again.
struct Slab {
    slots: Vec<Option<Slot>>,
}

impl Slab {
    fn insert(&mut self, value: Slot) -> Result<i32> {
        let free = self.slots.iter().position(Option::is_none);
        let place = free.unwrap_or(self.slots.len());
        // From 1: 0 is never a handle.
        let number = i32::try_from(place + 1);
        let number = number.map_err(|_| Fault::new(code::NO_MEMORY, "too many handles"))?;
        match self.slots.get_mut(place) {
            Some(slot) => *slot = Some(value),
            None => self.slots.push(Some(value)),
        }
        Ok(number)
    }

    fn slot(&mut self, number: i32) -> Option<&mut Option<Slot>> {
        // Zero and numbers below become places that no list has.
        self.slots.get_mut((number as usize).wrapping_sub(1))
    }

    fn get_mut(&mut self, number: i32) -> Option<&mut Slot> {
        self.slot(number)?.as_mut()
    }
}

/// An instance of a kernel.
pub struct Guest {
    registry: Registry,
    slots: Slab,
    /// Released buffers for the next batches, and empty ones.
    free: [AlignedBuf; FREE_BUFFERS_MAX],
    scratch: Scratch,
    error: Vec<u8>,
}

impl Guest {
    /// A kernel for these encodings.
    pub fn new(registry: Registry) -> Self {
        Self {
            registry,
            slots: Slab { slots: Vec::new() },
            free: Default::default(),
            scratch: Scratch::new(),
            error: Vec::new(),
        }
    }

    /// *check*: whether pages with this description can be decoded, and how.
    ///
    /// # Errors
    /// What the description or an encoding's own *check* refuses.
    pub fn check(&self, meta: &[u8]) -> Result<Capabilities, Failure> {
        Ok(capabilities(&self.checked(meta)?))
    }

    /// A description whose encodings are known.
    fn checked(&self, meta: &[u8]) -> Result<Meta> {
        // Page decoders without their shared buffers exist as far as they can be checked: every encoding looks at its parameters.
        let meta = Meta::parse(meta)?;
        #[cfg(not(feature = "nested"))]
        if !meta.levels.is_empty() {
            return Err(Fault::new(code::UNSUPPORTED, "a nested page"));
        }
        #[cfg(feature = "nested")]
        for level in &meta.levels {
            self.known(level.trees())?;
        }
        for layer in &meta.layers {
            self.known(&layer.trees)?;
        }
        self.known(&meta.trees)?;
        Ok(meta)
    }

    fn known(&self, trees: &[Tree]) -> Result<()> {
        for tree in trees {
            if let Err(error) = self.registry.encoding(tree) {
                let mut fault = Fault::from(error);
                let known = self.registry.encodings();
                if known.iter().any(|known| known.id() == tree.id) {
                    fault.0.code = code::VERSION;
                }
                return Err(fault);
            }
            self.known(&tree.children)?;
        }
        Ok(())
    }

    /// *init*: a handle for the rows that the request describes, or for a page that later requests refer to.
    ///
    /// # Errors
    /// Malformed requests, blocks that do not fit the page, rows that no input holds, unknown mandatory tags.
    pub fn init(&mut self, memory: &impl Memory, request: &[u8]) -> Result<i32, Failure> {
        Ok(self.try_init(memory, request)?)
    }

    fn try_init(&mut self, memory: &impl Memory, request: &[u8]) -> Result<i32> {
        let request = Request::parse(memory, request)?;
        let page = match (request.prepared, request.meta) {
            (Some(handle), None) if request.shared.is_empty() => {
                match self.slots.get_mut(handle as i32) {
                    Some(Slot::Prepared(page)) => page.clone(),
                    _ => return Err(Fault::new(code::BAD_HANDLE, "no such prepared page")),
                }
            }
            (None, Some(meta)) => {
                let meta = self.checked(meta)?;
                Rc::new(PageDecoder::new(&self.registry, &meta, &request.shared)?)
            }
            _ => {
                let what = "either a description with its shared buffers or a prepared page";
                return Err(Fault::new(code::MALFORMED, what));
            }
        };
        if request.inputs.is_empty() {
            return self.slots.insert(Slot::Prepared(page));
        }
        let (whole, more) = (request.whole, request.more);
        let mut new = Reader::new(memory, page, request)?;
        match (whole, more) {
            (None, None) => {}
            (Some((rows, bytes)), None) => {
                #[cfg(feature = "nested")]
                if !new.page.levels().is_empty() {
                    return Err(Fault::new(code::UNSUPPORTED, "nested rows as a whole"));
                }
                let value_type = new.page.value_type();
                let needed = match value_type {
                    ValueType::Bytes => u64::from(bytes),
                    other => value_bytes(other, rows),
                };
                new.check_output(needed)?;
                let take = &mut |len: usize| recycled(&mut self.free, len);
                let raw = RawColumn::new(value_type, rows as usize, bytes as usize, take)?;
                new.whole = Some(raw);
            }
            (None, Some(handle)) => {
                return match self.slots.get_mut(handle as i32) {
                    Some(Slot::Reader(old)) if old.whole.is_some() => {
                        new.whole = old.whole.take();
                        *old = new;
                        Ok(handle as i32)
                    }
                    _ => Err(Fault::new(code::BAD_HANDLE, "no reader that wants more")),
                };
            }
            (Some(_), Some(_)) => {
                let what = "both the first and a later part of a whole";
                return Err(Fault::new(code::MALFORMED, what));
            }
        }
        self.slots.insert(Slot::Reader(new))
    }

    /// *decode*: the token of the next batch, or `None` at the end.
    ///
    /// # Errors
    /// What the decoders refuse. The reader is at its end then.
    pub fn decode(&mut self, memory: &impl Memory, handle: i32) -> Result<Option<i32>, Failure> {
        let token = self.try_decode(memory, handle)?;
        Ok((token != 0).then_some(token))
    }

    /// 0 is the end.
    fn try_decode(&mut self, memory: &impl Memory, handle: i32) -> Result<i32> {
        let Some(Slot::Reader(reader)) = self.slots.get_mut(handle) else {
            return Err(Fault::new(code::BAD_HANDLE, "no such reader"));
        };
        let free = &mut self.free;
        let mut take = |len: usize| recycled(free, len);
        let is_whole = reader.whole.is_some();
        match reader.decode(memory, &mut self.scratch, &mut take) {
            // Nothing follows: the batch takes the reader's place.
            Ok(Some(batch)) if is_whole => {
                if let Some(slot) = self.slots.slot(handle) {
                    *slot = Some(Slot::Batch(batch));
                }
                Ok(handle)
            }
            Ok(Some(batch)) => self.slots.insert(Slot::Batch(batch)),
            Ok(None) => Ok(0),
            Err(fault) => {
                reader.next_piece = usize::MAX;
                Err(fault)
            }
        }
    }

    /// A batch that is not released yet.
    pub fn batch(&mut self, token: i32) -> Option<&Batch> {
        match self.slots.get_mut(token) {
            Some(Slot::Batch(batch)) => Some(batch),
            _ => None,
        }
    }

    /// Takes a batch's buffers back.
    ///
    /// # Errors
    /// No such token.
    pub fn release(&mut self, token: i32) -> Result<(), Failure> {
        Ok(self.try_release(token)?)
    }

    fn try_release(&mut self, token: i32) -> Result<()> {
        match self.slots.slot(token) {
            Some(slot @ Some(Slot::Batch(_))) => {
                if let Some(Slot::Batch(batch)) = slot.take() {
                    #[cfg(feature = "nested")]
                    for mut level in batch.levels {
                        self.keep(level.take_ends());
                        self.keep(level.take_validity().unwrap_or_default());
                    }
                    let parts = batch.parts;
                    self.keep(parts.values);
                    self.keep(parts.offsets);
                    self.keep(parts.validity.unwrap_or_default());
                }
                Ok(())
            }
            _ => Err(Fault::new(code::BAD_HANDLE, "no such batch")),
        }
    }

    fn keep(&mut self, buffer: AlignedBuf) {
        let empty = self.free.iter_mut().find(|kept| kept.capacity() == 0);
        if let Some(empty) = empty
            && buffer.capacity() >= KEPT_BYTES_MIN
        {
            *empty = buffer;
        }
    }

    /// Drops a reader or a prepared page. Readers made from it and batches that are not released stay.
    ///
    /// # Errors
    /// No such handle.
    pub fn close(&mut self, handle: i32) -> Result<(), Failure> {
        Ok(self.try_close(handle)?)
    }

    fn try_close(&mut self, handle: i32) -> Result<()> {
        match self.slots.slot(handle) {
            Some(slot @ Some(Slot::Prepared(_) | Slot::Reader(_))) => {
                *slot = None;
                Ok(())
            }
            _ => Err(Fault::new(code::BAD_HANDLE, "no such handle")),
        }
    }

    #[cold]
    #[inline(never)]
    fn fail(&mut self, fault: Fault) -> i32 {
        let failure = Failure::from(fault);
        self.error = failure.message.into_bytes();
        self.error.truncate(ERROR_BYTES_MAX);
        if self.error.len() == ERROR_BYTES_MAX {
            // What was cut inside of a character loses all of it: continuation bytes, and the byte in front of them.
            while self.error.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
        }
        failure.code
    }

    fn done(&mut self, result: Result<i32>) -> i32 {
        match result {
            Ok(number) => number,
            Err(fault) => self.fail(fault),
        }
    }
}

/// What pages with this description can have.
fn capabilities(_meta: &Meta) -> Capabilities {
    #[cfg(feature = "nested")]
    if !_meta.levels.is_empty() {
        return crate::nested::CAPABILITIES;
    }
    CAPABILITIES
}

/// Released memory that is large enough and not more than four times too large, else fresh.
fn recycled(free: &mut [AlignedBuf], len: usize) -> AlignedBuf {
    let fits = |kept: &&mut AlignedBuf| kept.capacity() >= len && kept.capacity() / 4 <= len;
    match free.iter_mut().find(fits) {
        Some(kept) => {
            let mut buffer = core::mem::take(kept);
            buffer.reset_len(len);
            buffer
        }
        None => AlignedBuf::zeroed(len),
    }
}

/// The exports' bodies: results as integers, records written through addresses. They are not inlined into the exports, which belong to
/// the kernel's own crate and so are compiled for speed alone: with all that is inlined in turn they would be ten times as large.
impl Guest {
    /// `t1_check`.
    pub fn export_check(&mut self, memory: &impl Memory, meta: u32, len: u32, out: u32) -> i32 {
        let checked = match memory.bytes(meta, len) {
            Some(meta) => self.checked(meta),
            None => Err(outside("the description")),
        };
        let written = match checked {
            Ok(meta) => write_record(memory, out, &capabilities(&meta).to_bytes()),
            Err(fault) => Err(fault),
        };
        self.done(written.map(|()| 0))
    }

    /// `t1_init`.
    pub fn export_init(&mut self, memory: &impl Memory, request: u32, len: u32) -> i32 {
        let result = match memory.bytes(request, len) {
            Some(request) => self.try_init(memory, request),
            None => Err(outside("the request")),
        };
        self.done(result)
    }

    /// `t1_decode`: writes address and length of the description, and the token.
    pub fn export_decode(&mut self, memory: &impl Memory, handle: i32, out: u32) -> i32 {
        let result = self.try_decode(memory, handle);
        let result = result.and_then(|token| match self.batch(token) {
            None => Ok(0),
            Some(batch) => {
                let description = batch.description();
                let mut record = [0; 12];
                let address = description.as_ptr() as usize as u32;
                let words = [address, description.len() as u32, token as u32];
                for (to, word) in record.as_chunks_mut().0.iter_mut().zip(words) {
                    *to = word.to_le_bytes();
                }
                write_record(memory, out, &record).map(|()| 1)
            }
        });
        self.done(result)
    }

    /// `t1_release`.
    #[inline(never)]
    pub fn export_release(&mut self, token: i32) -> i32 {
        let result = self.try_release(token).map(|()| 0);
        self.done(result)
    }

    /// `t1_close`.
    #[inline(never)]
    pub fn export_close(&mut self, handle: i32) -> i32 {
        let result = self.try_close(handle).map(|()| 0);
        self.done(result)
    }

    /// `t1_error`: writes address and length of the last error's text.
    pub fn export_error(&mut self, memory: &impl Memory, out: u32) -> i32 {
        let mut record = [0; 8];
        let (address, len) = record.split_at_mut(4);
        address.copy_from_slice(&(self.error.as_ptr() as usize as u32).to_le_bytes());
        len.copy_from_slice(&(self.error.len() as u32).to_le_bytes());
        match memory.write(out, &record) {
            true => 0,
            false => code::MALFORMED,
        }
    }
}

#[cold]
#[inline(never)]
fn outside(what: &str) -> Fault {
    let mut message = String::new();
    ErrorKind::push_text(&mut message, what);
    ErrorKind::push_text(&mut message, " lies outside the kernel's memory");
    Fault::new(code::MALFORMED, &message)
}

fn write_record(memory: &impl Memory, address: u32, bytes: &[u8]) -> Result<()> {
    match memory.write(address, bytes) {
        true => Ok(()),
        false => Err(outside("the record")),
    }
}

/// A parsed request.
struct Request<'a> {
    inputs: Vec<Input>,
    rows: Option<u64>,
    meta: Option<&'a [u8]>,
    shared: Vec<Arc<OwnedValues>>,
    batch_rows: u32,
    ranges: Option<Entry<'a>>,
    selection: Option<Entry<'a>>,
    output_bytes_max: u64,
    prepared: Option<u32>,
    whole: Option<(u32, u32)>,
    more: Option<u32>,
    #[cfg(feature = "nested")]
    cuts: Option<Entry<'a>>,
    honoured: u64,
}

impl<'a> Request<'a> {
    fn parse(memory: &impl Memory, bytes: &'a [u8]) -> Result<Self> {
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
            let number = |after| Some((entry.tag.into(), after));
            if request.honoured & bit != 0 && !repeats {
                let again = number(" occurs twice");
                return Err(Fault::about(code::MALFORMED, "tag ", again));
            }
            match entry.tag {
                tag::INPUT => {
                    let (address, len, _) = entry.input()?;
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
                    let unknown = number(" of the request");
                    return Err(Fault::about(code::UNSUPPORTED, "tag ", unknown));
                }
                _ => {}
            }
            request.honoured |= bit;
        }
        Ok(request)
    }
}

/// A copy of a shared buffer that the host laid into memory, checked.
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
    // Decoders index into it: what does not fit together is refused here.
    values.as_values()?;
    Ok(values)
}

impl Reader {
    fn new(memory: &impl Memory, page: Rc<PageDecoder>, request: Request<'_>) -> Result<Self> {
        let mut reader = Self {
            page,
            inputs: request.inputs,
            pieces: Vec::new(),
            next_piece: 0,
            indices: Vec::new(),
            batch: Vec::new(),
            batch_rows: request.batch_rows,
            output_bytes_max: request.output_bytes_max,
            honoured: request.honoured,
            rows_done: 0,
            #[cfg(feature = "nested")]
            cuts: crate::nested::cuts_of(request.cuts.as_ref())?,
            whole: None,
        };
        let mut rows = 0u64;
        for input in &mut reader.inputs {
            // The rest of the block is checked when it is decoded.
            input.rows = BlockHeader::parse(input.bytes(memory)?)?.present_rows;
            input.first_row = rows;
            rows += u64::from(input.rows);
        }
        if request.rows.is_some_and(|said| said != rows) {
            let number = Some((rows, " rows, not as many as the request says"));
            return Err(Fault::about(code::MALFORMED, "the inputs hold ", number));
        }
        match (&request.ranges, &request.selection) {
            (None, None) => reader.want(0, rows)?,
            (Some(ranges), None) => {
                let mut words = ranges.words()?;
                let mut last = 0;
                while let Some(start) = words.next() {
                    let len = words.next().ok_or_else(|| unordered(start))?;
                    let end = u64::from(start) + u64::from(len);
                    if u64::from(start) < last || end > rows {
                        return Err(unordered(start));
                    }
                    last = end;
                    reader.want(start.into(), len.into())?;
                }
            }
            (None, Some(selection)) => reader.select(selection, rows)?,
            (Some(_), Some(_)) => {
                let what = "row ranges and a selection in one request";
                return Err(Fault::new(code::MALFORMED, what));
            }
        }
        Ok(reader)
    }

    /// Index of the input that holds a row.
    fn input_of(&self, row: u64) -> usize {
        // Inputs without rows have the first row of the next one; the last of equal ones holds it.
        let after = self.inputs.partition_point(|input| input.first_row <= row);
        after.saturating_sub(1)
    }

    /// Adds the rows `start .. start + len`, which exist.
    fn want(&mut self, start: u64, len: u64) -> Result<()> {
        let (mut row, end) = (start, start + len);
        let mut at = self.input_of(row);
        while row < end {
            let Some(input) = self.inputs.get(at) else {
                return Err(unordered(u32::MAX));
            };
            let upto = end.min(input.end());
            if upto > row {
                self.pieces.push(Piece {
                    input: at,
                    by_index: false,
                    // Inside a block, whose rows are counted in 32 bits.
                    start: (row - input.first_row) as u32,
                    len: (upto - row) as u32,
                });
                row = upto;
            }
            at += 1;
        }
        Ok(())
    }

    fn select(&mut self, selection: &Entry<'_>, rows: u64) -> Result<()> {
        let mut last = 0;
        // The rows of the input at hand.
        let (mut first_row, mut end) = (0, 0);
        self.indices.reserve(selection.payload.len() / 4);
        for row in selection.words()? {
            if row < last || u64::from(row) >= rows {
                return Err(unordered(row));
            }
            last = row;
            if u64::from(row) >= end {
                let at = self.input_of(row.into());
                let Some(input) = self.inputs.get(at) else {
                    return Err(unordered(row));
                };
                (first_row, end) = (input.first_row, input.end());
                self.pieces.push(Piece {
                    input: at,
                    by_index: true,
                    // A request of 4 GiB has fewer indices than that.
                    start: self.indices.len() as u32,
                    len: 0,
                });
            }
            if let Some(piece) = self.pieces.last_mut() {
                piece.len += 1;
            }
            self.indices.push((u64::from(row) - first_row) as u32);
        }
        Ok(())
    }

    /// Moves the pieces of the next batch to `self.batch`, cut at the batch's end, and says how many rows they have.
    fn next_batch(&mut self) -> u32 {
        self.batch.clear();
        let mut room = self.batch_rows;
        while let Some(piece) = self.pieces.get_mut(self.next_piece) {
            let len = piece.len.min(room);
            if len == 0 {
                break;
            }
            self.batch.push(Piece { len, ..*piece });
            room -= len;
            piece.start += len;
            piece.len -= len;
            if piece.len == 0 {
                self.next_piece += 1;
            }
        }
        self.batch_rows - room
    }

    /// The indices of a piece that has some.
    fn indices(&self, piece: &Piece) -> &[u32] {
        let from = self.indices.get(piece.start as usize..);
        let indices = from.and_then(|indices| indices.get(..piece.len as usize));
        indices.unwrap_or_default()
    }

    fn decode(
        &mut self,
        memory: &impl Memory,
        scratch: &mut Scratch,
        take: &mut dyn FnMut(usize) -> AlignedBuf,
    ) -> Result<Option<Batch>> {
        if let Some(mut raw) = self.whole.take() {
            self.batch_rows = u32::MAX;
            self.next_batch();
            self.push_batch(memory, &mut raw, scratch, take)?;
            if raw.is_full() {
                return Ok(Some(self.finish(raw)));
            }
            self.whole = Some(raw);
            return Ok(None);
        }
        let rows = self.next_batch();
        if rows == 0 {
            return Ok(None);
        }
        #[cfg(feature = "nested")]
        if !self.page.levels().is_empty() {
            return self.decode_nested(memory, rows, scratch, take).map(Some);
        }
        let bytes = self.output_bytes(memory, rows)?;
        self.check_output(bytes)?;
        let value_type = self.page.value_type();
        let mut raw = RawColumn::new(value_type, rows as usize, bytes as usize, take)?;
        self.push_batch(memory, &mut raw, scratch, take)?;
        Ok(Some(self.finish(raw)))
    }

    fn check_output(&self, bytes: u64) -> Result<()> {
        if bytes > self.output_bytes_max {
            let number = Some((bytes, " bytes, more than the request allows"));
            return Err(Fault::about(code::LIMIT, "a batch of ", number));
        }
        Ok(())
    }

    /// Decodes the pieces of the batch at hand behind what `raw` holds.
    fn push_batch(
        &self,
        memory: &impl Memory,
        raw: &mut RawColumn,
        scratch: &mut Scratch,
        take: &mut dyn FnMut(usize) -> AlignedBuf,
    ) -> Result<()> {
        for (number, piece) in self.batch.iter().enumerate() {
            let input = self.input(piece)?;
            let selection = self.selection(piece, input);
            let block = parse_block(&self.page, input.bytes(memory)?)?;
            raw.push(&self.page, &block, selection, scratch, take)
                .map_err(|error| in_piece(number, error))?;
        }
        Ok(())
    }

    /// The rows of a piece, as decoders are told.
    #[inline(always)]
    pub(crate) fn selection(&self, piece: &Piece, input: &Input) -> Selection<'_> {
        match piece {
            Piece { by_index: true, .. } => Selection::Indices(self.indices(piece)),
            Piece { start: 0, len, .. } if *len == input.rows => Selection::All,
            Piece { start, len, .. } => Selection::Range {
                start: *start,
                len: *len,
            },
        }
    }

    /// The batch of what was decoded, with its description.
    fn finish(&mut self, raw: RawColumn) -> Batch {
        let null_count = raw.null_count();
        let parts = raw.finish();
        let rows = parts.rows as u64;
        let (buffers, n_buffers) = buffers_of(&parts);
        let places = buffers.map(|buffer| (buffer.as_ptr() as usize as u64, buffer.len() as u64));
        let node = ArrayNode {
            length: rows,
            null_count: null_count as i64,
            first_buffer: 0,
            n_buffers: n_buffers as u16,
            n_children: 0,
            layout: LAYOUT_PLAIN,
        };
        let mut description = Vec::new();
        let places = places.get(..n_buffers).unwrap_or_default();
        let rows_said = (self.honoured, rows, self.rows_done);
        write_batch(&mut description, rows_said, &[node], places);
        self.rows_done += rows;
        Batch {
            parts,
            description,
            #[cfg(feature = "nested")]
            levels: Vec::new(),
        }
    }

    /// Bytes of the batch's values, at most.
    pub(crate) fn output_bytes(&self, memory: &impl Memory, rows: u32) -> Result<u64> {
        match self.page.value_type() {
            ValueType::Bytes => {
                let mut bytes = 0u64;
                for piece in &self.batch {
                    let header = BlockHeader::parse(self.input(piece)?.bytes(memory)?)?;
                    let repeats = match piece.by_index {
                        true => Selection::Indices(self.indices(piece)).repeats(),
                        false => 1,
                    };
                    let more = u64::from(header.decoded_bytes).saturating_mul(repeats);
                    bytes = bytes.saturating_add(more);
                }
                Ok(bytes)
            }
            other => Ok(value_bytes(other, rows)),
        }
    }

    pub(crate) fn input(&self, piece: &Piece) -> Result<&Input> {
        let input = self.inputs.get(piece.input);
        input.ok_or_else(|| unordered(piece.start))
    }
}

/// Bytes of `rows` values that are no byte strings.
fn value_bytes(value_type: ValueType, rows: u32) -> u64 {
    match value_type {
        ValueType::Fixed(width) => u64::from(rows) * u64::from(width),
        _ => u64::from(rows.div_ceil(8)),
    }
}

impl Input {
    /// The row behind its last one.
    fn end(&self) -> u64 {
        self.first_row + u64::from(self.rows)
    }

    pub(crate) fn bytes<'a>(&self, memory: &'a impl Memory) -> Result<&'a [u8]> {
        let bytes = memory.bytes(self.address, self.len);
        bytes.ok_or_else(|| outside("an input"))
    }
}

#[cold]
#[inline(never)]
pub(crate) fn in_piece(number: usize, error: Error) -> Fault {
    let Failure { code, message } = Fault::from(error).into();
    let mut after = String::new();
    ErrorKind::push_text(&mut after, ": ");
    ErrorKind::push_text(&mut after, &message);
    Fault::about(code, "piece ", Some((number as u64, &after)))
}

#[cold]
#[inline(never)]
fn unordered(row: u32) -> Fault {
    let number = Some((row.into(), " is out of order or beyond the inputs"));
    Fault::about(code::MALFORMED, "row ", number)
}

/// A block whose rows are what its header says: the block table is the host's.
pub(crate) fn parse_block<'a>(page: &PageDecoder, bytes: &'a [u8]) -> Result<Block<'a>> {
    let rows = BlockHeader::parse(bytes)?.logical_rows;
    Ok(Block::parse(bytes, &page.expect(rows))?)
}
