//! Dates and timestamps as text, in the ISO 8601 form of RFC 3339.
//!
//! A year has four digits. Years before 0 and beyond 9999 have a sign and as many digits as they need, at least four:
//! `-0001`, `+10000`. Exports write them so; any other form is no year, so that text which looks like it stays text.

use std::ops::RangeInclusive;

use arrow_schema::TimeUnit;

/// The years that exports have a text for.
const YEARS: RangeInclusive<i64> = -262_143..=262_142;

/// The most digits of a year.
const YEAR_DIGITS_MAX: usize = 6;

/// A point in time, read from text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp {
    /// Since 1970-01-01T00:00:00, in UTC when there is an offset.
    seconds: i64,
    /// 0 ..= 999,999,999, after `seconds`.
    nanos: u32,
    /// Digits of the fraction, 0 ..= 9.
    pub digits: u8,
    /// Whether the text has an offset from UTC.
    pub has_offset: bool,
}

impl Timestamp {
    /// The point in time in this unit; `None` if the unit is too coarse or the number too large.
    pub fn in_unit(self, unit: TimeUnit) -> Option<i64> {
        let nanos = i128::from(self.nanos);
        let (per_second, nanos_per_unit) = match unit {
            TimeUnit::Second => (1, 1_000_000_000),
            TimeUnit::Millisecond => (1_000, 1_000_000),
            TimeUnit::Microsecond => (1_000_000, 1_000),
            TimeUnit::Nanosecond => (1_000_000_000, 1),
        };
        if nanos % nanos_per_unit != 0 {
            return None;
        }
        // The sum may fit where the product does not: in the second in which the smallest number is.
        let whole = i128::from(self.seconds) * per_second;
        i64::try_from(whole + nanos / nanos_per_unit).ok()
    }
}

/// Days since 1970-01-01 of `YYYY-MM-DD`, in the Gregorian calendar. Years before 0 and beyond 9999 have a sign:
/// `+10000-01-01`.
pub fn parse_date(text: &str) -> Option<i32> {
    let (days, rest) = date(text.as_bytes())?;
    rest.is_empty().then_some(days)
}

/// `YYYY-MM-DDThh:mm:ss`, also with a space instead of `T`, with a fraction of up to nine digits, and with an offset:
/// `Z`, `+hh:mm` or `+hhmm`. A date alone is midnight. Years before 0 and beyond 9999 have a sign, as in
/// [`parse_date`].
pub fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let (days, rest) = date(text.as_bytes())?;
    let midnight = i64::from(days) * 86_400;
    let Some((separator, time)) = rest.split_first() else {
        return Some(Timestamp {
            seconds: midnight,
            nanos: 0,
            digits: 0,
            has_offset: false,
        });
    };
    if !matches!(separator, b'T' | b't' | b' ')
        || time.get(2) != Some(&b':')
        || time.get(5) != Some(&b':')
    {
        return None;
    }
    let (hour, minute, second) = (
        number(time.get(..2)?)?,
        number(time.get(3..5)?)?,
        number(time.get(6..8)?)?,
    );
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut rest = time.get(8..)?;
    let (mut nanos, mut digits) = (0, 0);
    if let Some(after) = rest.strip_prefix(b".") {
        let n = after.iter().take_while(|b| b.is_ascii_digit()).count();
        if n == 0 || n > 9 {
            return None;
        }
        nanos = number(after.get(..n)?)? * 10_u32.pow(9 - u32::try_from(n).ok()?);
        digits = u8::try_from(n).ok()?;
        rest = after.get(n..)?;
    }
    let offset = match rest {
        [] => None,
        [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] | [sign @ (b'+' | b'-'), h1, h2, m1, m2] => {
            let (hours, minutes) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let seconds = i64::from(hours * 3_600 + minutes * 60);
            Some(if *sign == b'-' { -seconds } else { seconds })
        }
        _ => return None,
    };
    let seconds = midnight + i64::from(hour * 3_600 + minute * 60 + second) - offset.unwrap_or(0);
    Some(Timestamp {
        seconds,
        nanos,
        digits,
        has_offset: offset.is_some(),
    })
}

/// Digits only, at most nine of them.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |n: u32, b| {
        b.is_ascii_digit().then(|| n * 10 + u32::from(b - b'0'))
    })
}

/// The year at the start, and what follows it. A year that needs no sign has none.
fn year(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (sign, unsigned) = match bytes {
        [sign @ (b'+' | b'-'), rest @ ..] => (Some(*sign), rest),
        _ => (None, bytes),
    };
    let n = unsigned.iter().take_while(|b| b.is_ascii_digit()).count();
    if !(4..=YEAR_DIGITS_MAX).contains(&n) {
        return None;
    }
    let (digits, rest) = unsigned.split_at_checked(n)?;
    let is_shortest = n == 4 || digits.first() != Some(&b'0');
    let year = i64::from(number(digits)?);
    let year = match sign {
        None if n == 4 => year,
        Some(b'+') if is_shortest && year > 9_999 => year,
        Some(b'-') if is_shortest && year > 0 => -year,
        _ => return None,
    };
    YEARS.contains(&year).then_some((year, rest))
}

/// Days since 1970-01-01 of the date at the start, and what follows it.
fn date(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (year, rest) = year(bytes)?;
    let [b'-', m1, m2, b'-', d1, d2, rest @ ..] = rest else {
        return None;
    };
    let (month, day) = (number(&[*m1, *m2])?, number(&[*d1, *d2])?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_of_month = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    if day < 1 || day > days_of_month {
        return None;
    }
    // Years that start in March put the leap day at their end, and 400 of them always have 146,097 days.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = i64::from((153 * month + 2) / 5 + day - 1);
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    let days = i32::try_from(era * 146_097 + day_of_era - 719_468).ok()?;
    Some((days, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_follows_the_one_before() {
        let mut expected = parse_date("0000-01-01").unwrap();
        assert_eq!(expected, -719_528);
        for year in 0..=9_999 {
            for month in 1..=12 {
                for day in 1..=31 {
                    if let Some(days) = parse_date(&format!("{year:04}-{month:02}-{day:02}")) {
                        assert_eq!(days, expected, "{year:04}-{month:02}-{day:02}");
                        expected += 1;
                    }
                }
            }
        }
        assert_eq!(expected, parse_date("9999-12-31").unwrap() + 1);
        assert_eq!(parse_date("1970-01-01"), Some(0));
        assert_eq!(parse_date("2024-02-29"), Some(19_782));
        for wrong in [
            "2023-02-29",
            "1900-02-29",
            "2024-13-01",
            "2024-00-01",
            "2024-1-1",
            "24-01-01",
            "2024/01/01",
            "2024-01-0x",
            "+024-01-01",
        ] {
            assert_eq!(parse_date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn years_that_need_a_sign_have_one() {
        let last = parse_date("9999-12-31").unwrap();
        assert_eq!(parse_date("+10000-01-01"), Some(last + 1));
        assert_eq!(parse_date("-0001-12-31"), Some(-719_529));
        assert_eq!(parse_date("-0004-02-29"), Some(-719_529 - 365 * 3 - 306));
        assert_eq!(parse_date("+262142-12-31"), Some(95_026_236));
        assert_eq!(parse_date("-262143-01-01"), Some(-96_465_292));
        let seconds = |text: &str| parse_timestamp(text).and_then(|t| t.in_unit(TimeUnit::Second));
        assert_eq!(
            seconds("+10000-01-01T01:00:00+01:00"),
            Some((i64::from(last) + 1) * 86_400)
        );
        assert_eq!(seconds("-0001-12-31 23:59:59"), Some(-719_528 * 86_400 - 1));
        for wrong in [
            "+2024-01-01",
            "-0000-01-01",
            "+010000-01-01",
            "-00001-01-01",
            "-001-01-01",
            "10000-01-01",
            "+262143-01-01",
            "-262144-12-31",
            "+1000000-01-01",
            "+",
            "--0001-01-01",
        ] {
            assert_eq!(parse_date(wrong), None, "{wrong}");
            assert_eq!(parse_timestamp(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn timestamps_with_fraction_and_offset() {
        let micros =
            |text: &str| parse_timestamp(text).and_then(|t| t.in_unit(TimeUnit::Microsecond));
        assert_eq!(micros("1970-01-01T00:00:01"), Some(1_000_000));
        assert_eq!(micros("1970-01-01 00:00:00.5"), Some(500_000));
        assert_eq!(micros("1969-12-31T23:59:59.999999"), Some(-1));
        assert_eq!(micros("1970-01-01T02:00:00+02:00"), Some(0));
        assert_eq!(micros("1969-12-31T16:30:00-0730"), Some(0));
        assert_eq!(micros("1970-01-02"), Some(86_400_000_000));
        assert_eq!(micros("2024-01-01T00:00:00.0000001Z"), None);
        let nanos = parse_timestamp("2024-01-01T00:00:00.000000001Z").unwrap();
        assert_eq!((nanos.digits, nanos.has_offset), (9, true));
        assert_eq!(
            nanos.in_unit(TimeUnit::Nanosecond),
            Some(1_704_067_200_000_000_001)
        );
        assert_eq!(
            parse_timestamp("9999-01-01T00:00:00")
                .unwrap()
                .in_unit(TimeUnit::Nanosecond),
            None
        );
        for wrong in [
            "",
            "2024-01-01T",
            "2024-01-01T00:00",
            "2024-01-01T24:00:00",
            "2024-01-01T00:60:00",
            "2024-01-01T00:00:60",
            "2024-01-01T00:00:00.",
            "2024-01-01T00:00:00.1234567890",
            "2024-01-01T00:00:00+2",
            "2024-01-01T00:00:00 Z",
            "2024-01-01x00:00:00",
            "2024-01-01T00:00:00+24:00",
            "2024-01-0é",
        ] {
            assert_eq!(parse_timestamp(wrong), None, "{wrong}");
        }
    }
}
