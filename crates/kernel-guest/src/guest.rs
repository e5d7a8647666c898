//! The state of an instance: safe code over [`Memory`].

use alloc::rc::Rc;
use alloc::vec::Vec;

use tarsia_codec::{AlignedBuf, Registry, Scratch, Tree, ValueType};
use tarsia_structure::{Meta, PageDecoder, RawColumn};

use crate::abi::{Capabilities, ERROR_BYTES_MAX, LAYOUT_PLAIN, TAGS_KNOWN, code};
use crate::batch::Batch;
use crate::fault::{Failure, Fault, Result, outside};
use crate::memory::Memory;
use crate::reader::{BatchReader, value_bytes};
use crate::request::{BATCH_ROWS_PREFERRED, Request};

/// Released buffers that are kept for the next batch.
const FREE_BUFFERS_MAX: usize = if cfg!(feature = "nested") { 16 } else { 8 };

/// Smaller buffers are not worth keeping.
const KEPT_BYTES_MIN: usize = 4096;

/// Capabilities for flat pages that are not refused.
const CAPABILITIES: Capabilities = Capabilities {
    tags: TAGS_KNOWN,
    layouts: 1 << LAYOUT_PLAIN,
    batch_rows: BATCH_ROWS_PREFERRED,
};

enum Slot {
    Prepared(Rc<PageDecoder>),
    Reader(BatchReader),
    Batch(Batch),
}

/// Handles and tokens are indices of one list, plus 1; indices are used again.
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
        // 0 and negative numbers become indices beyond any list.
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

    /// Checks a page description and says how its pages can be decoded (*check*).
    ///
    /// # Errors
    /// A malformed description, an unknown encoding or version, a layout that this kernel does not decode.
    pub fn check(&self, meta: &[u8]) -> Result<Capabilities, Failure> {
        Ok(capabilities(&self.checked(meta)?))
    }

    /// Parses a description and checks that its encodings are known.
    fn checked(&self, meta: &[u8]) -> Result<Meta> {
        // Parameters of encodings are not checked here: that needs the page's shared buffers.
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
                    fault = fault.with_code(code::VERSION);
                }
                return Err(fault);
            }
            self.known(&tree.children)?;
        }
        Ok(())
    }

    /// Makes a reader for the rows that the request names, or prepares a page that later requests refer to; returns
    /// its handle (*init*).
    ///
    /// # Errors
    /// A malformed request, blocks that do not fit the page, rows that are in no input, an unknown mandatory tag.
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
        let mut new = BatchReader::new(memory, page, request)?;
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

    /// Decodes the next batch and returns its token; `None` at the end (*decode*).
    ///
    /// # Errors
    /// Errors of the decoders. The reader is at its end afterwards.
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
        let scratch = &mut self.scratch;
        #[cfg(feature = "nested")]
        let batch = match reader.page.levels() {
            [] => reader.decode(memory, scratch, &mut take),
            _ => crate::nested::decode(reader, memory, scratch, &mut take),
        };
        #[cfg(not(feature = "nested"))]
        let batch = reader.decode(memory, scratch, &mut take);
        match batch {
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

    /// Releases a batch and keeps its buffers for later ones.
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
            // If the text was cut inside a character, the rest of that character is removed: its continuation bytes
            // and its first byte.
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

/// Capabilities for pages with this description.
fn capabilities(_meta: &Meta) -> Capabilities {
    #[cfg(feature = "nested")]
    if !_meta.levels.is_empty() {
        return crate::nested::CAPABILITIES;
    }
    CAPABILITIES
}

/// A released buffer that is large enough and at most four times too large, else a fresh one.
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

/// The bodies of the exports: they return integers and write records to addresses. They are not inlined into the
/// exports. Those are compiled in the kernel's own crate, for speed alone, and would be ten times as large.
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

fn write_record(memory: &impl Memory, address: u32, bytes: &[u8]) -> Result<()> {
    match memory.write(address, bytes) {
        true => Ok(()),
        false => Err(outside("the record")),
    }
}
