//! Columns whose values are rounded before they are encoded, since their user asks for it.

use std::num::NonZero;

use tarsia_arrow::LeafPath;
use tarsia_codec::{FixedSlice, Registry, Rounding, RoundingError, Values};
use tarsia_page_writer::PageInput;
use tarsia_structure::LevelForm;

use crate::error::{Error, ErrorKind, Result};
use crate::write::options::ROUNDED_KEY_PREFIX;

/// How a leaf column is rounded.
pub(super) struct ColumnRounding {
    /// Names from the top-level field down, joined by dots.
    column: String,
    rounding: &'static dyn Rounding,
    /// Values of a row, where all rows have as many.
    row_values: Option<NonZero<usize>>,
}

/// The values of a page after rounding.
pub(super) struct Rounded {
    bytes: Vec<u8>,
    width: usize,
    pub(super) error: RoundingError,
}

impl ColumnRounding {
    /// The rounding `name` of the leaf column `column`, which lies at `path`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for an unknown name.
    pub(super) fn new(
        name: &str,
        column: &str,
        path: &LeafPath,
        registry: &Registry,
    ) -> Result<Self> {
        let found = registry.roundings().find(|known| known.name() == name);
        let Some(rounding) = found else {
            let names: Vec<&str> = registry.roundings().map(|known| known.name()).collect();
            let what = format!("no rounding `{name}`; there are {}", names.join(", "));
            return Err(Error::new(ErrorKind::InvalidInput, what).in_column(column));
        };
        Ok(Self {
            column: column.to_owned(),
            rounding,
            row_values: row_values(path),
        })
    }

    /// Rounds the values of a page, with zero for each null. Where rows may be erased, what all have in common says
    /// little of one.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for values that cannot be rounded.
    pub(super) fn round(&self, input: &PageInput<'_>, erasable: bool) -> Result<Rounded> {
        let values = input.values.as_fixed()?;
        let width = values.width();
        let mut bytes = values.bytes().to_vec();
        if let Some(validity) = input.validity {
            for (i, value) in bytes.chunks_exact_mut(width.max(1)).enumerate() {
                if !validity.get(i) {
                    value.fill(0);
                }
            }
        }
        let error = (self.rounding).round(&mut bytes, width, self.row_values, erasable);
        let error = error.map_err(|what| {
            let name = self.rounding.name();
            let what = format!("a page cannot be rounded to {name}: {what}");
            Error::new(ErrorKind::InvalidInput, what)
        })?;
        Ok(Rounded {
            bytes,
            width,
            error,
        })
    }

    /// Whether what becomes of a value depends on other rows.
    pub(super) fn depends_on_other_rows(&self) -> bool {
        self.rounding.depends_on_other_rows()
    }

    /// Returns what the metadata of the schema says of the column, whose largest errors these are.
    pub(super) fn key_value(&self, error: Option<RoundingError>) -> (String, String) {
        let name = self.rounding.name();
        let value = match error {
            None => name.to_owned(),
            Some(RoundingError { absolute, relative }) => {
                format!("{name}, largest error {absolute:e}, relative {relative:e}")
            }
        };
        (format!("{ROUNDED_KEY_PREFIX}{}", self.column), value)
    }
}

impl Rounded {
    pub(super) fn values(&self) -> Result<Values<'_>> {
        let len = self.bytes.len() / self.width.max(1);
        Ok(Values::Fixed(FixedSlice::new(
            &self.bytes,
            self.width,
            len,
        )?))
    }
}

/// True if the values of a leaf column can be rounded: floating-point numbers.
pub(super) fn is_rounded(path: &LeafPath) -> bool {
    path.data_type().is_floating()
}

/// The length of fixed-size lists that are the rows, or fields of the rows.
fn row_values(path: &LeafPath) -> Option<NonZero<usize>> {
    let forms = path.forms().iter();
    let mut lists = forms.filter(|form| !matches!(form, LevelForm::Validity));
    match (lists.next(), lists.next()) {
        (Some(LevelForm::ConstantLength(length)), None) => NonZero::new(*length as usize),
        _ => None,
    }
}
