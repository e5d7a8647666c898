//! Columns that are borrowed from the memory of a kernel (zero-copy).

use std::ops::Range;
use std::sync::Arc;

use tarsia_codec::ValueType;
use tarsia_kernel_guest::abi::tag;
use tarsia_structure::DecodedRows;

use crate::error::{Error, Result};
use crate::instance::{BatchPlace, Instance};
use crate::kernel::Kernel;
use crate::page::{KernelPage, Places, Rows};

/// A smaller column is copied instead of keeping an instance for it alone.
const BORROWED_BYTES_MIN: usize = 32 << 10;

/// A larger column would leave an instance too large to be kept idle, so the next one would need fresh memory.
const BORROWED_BYTES_MAX: usize = 32 << 20;

/// A column is copied if the memory of its instance is larger than this many times the column, plus this many bytes.
const MEMORY_PER_BORROWED_BYTE: usize = 8;
const MEMORY_BYTES_MORE: usize = 4 << 20;

/// An instance that is used for one column. It returns to its kernel when this is dropped. Nobody runs it until then,
/// so the borrowed memory cannot change, whatever the kernel does.
#[derive(Debug)]
struct Lease {
    kernel: Arc<Kernel>,
    instance: Option<Instance>,
    /// The reader, until it is at its end.
    handle: Option<i32>,
    /// The batch of all rows.
    batch: Option<BatchPlace>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.kernel.end_borrow();
        let Some(mut instance) = self.instance.take() else {
            return;
        };
        match (self.handle, &self.batch) {
            (_, Some(batch)) => instance.release_later(batch),
            // An instance that cannot close its reader is not worth keeping.
            (Some(handle), None) if instance.failed() || instance.close(handle).is_err() => return,
            _ => {}
        }
        self.kernel.give(instance);
    }
}

/// Most memory of an instance from which so many bytes are borrowed. Copied columns have no such limit.
fn memory_max(borrowed: usize) -> usize {
    match borrowed {
        BORROWED_BYTES_MIN.. => {
            borrowed.saturating_mul(MEMORY_PER_BORROWED_BYTE) + MEMORY_BYTES_MORE
        }
        _ => usize::MAX,
    }
}

/// All rows of a column as one batch, made by requests for one run of blocks after the other.
#[derive(Debug)]
pub struct Whole {
    lease: Lease,
    value_type: ValueType,
    rows: u32,
    bytes: u32,
}

impl Whole {
    /// Reserves room for `rows` rows and, for byte strings, `bytes` bytes; the first rows are of `page`. `None` if
    /// the rows should be decoded batch by batch: there are too many, the kernel cannot do it, or too many instances
    /// are borrowed from already.
    pub fn new(
        page: &KernelPage,
        value_type: ValueType,
        rows: usize,
        bytes: usize,
    ) -> Option<Self> {
        let output = match value_type {
            ValueType::Bits => rows.div_ceil(8),
            ValueType::Fixed(width) => rows.saturating_mul(width as usize),
            ValueType::Bytes => bytes.saturating_add(rows.saturating_mul(4)),
        };
        let (Ok(n_rows), Ok(n_bytes)) = (u32::try_from(rows), u32::try_from(bytes)) else {
            return None;
        };
        if output > BORROWED_BYTES_MAX
            || rows == 0
            || !page.makes_whole
            || !page.kernel.begin_borrow()
        {
            return None;
        }
        let mut lease = Lease {
            kernel: page.kernel.clone(),
            instance: None,
            handle: None,
            batch: None,
        };
        // There are no addresses for one more instance; batches go through one that exists.
        let Ok(instance) = page.kernel.take(Some(page.number), memory_max(output)) else {
            return None;
        };
        lease.instance = Some(instance);
        Some(Self {
            lease,
            value_type,
            rows: n_rows,
            bytes: n_bytes,
        })
    }

    /// Decodes rows of blocks and appends them.
    ///
    /// # Errors
    /// Errors of the kernel; more rows than there is room for; a page of another kernel.
    pub fn push(&mut self, page: &KernelPage, blocks: &[&[u8]], rows: Rows<'_>) -> Result<()> {
        let lease = &mut self.lease;
        if !Arc::ptr_eq(&page.kernel, &lease.kernel) {
            return Err(Error::Unsupported("pages of several kernels".into()));
        }
        let instance = match &mut lease.instance {
            Some(instance) if lease.batch.is_none() => instance,
            _ => return Err(Error::Failed("more rows than asked for".into())),
        };
        let mut request = page.request(instance, blocks, rows)?;
        match lease.handle {
            Some(handle) => request.word(tag::MORE, handle as u32),
            None => request.wide(
                tag::WHOLE,
                u64::from(self.rows) | u64::from(self.bytes) << 32,
            ),
        }
        let handle = instance.init(request)?;
        lease.handle = Some(handle);
        lease.batch = instance.decode(handle)?;
        Ok(())
    }

    /// The decoded rows.
    ///
    /// # Errors
    /// [`Error::Failed`] if the kernel decoded another number of rows.
    pub fn finish(self) -> Result<BorrowedColumn> {
        let Self {
            lease,
            value_type,
            rows,
            ..
        } = self;
        let (Some(instance), Some(batch)) = (&lease.instance, &lease.batch) else {
            return Err(Error::Failed("fewer rows than asked for".into()));
        };
        let places = Places::of(instance, batch, value_type)?;
        if places.rows != rows as usize {
            return Err(Error::Failed(format!(
                "{} rows instead of {rows}",
                places.rows
            )));
        }
        Ok(BorrowedColumn {
            lease: Arc::new(lease),
            value_type,
            places,
        })
    }
}

/// A column in the memory of an instance. The instance does not run as long as this or any part of it lives.
#[derive(Debug)]
pub struct BorrowedColumn {
    lease: Arc<Lease>,
    value_type: ValueType,
    places: Places,
}

impl BorrowedColumn {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.places.rows
    }

    /// True if it should be copied: it is small, or its instance has much more memory than the column needs.
    pub fn should_be_copied(&self) -> bool {
        let places = &self.places;
        let borrowed = places.validity.len() + places.offsets.len() + places.values.len();
        let memory = self
            .lease
            .instance
            .as_ref()
            .map_or(0, Instance::memory_bytes);
        borrowed < BORROWED_BYTES_MIN || memory > memory_max(borrowed)
    }

    /// The rows as slices, for copying. Offsets are checked here.
    ///
    /// # Errors
    /// [`Error::Failed`] for offsets that do not fit.
    pub fn view(&self) -> Result<DecodedRows<'_>> {
        let gone = || Error::Failed("an instance without memory".into());
        let instance = self.lease.instance.as_ref().ok_or_else(gone)?;
        self.places.view(instance, self.value_type)
    }

    /// The validity, one bit per row; empty if all are valid.
    pub fn validity(&self) -> BorrowedBytes {
        self.part(&self.places.validity)
    }

    /// For byte strings: `rows + 1` offsets (u32), which are not checked yet. Empty for other types.
    pub fn offsets(&self) -> BorrowedBytes {
        self.part(&self.places.offsets)
    }

    /// Packed bits, fixed-width values or the bytes of strings, with the length that the rows need.
    pub fn values(&self) -> BorrowedBytes {
        self.part(&self.places.values)
    }

    fn part(&self, range: &Range<usize>) -> BorrowedBytes {
        BorrowedBytes {
            lease: self.lease.clone(),
            range: range.clone(),
        }
    }
}

/// A part of a [`BorrowedColumn`].
#[derive(Debug, Clone)]
pub struct BorrowedBytes {
    lease: Arc<Lease>,
    range: Range<usize>,
}

impl AsRef<[u8]> for BorrowedBytes {
    /// The bytes. Address and content stay the same as long as this lives: nothing runs or drops the instance.
    fn as_ref(&self) -> &[u8] {
        let instance = self.lease.instance.as_ref();
        instance.map_or(&[], |instance| instance.bytes(&self.range))
    }
}
