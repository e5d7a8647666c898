//! An open file: its bytes, its metadata, its decoders, and how it is read.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::SchemaRef;

use tarsia_compliance::RowSet;

use super::costs::Costs;
use crate::decode::{ColumnRead, DecoderCache, Decoding};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Plan, Planner};
use crate::session::Session;
use crate::source::{Source, run};
use crate::table::{Catalog, Column, Estimates, FileMetadata, Head, Projection, TableField};

/// The four parts of an open file, each of which its own layer knows.
pub(crate) struct OpenFile {
    pub(crate) source: Source,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) decoders: Arc<DecoderCache>,
    pub(crate) session: Session,
    /// Costs of the filters of its scans.
    pub(super) costs: Costs,
}

/// Knowledge of one version of a file, which does not depend on who has it open. Whoever reads the file adds to it.
#[derive(Clone)]
pub(crate) struct Known {
    catalog: Arc<Catalog>,
    decoders: Arc<DecoderCache>,
    kept_bytes: Arc<AtomicU64>,
}

impl Known {
    /// Bytes of metadata as they were read, and of decoded shared pages.
    pub(crate) fn kept_bytes(&self) -> u64 {
        self.kept_bytes.load(Ordering::Relaxed)
    }
}

impl OpenFile {
    /// A file of which a version is known. Reads nothing.
    pub(crate) fn of_known(source: Source, session: Session, known: Known) -> Self {
        Self {
            source: source.counting_into(known.kept_bytes),
            catalog: known.catalog,
            decoders: known.decoders,
            session,
            costs: Costs::default(),
        }
    }

    /// Returns what is known of the file.
    pub(crate) fn known(&self) -> Known {
        Known {
            catalog: self.catalog.clone(),
            decoders: self.decoders.clone(),
            kept_bytes: self.source.kept_bytes().clone(),
        }
    }

    /// Reads the file's metadata. With `views`, strings are read as views.
    pub(crate) fn open(source: Source, session: Session, views: bool) -> Result<Self> {
        let catalog = run(&source, |hand| Catalog::open(hand, source.len(), views))?;
        Ok(Self {
            decoders: Arc::default(),
            source,
            catalog: Arc::new(catalog),
            session,
            costs: Costs::default(),
        })
    }

    pub(crate) fn planner(&self) -> Planner<'_> {
        Planner {
            mapped: self.source.mapped(),
            session: &self.session,
        }
    }

    pub(crate) fn decoding(&self) -> Decoding<'_> {
        Decoding {
            source: &self.source,
            session: &self.session,
            decoders: &self.decoders,
        }
    }

    pub(crate) fn estimates(&self) -> Estimates {
        Estimates {
            is_mapped: self.source.is_mapped(),
            checksums: self.session.checksums,
        }
    }

    /// A column of a read whose blocks were fetched.
    pub(crate) fn column_read<'a, B>(
        &'a self,
        column: &'a Column,
        plan: &'a Plan,
        blocks: &'a [B],
    ) -> ColumnRead<'a, B> {
        ColumnRead {
            decoding: self.decoding(),
            column,
            plan,
            blocks,
        }
    }

    /// The field of a name.
    pub(crate) fn field(&self, name: &str) -> Result<Arc<TableField>> {
        run(&self.source, |hand| self.catalog.field(hand, name))
    }

    /// The leaf column of a name: see [`Catalog::column`].
    pub(crate) fn column(&self, name: &str) -> Result<Arc<Column>> {
        run(&self.source, |hand| self.catalog.column(hand, name))
    }

    /// The leaf columns of a field, or one by its own name.
    pub(crate) fn columns_of(&self, name: &str) -> Result<Vec<Arc<Column>>> {
        run(&self.source, |hand| self.catalog.columns_of(hand, name))
    }

    /// All fields in order.
    pub(crate) fn all_fields(&self) -> Result<&[Arc<TableField>]> {
        run(&self.source, |hand| self.catalog.all_fields(hand))
    }

    /// All leaf columns in order.
    pub(crate) fn all_columns(&self) -> Result<Vec<Arc<Column>>> {
        run(&self.source, |hand| self.catalog.all_columns(hand))
    }

    /// The columns of these names, or of the whole table.
    pub(crate) fn projection(&self, names: Option<&[String]>) -> Result<Projection> {
        run(&self.source, |hand| {
            Projection::new(&self.catalog, hand, names)
        })
    }

    /// The whole schema.
    pub(crate) fn schema(&self) -> Result<&SchemaRef> {
        run(&self.source, |hand| self.catalog.schema(hand))
    }

    /// The metadata of the schema.
    pub(crate) fn schema_metadata(&self) -> Result<&HashMap<String, String>> {
        run(&self.source, |hand| self.catalog.schema_metadata(hand))
    }

    /// The header.
    pub(crate) fn head(&self) -> Result<&Head> {
        let file_bytes = self.source.len();
        run(&self.source, |hand| self.catalog.head(hand, file_bytes))
    }

    /// Statements of the file about itself. Reads the header, if it was not read yet.
    pub(crate) fn file_metadata(&self) -> Result<FileMetadata> {
        let head = self.head()?;
        Ok(self.catalog.file_metadata(head, self.source.len()))
    }

    /// Checks that the file was not changed since it was opened.
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        self.catalog.check_unchanged(&self.source)
    }

    /// Adds the file's name to an error. If the file was changed since it was opened, the error says so instead of
    /// calling it damaged, or whatever else was made of a mixture of bytes.
    pub(crate) fn explain(&self, error: Error) -> Error {
        let is_of_the_bytes = match error.kind() {
            ErrorKind::NoSuchColumn
            | ErrorKind::OutOfRange
            | ErrorKind::RowDeleted
            | ErrorKind::InvalidFilter
            | ErrorKind::FileChanged
            | ErrorKind::Busy
            | ErrorKind::Cancelled => false,
            ErrorKind::Io
            | ErrorKind::Corrupt
            | ErrorKind::Unsupported
            | ErrorKind::InvalidInput
            | ErrorKind::LimitExceeded => true,
        };
        let changed = match is_of_the_bytes {
            true => self.check_unchanged().err(),
            false => None,
        };
        let changed = changed.filter(|changed| changed.kind() == ErrorKind::FileChanged);
        changed.unwrap_or(error).in_file(self.source.name())
    }

    /// Rows of the table, deleted ones too.
    pub(crate) fn rows(&self) -> u64 {
        self.catalog.rows()
    }

    /// The rows that readers do not see.
    pub(crate) fn deleted(&self) -> &Arc<RowSet> {
        &self.catalog.changes().deleted
    }

    /// The rows that columns at level 2 do not hold.
    pub(crate) fn erased(&self) -> &Arc<RowSet> {
        &self.catalog.changes().erased
    }
}
