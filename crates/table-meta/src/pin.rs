//! Pins: readers' leases of a commit.

use serde_json::Map;

use crate::error::{Error, Result};
use crate::ids::{ObjectId, TxnId};
use crate::refs::is_of;
use crate::sealed::{Sealed, check_text, seal};

/// A pin: until its end garbage collection keeps its commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The commit.
    pub commit: ObjectId,
    /// Milliseconds since 1970 in UTC by the store's clock, when it was made.
    pub time: u64,
    /// The end, by the same clock; behind `time`.
    pub end: u64,
    /// Objects that are not older than this stay, too, by the same clock: those of a transaction that began then.
    pub since: Option<u64>,
    /// For people.
    pub message: String,
    /// For people.
    pub author: String,
}

impl Pin {
    /// The pin's bytes, under this id.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for texts that are too long, and for a pin that ends before it begins.
    pub fn to_bytes(&self, id: &TxnId) -> Result<Vec<u8>> {
        check_text("an author", &self.author)?;
        if self.end <= self.time {
            return Err(Error::invalid("a pin that ends before it begins"));
        }
        let mut fields = Map::new();
        fields.insert("pin".to_owned(), id.to_string().into());
        fields.insert("commit".to_owned(), self.commit.to_string().into());
        fields.insert("time".to_owned(), self.time.into());
        fields.insert("end".to_owned(), self.end.into());
        if let Some(since) = self.since {
            fields.insert("since".to_owned(), since.into());
        }
        fields.insert("message".to_owned(), self.message.as_str().into());
        fields.insert("author".to_owned(), self.author.as_str().into());
        seal(fields)
    }

    /// Reads a pin.
    ///
    /// # Errors
    /// [`Error::Corrupt`], also for a pin of another id.
    pub fn parse(bytes: &[u8], id: &TxnId) -> Result<Self> {
        let sealed = Sealed::parse("pin", bytes)?;
        is_of(&sealed, "pin", "pin", &id.to_string())?;
        let (time, end) = (sealed.number("time")?, sealed.number("end")?);
        if end <= time {
            return Err(sealed.corrupt("end", "time behind `time`"));
        }
        Ok(Self {
            commit: sealed.parsed("commit", "digest", ObjectId::parse)?,
            time,
            end,
            since: sealed.optional_number("since")?,
            message: sealed.text("message")?.to_owned(),
            author: sealed.text("author")?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_read_back() {
        let id = TxnId([3; 16]);
        let mut pin = Pin {
            commit: ObjectId([5; 32]),
            time: 7,
            end: 8,
            since: None,
            message: "training".to_owned(),
            author: "ada".to_owned(),
        };
        let bytes = pin.to_bytes(&id).unwrap();
        assert_eq!(Pin::parse(&bytes, &id), Ok(pin.clone()));
        assert!(Pin::parse(&bytes, &TxnId([4; 16])).is_err());
        pin.since = Some(6);
        assert_eq!(
            Pin::parse(&pin.to_bytes(&id).unwrap(), &id),
            Ok(pin.clone())
        );
        pin.end = 7;
        assert!(pin.to_bytes(&id).is_err());
    }
}
