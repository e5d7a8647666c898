//! Options of the form `COLUMN=VALUE`.

use arrow_schema::DataType;
use tarsia::LAYOUTS;
use tarsia_convert::source::parse_type;

/// A column and its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnType {
    /// The column's name, or the path of a field inside it.
    pub column: String,
    /// A type that [`parse_type`] knows.
    pub data_type: DataType,
}

/// A name may hold `=`, a type does not.
pub(super) fn parse_column_type(text: &str) -> Result<ColumnType, String> {
    let (column, name) = text
        .rsplit_once('=')
        .ok_or("a column, `=` and a type such as utf8")?;
    Ok(ColumnType {
        column: column.to_owned(),
        data_type: parse_type(name)?,
    })
}

/// A column and the encodings of its tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnEncoding {
    /// The column's name, or the path of one of its leaves.
    pub column: String,
    /// Its encodings.
    pub outline: tarsia::choose::Outline,
}

/// A name may hold `=`, a tree does not.
pub(super) fn parse_encode(text: &str) -> Result<ColumnEncoding, String> {
    let (column, outline) = text
        .rsplit_once('=')
        .ok_or("a column, `=` and a tree such as dict(bitpack)")?;
    Ok(ColumnEncoding {
        column: column.to_owned(),
        outline: outline
            .parse()
            .map_err(|error: tarsia::codec::Error| error.to_string())?,
    })
}

/// A column and what its numbers are rounded to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnRounding {
    /// The column's name, or the path of one of its leaves.
    pub column: String,
    /// The name of the rounding.
    pub rounding: String,
}

/// A name may hold `=`, a rounding does not.
pub(super) fn parse_round(text: &str) -> Result<ColumnRounding, String> {
    let (column, rounding) = text
        .rsplit_once('=')
        .ok_or("a column, `=` and a format such as bf16")?;
    Ok(ColumnRounding {
        column: column.to_owned(),
        rounding: rounding.to_owned(),
    })
}

/// A column and its layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnLayout {
    /// The column's name.
    pub column: String,
    /// A value of [`LAYOUTS`].
    pub layout: String,
}

/// The name of a column may contain `=`, that of a layout does not.
pub(super) fn parse_layout(text: &str) -> Result<ColumnLayout, String> {
    match text.rsplit_once('=') {
        Some((column, layout)) if LAYOUTS.contains(&layout) => Ok(ColumnLayout {
            column: column.to_owned(),
            layout: layout.to_owned(),
        }),
        Some((_, other)) => Err(format!(
            "no layout `{other}`; there are {}",
            LAYOUTS.join(", ")
        )),
        None => Err("a column, `=` and a layout".to_owned()),
    }
}
