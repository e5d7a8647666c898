//! Faults of a table.

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Key of the object.
    pub object: String,
    /// Describes the fault, and what refers to the object.
    pub what: String,
}
