//! Literals as arrays of one value.

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_schema::DataType;

use crate::error::FilterError;
use crate::literal::{Literal, Value};
use crate::place::{Mode, Placed, hint, place};

impl Literal {
    /// The literal as an array of one value of a type, for writing it. Numbers must be values of the type: `3.5` and
    /// `300` are none of UInt8.
    ///
    /// # Errors
    /// [`FilterError`] if the type has no such value.
    pub fn to_array(&self, data_type: &DataType) -> Result<ArrayRef, FilterError> {
        let flat = match data_type {
            DataType::Dictionary(_, values) => values.as_ref(),
            DataType::RunEndEncoded(_, values) => values.data_type(),
            other => other,
        };
        let refused = || {
            let what = format!("{} is no value of type {data_type}", self.shown());
            FilterError::new(self.at, what + hint(flat))
        };
        let of_type = match &self.value {
            Value::Array(array) if array.data_type() == data_type => return Ok(array.clone()),
            value => match place(value, flat, Mode::Strict) {
                Some(Placed::At(array)) => array,
                Some(Placed::Unknown) => return Ok(new_null_array(data_type, 1)),
                _ => return Err(refused()),
            },
        };
        arrow_cast::cast(&of_type, data_type).map_err(|_| refused())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, StringArray, UInt8Array};

    use super::*;

    fn dictionary() -> DataType {
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8))
    }

    #[test]
    fn literals_become_values_of_a_type() {
        let five = Literal::from(5).to_array(&DataType::UInt8).unwrap();
        assert_eq!(*five, UInt8Array::from(vec![5]));
        let word = Literal::from("a").to_array(&dictionary()).unwrap();
        let word = arrow_cast::cast(&word, &DataType::Utf8).unwrap();
        assert_eq!(*word, StringArray::from(vec!["a"]));
        let null = Literal::null().to_array(&dictionary()).unwrap();
        assert_eq!((null.data_type(), null.null_count()), (&dictionary(), 1));
        let array: ArrayRef = Arc::new(Int64Array::from(vec![7]));
        let same = Literal::array(array.clone()).to_array(&DataType::Int64);
        assert_eq!(*same.unwrap(), *array);
    }

    #[test]
    fn values_that_a_type_lacks_are_refused() {
        for (literal, data_type) in [
            (Literal::from(300), DataType::UInt8),
            (Literal::from(-1), DataType::UInt8),
            (Literal::from("a"), DataType::Int64),
            (Literal::from(true), DataType::Utf8),
            (Literal::from(3.5), DataType::Int32),
        ] {
            assert!(literal.to_array(&data_type).is_err(), "{literal:?}");
        }
    }
}
