//! Rows as the command line takes them: `10..30,42`.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::RowSet;

/// Rows as rising ranges that do not touch each other. Equal sets have equal text: `10..30,42` are the rows from 10 to
/// 29, and 42. It takes as much memory as its text, however many rows it has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowRanges(Vec<Range<u64>>);

/// The fields of [`RowRanges`] in JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    count: u64,
    rows: String,
}

impl RowRanges {
    /// The rows of a set.
    #[must_use]
    pub fn of(rows: &RowSet) -> Self {
        Self(rows.ranges(0..u64::MAX).collect())
    }

    /// How many rows it has.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ranges, rising.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().cloned()
    }

    /// Whether all rows are in the set.
    #[must_use]
    pub fn are_in(&self, set: &RowSet) -> bool {
        let is_in = |range: &Range<u64>| set.count(range.clone()) == range.end - range.start;
        self.0.iter().all(is_in)
    }

    /// Whether all rows are among the other ones.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        let is_in = |range: &Range<u64>| {
            let theirs = other.first_behind(range.start);
            theirs.is_some_and(|it| it.start <= range.start && range.end <= it.end)
        };
        self.0.iter().all(is_in)
    }

    /// Whether no row is among the other ones.
    #[must_use]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        let meets = |range: &Range<u64>| {
            let theirs = other.first_behind(range.start);
            theirs.is_some_and(|it| it.start < range.end)
        };
        !self.0.iter().any(meets)
    }

    /// The first range that ends behind a row.
    fn first_behind(&self, row: u64) -> Option<&Range<u64>> {
        self.0.get(self.0.partition_point(|range| range.end <= row))
    }
}

impl fmt::Display for RowRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.0.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            match range.end - range.start {
                1 => write!(f, "{comma}{}", range.start)?,
                _ => write!(f, "{comma}{}..{}", range.start, range.end)?,
            }
        }
        Ok(())
    }
}

impl FromStr for RowRanges {
    type Err = String;

    /// The one text of a set; others, such as `1,2` for `1..3`, are refused.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for item in text.split(',').filter(|_| !text.is_empty()) {
            let bad = || format!("`{item}` is no row or range in rising order");
            let range = match item.split_once("..") {
                Some((start, end)) => number(start)..number(end),
                None => number(item)..number(item).map(|row| row + 1),
            };
            let (Some(start), Some(end)) = (range.start, range.end) else {
                return Err(bad());
            };
            let is_behind = ranges.last().is_none_or(|last| last.end < start);
            let is_canonical = end > start && (end - start > 1) == item.contains("..");
            if !is_behind || !is_canonical {
                return Err(bad());
            }
            ranges.push(start..end);
        }
        Ok(Self(ranges))
    }
}

/// Decimal digits without leading zeros, below the largest number of rows.
fn number(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let starts_well = text == "0" || !text.starts_with('0');
    let number = text.parse().ok().filter(|number| *number < u64::MAX);
    number.filter(|_| is_plain && starts_well)
}

impl Serialize for RowRanges {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (count, rows) = (self.count(), self.to_string());
        Fields { count, rows }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RowRanges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Fields { count, rows } = Fields::deserialize(deserializer)?;
        let ranges: Self = rows.parse().map_err(D::Error::custom)?;
        match ranges.count() == count {
            true => Ok(ranges),
            false => Err(D::Error::custom(format!(
                "{} rows, and not {count}",
                ranges.count()
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(text: &str) -> RowRanges {
        text.parse().unwrap()
    }

    #[test]
    fn a_set_has_one_text() {
        for text in ["", "0", "0..2", "7,9..12,14", "0..18446744073709551614"] {
            assert_eq!(ranges(text).to_string(), text);
        }
        let set: RowSet = [42].into_iter().chain(10..30).collect();
        assert_eq!(RowRanges::of(&set).to_string(), "10..30,42");
        assert_eq!(RowRanges::of(&RowSet::new()), RowRanges::default());
        let json = serde_json::to_string(&RowRanges::of(&set)).unwrap();
        assert_eq!(json, r#"{"count":21,"rows":"10..30,42"}"#);
        assert_eq!(
            serde_json::from_str::<RowRanges>(&json).unwrap(),
            RowRanges::of(&set)
        );
        for wrong in [
            ",",
            "1,",
            ",1",
            "1,2",
            "1,1",
            "2,1",
            "3..3",
            "3..4",
            "4..3",
            "1..3,3",
            "01",
            "+1",
            "-1",
            "1 ,3",
            "1..",
            "..1",
            "1..2..3",
            "a",
            "18446744073709551615",
            "0..18446744073709551615",
        ] {
            assert!(wrong.parse::<RowRanges>().is_err(), "{wrong}");
        }
        let lie = r#"{"count":20,"rows":"10..30,42"}"#;
        assert!(serde_json::from_str::<RowRanges>(lie).is_err());
    }

    #[test]
    fn sets_are_compared() {
        let all = ranges("2..5,7,9..20");
        for (text, inside, apart) in [
            ("", true, true),
            ("2..5", true, false),
            ("3,7,10..20", true, false),
            ("5..7", false, true),
            ("4..6", false, false),
            ("0..2,5..7,8,20..30", false, true),
            ("9..21", false, false),
            ("1..30", false, false),
        ] {
            let other = ranges(text);
            assert_eq!(other.is_subset(&all), inside, "{text}");
            assert_eq!(other.is_disjoint(&all), apart, "{text}");
            let mut set = RowSet::new();
            all.iter().for_each(|range| set.insert_range(range));
            assert_eq!(other.are_in(&set), inside, "{text}");
        }
        let huge = ranges("0..18446744073709551614");
        assert!(!huge.are_in(&RowSet::new()));
    }
}
