//! True, false or unknown, for each row.

use arrow_buffer::{BooleanBuffer, NullBuffer};

/// Rows for which a condition is true, and those for which it is false. It is unknown for rows that are in neither.
#[derive(Debug, Clone)]
pub(crate) struct Truth {
    pub(crate) yes: BooleanBuffer,
    pub(crate) no: BooleanBuffer,
}

impl Truth {
    /// True or false for all rows.
    pub(crate) fn of_all(is_true: bool, n_rows: usize) -> Truth {
        let (all, none) = (
            BooleanBuffer::new_set(n_rows),
            BooleanBuffer::new_unset(n_rows),
        );
        match is_true {
            true => Truth { yes: all, no: none },
            false => Truth { yes: none, no: all },
        }
    }

    pub(crate) fn unknown(n_rows: usize) -> Truth {
        let none = BooleanBuffer::new_unset(n_rows);
        Truth {
            yes: none.clone(),
            no: none,
        }
    }

    /// True where these bits are set, else false.
    pub(crate) fn of_bits(yes: BooleanBuffer) -> Truth {
        let no = !&yes;
        Truth { yes, no }
    }

    pub(crate) fn and(self, other: &Truth) -> Truth {
        Truth {
            yes: &self.yes & &other.yes,
            no: &self.no | &other.no,
        }
    }

    pub(crate) fn or(self, other: &Truth) -> Truth {
        self.not().and(&other.clone().not()).not()
    }

    pub(crate) fn not(self) -> Truth {
        Truth {
            yes: self.no,
            no: self.yes,
        }
    }

    /// Unknown where these bits are not set.
    pub(crate) fn known_at(self, known: &BooleanBuffer) -> Truth {
        Truth {
            yes: &self.yes & known,
            no: &self.no & known,
        }
    }

    /// Unknown where there is a null.
    pub(crate) fn known_unless_null(self, nulls: Option<&NullBuffer>) -> Truth {
        match nulls {
            Some(nulls) if nulls.null_count() > 0 => self.known_at(nulls.inner()),
            _ => self,
        }
    }

    /// True for all rows, or false for all: what is joined to it cannot change that.
    pub(crate) fn is_all(&self, is_true: bool) -> bool {
        let bits = if is_true { &self.yes } else { &self.no };
        bits.count_set_bits() == bits.len()
    }
}
