//! Numbers as text, and the types that hold them, by one rule for CSV and JSON lines.
//!
//! A number of digits alone is whole. It is read as it is, or not at all: a column of whole numbers is Int64 or UInt64,
//! and beside decimals a whole number must be one that a Float64 holds exactly. A number with a point or an exponent is
//! a decimal, which is rounded to the nearest Float64, as decimals always are, but never to infinity. A column whose
//! first rows have numbers that no type holds by this rule is text. Text that looks like a number and would be written
//! in another way is a code ([`is_code`]): CSV keeps it as text, JSON has no such numbers.

use arrow_schema::DataType;

/// A number read from text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Whole(i128),
    /// Also the infinities and what is not a number, where they are spelled out.
    Decimal(f64),
    /// A whole number of more than 64 bits, or a decimal beyond the largest Float64.
    Beyond,
}

impl Number {
    /// `None` when the text is no number.
    pub(super) fn parse(text: &str) -> Option<Number> {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
            let whole = text.parse::<i128>().ok();
            let whole = whole.filter(|n| (i64::MIN.into()..=u64::MAX.into()).contains(n));
            return Some(whole.map_or(Number::Beyond, Number::Whole));
        }
        let decimal: f64 = text.parse().ok()?;
        let is_spelled_out = digits.starts_with(|c: char| c.is_ascii_alphabetic());
        Some(match decimal.is_infinite() && !is_spelled_out {
            true => Number::Beyond,
            false => Number::Decimal(decimal),
        })
    }
}

/// Whether the digits of a number would not come back: leading zeros (`00501`), a plus sign (`+4915112345`), or the
/// sign of a whole zero. These are postal codes, telephone numbers and the like.
pub(super) fn is_code(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    match unsigned.as_bytes() {
        [b'+', ..] => Number::parse(text).is_some(),
        [b'0', b'0'..=b'9', ..] => Number::parse(text).is_some(),
        _ => text == "-0",
    }
}

/// The text as a Float64; `None` if it is no number, or one that would change.
pub(super) fn parse_float64(text: &str) -> Option<f64> {
    match Number::parse(text)? {
        // A whole zero may have a sign.
        Number::Whole(n) => text.parse().ok().filter(|float| *float as i128 == n),
        Number::Decimal(float) => Some(float),
        Number::Beyond => None,
    }
}

/// As [`parse_float64`], with fewer digits. The text is rounded once, not twice.
pub(super) fn parse_float32(text: &str) -> Option<f32> {
    let float: f32 = text.parse().ok()?;
    match Number::parse(text)? {
        Number::Whole(n) => (float as i128 == n).then_some(float),
        Number::Decimal(wide) => {
            (wide.is_infinite() || float.is_finite() || wide.is_nan()).then_some(float)
        }
        Number::Beyond => None,
    }
}

/// The text as a whole number of `10^-scale`; `None` if it is no number without exponent, or one that would change.
pub(super) fn parse_decimal(text: &str, precision: u8, scale: i8) -> Option<i128> {
    let scale = usize::try_from(scale).ok()?;
    let (is_negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let fraction = fraction.trim_end_matches('0');
    if (whole.is_empty() && fraction.is_empty()) || fraction.len() > scale {
        return None;
    }
    let zeros = std::iter::repeat_n(b'0', scale - fraction.len());
    let digits = whole.bytes().chain(fraction.bytes()).chain(zeros);
    let value = digits.into_iter().try_fold(0_i128, |value, digit| {
        let digit = digit.is_ascii_digit().then(|| i128::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })?;
    (value < 10_i128.checked_pow(precision.into())?).then_some(if is_negative {
        -value
    } else {
        value
    })
}

/// The kinds of number seen in a column.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Numbers {
    whole: bool,
    negative: bool,
    /// Beyond `i64::MAX`.
    large: bool,
    /// A whole number that a Float64 does not hold.
    inexact: bool,
    decimal: bool,
    beyond: bool,
    /// Text that only looks like a number.
    code: bool,
}

impl Numbers {
    /// A code was seen among the numbers.
    pub(super) fn see_code(&mut self) {
        self.code = true;
    }

    pub(super) fn see(&mut self, number: Number) {
        match number {
            Number::Whole(n) => {
                self.whole = true;
                self.negative |= n < 0;
                self.large |= n > i64::MAX.into();
                self.inexact |= n as f64 as i128 != n;
            }
            Number::Decimal(_) => self.decimal = true,
            Number::Beyond => self.beyond = true,
        }
    }

    pub(super) fn any(&self) -> bool {
        self.whole || self.decimal || self.beyond || self.code
    }

    /// The type that holds all of them; text if there is none.
    pub(super) fn data_type(&self) -> DataType {
        match self {
            _ if self.beyond || self.code => DataType::Utf8,
            _ if self.decimal && self.inexact => DataType::Utf8,
            _ if self.decimal => DataType::Float64,
            _ if self.large && self.negative => DataType::Utf8,
            _ if self.large => DataType::UInt64,
            _ => DataType::Int64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data_type(texts: &[&str]) -> DataType {
        let mut numbers = Numbers::default();
        for text in texts {
            numbers.see(Number::parse(text).unwrap());
        }
        numbers.data_type()
    }

    #[test]
    fn a_type_that_changes_no_number() {
        use DataType::*;
        assert_eq!(data_type(&["0", "-9223372036854775808"]), Int64);
        assert_eq!(data_type(&["0", "18446744073709551615"]), UInt64);
        assert_eq!(data_type(&["-1", "18446744073709551615"]), Utf8);
        assert_eq!(data_type(&["18446744073709551616"]), Utf8);
        assert_eq!(data_type(&["0.1", "1e23", "7"]), Float64);
        assert_eq!(data_type(&["1.5", "9007199254740992"]), Float64);
        assert_eq!(data_type(&["1.5", "9007199254740993"]), Utf8);
        assert_eq!(data_type(&["1.5", "-9007199254740993"]), Utf8);
        assert_eq!(data_type(&["1.5", "18446744073709551615"]), Utf8);
        assert_eq!(data_type(&["1e400"]), Utf8);
        assert_eq!(data_type(&["1", "-.1e400"]), Utf8);
        assert_eq!(data_type(&["inf", "-Infinity", "NaN"]), Float64);
        for no_number in ["", "-", "+-1", "1,5", "0x1", " 1", "1e", "é"] {
            assert_eq!(Number::parse(no_number), None, "{no_number}");
        }
    }

    #[test]
    fn codes_are_no_numbers() {
        for code in [
            "00501", "-007", "+49", "+1.5", "01.10", "-0", "+0", "00", "-00.5", "+1e3",
        ] {
            assert!(is_code(code), "{code}");
        }
        for other in [
            "0", "-1", "0.5", "-0.0", "-0.5", "100", "1e+05", ".5", "+", "+x", "00x", "", "0x1",
        ] {
            assert!(!is_code(other), "{other}");
        }
    }

    #[test]
    fn floats_are_rounded_decimals_and_exact_whole_numbers() {
        assert_eq!(parse_float64("0.1"), Some(0.1));
        assert_eq!(parse_float64("1e-400"), Some(0.0));
        assert_eq!(parse_float64("inf"), Some(f64::INFINITY));
        assert!(parse_float64("-0").unwrap().is_sign_negative());
        assert_eq!(parse_float64("9223372036854775808"), Some(2_f64.powi(63)));
        for changed in ["9007199254740993", "18446744073709551615", "1e400", "x"] {
            assert_eq!(parse_float64(changed), None, "{changed}");
        }
        assert_eq!(parse_float32("0.1"), Some(0.1));
        assert_eq!(parse_float32("16777216"), Some(16_777_216.0));
        assert_eq!(parse_float32("-inf"), Some(f32::NEG_INFINITY));
        assert!(parse_float32("nan").unwrap().is_nan());
        for changed in ["16777217", "1e39", "1e400"] {
            assert_eq!(parse_float32(changed), None, "{changed}");
        }
    }

    #[test]
    fn decimals_keep_every_digit() {
        assert_eq!(parse_decimal("12.5", 10, 2), Some(1_250));
        assert_eq!(parse_decimal("-.5", 10, 2), Some(-50));
        assert_eq!(parse_decimal("+3.", 10, 2), Some(300));
        assert_eq!(parse_decimal("1.2500", 10, 2), Some(125));
        assert_eq!(parse_decimal("99.99", 4, 2), Some(9_999));
        let nines = "9".repeat(38);
        assert_eq!(parse_decimal(&nines, 38, 0), Some(10_i128.pow(38) - 1));
        for wrong in ["", ".", "-", "1.255", "100", "1e2", "1.-5", "--1", "é"] {
            assert_eq!(parse_decimal(wrong, 4, 2), None, "{wrong}");
        }
        assert_eq!(parse_decimal(&"9".repeat(39), 38, 0), None);
    }
}
