//! Objects of JSON that carry a digest of their fields.
//!
//! The digest is the BLAKE3 of the object without its field `digest`, with sorted keys and no spaces between tokens, as
//! lower-case hex digits.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::ids::ObjectId;
use crate::limits::{JSON_BYTES_MAX, TEXT_BYTES_MAX};

const DIGEST: &str = "digest";

/// The bytes of an object with these fields.
pub(crate) fn seal(mut fields: Map<String, Value>) -> Result<Vec<u8>> {
    let digest = ObjectId::of(&bytes_of(&fields)?);
    fields.insert(DIGEST.to_owned(), Value::String(digest.to_string()));
    let bytes = bytes_of(&fields)?;
    Error::check_limit("JSON_BYTES_MAX", bytes.len(), JSON_BYTES_MAX)?;
    Ok(bytes)
}

// A map of `serde_json` is sorted by key unless some crate asks it to keep the order, so it is sorted here.
fn bytes_of(fields: &Map<String, Value>) -> Result<Vec<u8>> {
    let sorted: std::collections::BTreeMap<_, _> = fields.iter().collect();
    serde_json::to_vec(&sorted).map_err(|error| Error::invalid(error.to_string()))
}

/// The fields of an object whose digest was compared.
pub(crate) struct Sealed {
    object: &'static str,
    fields: Map<String, Value>,
}

impl Sealed {
    /// Reads an object. The fields are flat: a nested value other than a list of texts is refused.
    pub(crate) fn parse(object: &'static str, bytes: &[u8]) -> Result<Self> {
        let corrupt = |what: String| Error::corrupt(object, what);
        if bytes.len() > JSON_BYTES_MAX {
            let what = format!("{} bytes, more than {JSON_BYTES_MAX}", bytes.len());
            return Err(corrupt(what));
        }
        let value: Value =
            serde_json::from_slice(bytes).map_err(|error| corrupt(error.to_string()))?;
        let Value::Object(mut fields) = value else {
            return Err(corrupt("no object of JSON".to_owned()));
        };
        let stored = fields.remove(DIGEST);
        let computed = ObjectId::of(&bytes_of(&fields)?).to_string();
        if stored.as_ref().and_then(Value::as_str) != Some(computed.as_str()) {
            return Err(corrupt(format!("its digest is not {computed}")));
        }
        Ok(Self { object, fields })
    }

    pub(crate) fn corrupt(&self, field: &str, what: &str) -> Error {
        Error::corrupt(self.object, format!("`{field}` is no {what}"))
    }

    pub(crate) fn number(&self, field: &str) -> Result<u64> {
        let value = self.fields.get(field).and_then(Value::as_u64);
        value.ok_or_else(|| self.corrupt(field, "number"))
    }

    /// A number that may be absent.
    pub(crate) fn optional_number(&self, field: &str) -> Result<Option<u64>> {
        match self.fields.get(field) {
            None => Ok(None),
            Some(_) => self.number(field).map(Some),
        }
    }

    pub(crate) fn text(&self, field: &str) -> Result<&str> {
        let value = self.fields.get(field).and_then(Value::as_str);
        let value = value.filter(|text| text.len() <= JSON_BYTES_MAX);
        value.ok_or_else(|| self.corrupt(field, "text"))
    }

    /// Text that may be absent.
    pub(crate) fn optional_text(&self, field: &str) -> Result<Option<&str>> {
        match self.fields.get(field) {
            None => Ok(None),
            Some(_) => self.text(field).map(Some),
        }
    }

    pub(crate) fn texts(&self, field: &str) -> Result<Vec<String>> {
        let bad = || self.corrupt(field, "list of texts");
        let values = self.fields.get(field).and_then(Value::as_array);
        let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(bad);
        values.ok_or_else(bad)?.iter().map(text).collect()
    }

    /// A list of texts, empty if there is none.
    pub(crate) fn optional_texts(&self, field: &str) -> Result<Vec<String>> {
        match self.fields.contains_key(field) {
            true => self.texts(field),
            false => Ok(Vec::new()),
        }
    }

    /// A text that `parse` reads.
    pub(crate) fn parsed<T>(
        &self,
        field: &str,
        what: &str,
        parse: impl Fn(&str) -> Result<T>,
    ) -> Result<T> {
        parse(self.text(field)?).map_err(|_| self.corrupt(field, what))
    }
}

/// Refuses a text for people that is too long.
pub(crate) fn check_text(what: &'static str, text: &str) -> Result<()> {
    match text.len() > TEXT_BYTES_MAX {
        true => Err(Error::invalid(format!(
            "{what} of {} bytes, more than {TEXT_BYTES_MAX}",
            text.len()
        ))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("b".to_owned(), Value::from(7));
        fields.insert("a".to_owned(), Value::from("x"));
        fields
    }

    #[test]
    fn keys_are_sorted_and_the_digest_is_of_the_rest() {
        let bytes = seal(fields()).unwrap();
        let digest = blake3::hash(br#"{"a":"x","b":7}"#);
        let expect = format!(r#"{{"a":"x","b":7,"digest":"{digest}"}}"#);
        assert_eq!(String::from_utf8(bytes).unwrap(), expect);
    }

    #[test]
    fn every_change_of_a_byte_is_found_or_changes_nothing() {
        let bytes = seal(fields()).unwrap();
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[place] ^= 1 << bit;
                assert!(Sealed::parse("x", &changed).is_err(), "{place} {bit}");
            }
        }
        for end in 0..bytes.len() {
            assert!(Sealed::parse("x", &bytes[..end]).is_err());
        }
    }
}
