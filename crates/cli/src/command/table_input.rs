//! Rows of files that are added to tables.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use tarsia_convert::Format;
use tarsia_convert::source::Source;

use crate::args::{ColumnType, Limits, TextOptions};
use crate::budget::Budget;
use crate::failure::Failure;
use crate::place::{Place, Places};

use super::open::{budget_of, open};

/// Files of other formats have the limits of imports.
const NO_LIMITS_GIVEN: Limits = Limits {
    memory_limit: None,
    time_limit: None,
};

/// Rows of a file of any format.
pub(super) enum Input {
    Tarsia(Box<tarsia::Scan>),
    Other(Box<Source>, Budget),
}

impl Input {
    pub(super) fn open(
        places: &dyn Places,
        place: &Place,
        text: &TextOptions,
    ) -> Result<Self, Failure> {
        match Format::of(place.name()) {
            Some(_) => {
                let path = place.path()?;
                let budget = budget_of(path, &NO_LIMITS_GIVEN);
                let source = Source::open(path, &text.options()?)?;
                budget.has_columns(source.schema().fields().len());
                Ok(Self::Other(Box::new(source), budget))
            }
            None => {
                let scan = open(places, place)?.scan().build();
                scan.map(|scan| Self::Tarsia(Box::new(scan)))
                    .map_err(|error| Failure::of_tarsia(place.name(), &error))
            }
        }
    }

    /// As [`Input::open`], but columns of CSV and JSON lines have the types that the table's columns of that name have.
    pub(super) fn open_for(
        places: &dyn Places,
        place: &Place,
        text: &TextOptions,
        wanted: &SchemaRef,
    ) -> Result<Self, Failure> {
        let input = Self::open(places, place, text)?;
        let is_text = matches!(
            Format::of(place.name()),
            Some(Format::Csv | Format::JsonLines)
        );
        if !is_text {
            return Ok(input);
        }
        let is_asked = |name: &str| text.columns.iter().any(|it| it.column == name);
        let found = input.schema();
        let other = wanted.fields().iter().filter(|field| {
            let name = field.name();
            let inferred = found.field_with_name(name);
            inferred.is_ok_and(|it| it.data_type() != field.data_type())
                && is_of_text(field.data_type())
                && !name.contains('.')
                && !is_asked(name)
        });
        let mut text = text.clone();
        text.columns.extend(other.map(|field| ColumnType {
            column: field.name().clone(),
            data_type: field.data_type().clone(),
        }));
        Self::open(places, place, &text)
    }

    pub(super) fn schema(&self) -> SchemaRef {
        match self {
            Self::Tarsia(scan) => scan.schema(),
            Self::Other(source, _) => source.schema(),
        }
    }
}

/// Whether values of a type can be asked for of CSV and JSON lines, as `--types` does.
fn is_of_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Timestamp(_, zone) => zone.as_deref().is_none_or(|zone| zone == "UTC"),
        DataType::Boolean | DataType::Date32 | DataType::Utf8 | DataType::Decimal128(..) => true,
        DataType::Float32 | DataType::Float64 => true,
        other => other.is_integer(),
    }
}

impl Iterator for Input {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Tarsia(scan) => scan.next(),
            Self::Other(source, budget) => {
                let batch = source.next_batch().transpose()?;
                budget.progress();
                Some(batch.map_err(|error| ArrowError::ExternalError(Box::new(error))))
            }
        }
    }
}
