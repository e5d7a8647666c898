//! The interface of an open file; each source file is thin, the layers below do the work.

mod audit;
mod cache;
mod capture;
#[cfg(feature = "certificate")]
mod certificate;
mod deleted;
mod element;
mod eraser;
mod file;
mod inspect;
mod path;
mod rows;
mod scan;
mod statistics;
mod take;
mod verify;

pub use audit::{Audit, AuditedColumn};
pub use cache::FileCache;
#[cfg(feature = "certificate")]
pub use certificate::CertificateCheck;
pub use eraser::{Eraser, recover, recover_with};
pub use file::File;
pub use inspect::{ColumnInspection, Inspection, KernelInspection};
pub use path::ElementPath;
pub use rows::Taken;
pub use scan::{Scan, ScanBuilder, ScanCancel};
pub use statistics::{ColumnStatistics, Precision, Statistics};
pub use take::TakeBuilder;
pub use verify::VerifyReport;
