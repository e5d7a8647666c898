//! How many rows the columns have, while some are ahead of others.

use std::ops::Range;

/// Rows of each top-level field, while some have more than others.
#[derive(Debug, Default)]
pub(super) struct FieldRows {
    /// Empty where all fields have the same rows.
    rows: Vec<u64>,
}

impl FieldRows {
    /// Counts rows of some fields of `n_fields`, all of which had `level` rows when they last had the same.
    pub(super) fn add(&mut self, fields: Range<usize>, rows: u64, level: u64, n_fields: usize) {
        if self.rows.is_empty() {
            self.rows = vec![level; n_fields];
        }
        for field in self.rows.get_mut(fields).unwrap_or_default() {
            *field += rows;
        }
    }

    /// The rows that all fields have; `None` where all have the same rows as before.
    pub(super) fn of_all(&self) -> Option<u64> {
        self.rows.iter().min().copied()
    }

    /// The rows that all fields have since they had the same the last time, `None` where nothing came for some fields
    /// alone. The fields are even after it.
    ///
    /// # Errors
    /// The number of a field that has fewer rows than another, with both numbers of rows.
    pub(super) fn level(&mut self) -> std::result::Result<Option<u64>, Lacking> {
        let Some(most) = self.rows.iter().max().copied() else {
            return Ok(None);
        };
        let lacking = self.rows.iter().position(|rows| *rows < most);
        if let Some(field) = lacking {
            let rows = self.rows.get(field).copied().unwrap_or(0);
            return Err(Lacking { field, rows, most });
        }
        self.rows = Vec::new();
        Ok(Some(most))
    }
}

/// A field that has fewer rows than another.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lacking {
    pub(super) field: usize,
    pub(super) rows: u64,
    pub(super) most: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_level_when_all_have_as_many_rows() {
        let mut fields = FieldRows::default();
        assert_eq!((fields.of_all(), fields.level()), (None, Ok(None)));
        fields.add(1..3, 10, 5, 3);
        assert_eq!(fields.of_all(), Some(5));
        let lacking = Lacking {
            field: 0,
            rows: 5,
            most: 15,
        };
        assert_eq!(fields.level(), Err(lacking));
        fields.add(0..1, 4, 5, 3);
        fields.add(0..1, 6, 5, 3);
        assert_eq!(fields.of_all(), Some(15));
        assert_eq!((fields.level(), fields.level()), (Ok(Some(15)), Ok(None)));
        // Of no fields and no rows.
        fields.add(2..2, 7, 15, 3);
        fields.add(0..3, 0, 15, 3);
        assert_eq!(fields.level(), Ok(Some(15)));
        fields.add(0..0, 7, 0, 0);
        assert_eq!(fields.level(), Ok(None));
    }
}
