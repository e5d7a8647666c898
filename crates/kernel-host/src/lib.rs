//! The host of kernels: loads Wasm modules and lets them decode pages.
//!
//! `docs/spec/kernel.md` is the interface. A [`Kernel`] is a compiled module with its idle instances; it is shared by
//! all files that carry the same bytes. A [`KernelPage`] is one page description (and its shared buffers) for that
//! kernel. Blocks go in, batches of validity, offsets and values come out, as views of the kernel's memory for the
//! length of a call.
//!
//! ```no_run
//! use tarsia_codec::ValueType;
//! use tarsia_kernel_host::{Kernel, KernelPage, Rows};
//! # fn main() -> tarsia_kernel_host::Result<()> {
//! # let (wasm, meta, block) = (vec![], vec![], vec![]);
//! let kernel = Kernel::load(&wasm)?;
//! let page = KernelPage::new(kernel, &meta, &[])?;
//! page.decode(ValueType::Fixed(4), &[&block], Rows::All { len: 100 }, 1 << 30, &mut |batch| {
//!     println!("{} rows, {} bytes of values", batch.rows, batch.values.len());
//!     Ok(())
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! # Trust
//! A kernel has no imports, its memory is limited, an instance that traps is dropped, and every address, length and
//! row count that it returns is checked. Its running time is not limited: there is no deadline, so a caller should
//! load only modules whose digest it trusts, as `tarsia` does.
//!
//! # What this crate does not do
//! It reads no file and checks no checksums. It does not check values: UTF-8 is checked where Arrow arrays are made.
#![forbid(unsafe_code)]

mod error;
mod instance;
mod kernel;
mod limits;
mod page;
mod whole;

pub use error::{Error, Result};
pub use kernel::{Kernel, MODULE_BYTES_MAX, check, decompress, digest};
pub use page::{KernelPage, NestedRows, Rows};
pub use tarsia_structure::{Cut, DecodedForm, DecodedRows, DecodedSlots};
pub use whole::{BorrowedBytes, BorrowedColumn, Whole};
