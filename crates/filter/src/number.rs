//! Numbers as they are written, with all their digits.

use std::fmt;

use arrow_buffer::i256;

/// Most digits of a whole number that a type holds: those of the largest `i256`.
const DIGITS_MAX: usize = 77;

/// Most digits that are written without an exponent.
const PLAIN_DIGITS_MAX: i64 = 40;

/// Where a number lies among whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Floor {
    /// It is this one.
    Exact(i256),
    /// It lies between this one and the next.
    Inexact(i256),
    /// It lies below all that are in 256 bits.
    Below,
    /// It lies above all that are in 256 bits.
    Above,
}

/// A finite number of any size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Number {
    is_negative: bool,
    /// Without zeros at either end; empty for zero.
    digits: String,
    /// The number is `digits · 10^exponent`.
    exponent: i64,
}

impl Number {
    /// Reads digits with an optional sign, point and exponent; `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Number> {
        let (is_negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_number = !(whole.is_empty() && fraction.is_empty())
            && [whole, fraction]
                .iter()
                .all(|part| part.bytes().all(|b| b.is_ascii_digit()));
        if !is_number {
            return None;
        }
        let all = format!("{whole}{fraction}");
        let significant = all.trim_end_matches('0');
        if significant.is_empty() {
            return Some(Number {
                is_negative,
                digits: String::new(),
                exponent: 0,
            });
        }
        let n_zeros = i64::try_from(all.len() - significant.len()).ok()?;
        let n_fraction = i64::try_from(fraction.len()).ok()?;
        Some(Number {
            is_negative,
            digits: significant.trim_start_matches('0').to_owned(),
            exponent: exponent.checked_add(n_zeros)?.checked_sub(n_fraction)?,
        })
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.exponent >= 0
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.is_negative
    }

    /// The number times `10^scale`, or the largest whole number below it.
    pub(crate) fn floor(&self, scale: i8) -> Floor {
        if self.is_zero() {
            return Floor::Exact(i256::ZERO);
        }
        let beyond = match self.is_negative {
            true => Floor::Below,
            false => Floor::Above,
        };
        let shift = self.exponent.saturating_add(i64::from(scale));
        let n_digits = i64::try_from(self.digits.len()).unwrap_or(i64::MAX);
        // Digits in front of the point.
        let Ok(n_whole) = usize::try_from(n_digits.saturating_add(shift).max(0)) else {
            return beyond;
        };
        if n_whole > DIGITS_MAX {
            return beyond;
        }
        let digits = self.digits.get(..n_whole).unwrap_or(&self.digits);
        let sign = if self.is_negative { "-" } else { "" };
        let whole = match n_whole {
            0 => Some(i256::ZERO),
            _ => i256::from_string(&format!("{sign}{digits:0<n_whole$}")),
        };
        let Some(towards_zero) = whole else {
            return beyond;
        };
        // The digits do not end with a zero, so those behind the point are not all zeros.
        match (shift >= 0, self.is_negative) {
            (true, _) => Floor::Exact(towards_zero),
            (false, false) => Floor::Inexact(towards_zero),
            (false, true) => match towards_zero.checked_sub(i256::ONE) {
                Some(below) => Floor::Inexact(below),
                None => Floor::Below,
            },
        }
    }

    /// The number, if it is whole and an `i128`.
    pub(crate) fn to_i128(&self) -> Option<i128> {
        match self.floor(0) {
            Floor::Exact(value) => value.to_i128(),
            _ => None,
        }
    }

    /// The nearest Float64; an infinity beyond the largest one.
    pub(crate) fn to_f64(&self) -> f64 {
        self.as_float_text().parse().unwrap_or(f64::NAN)
    }

    /// The nearest Float32, rounded once; an infinity beyond the largest one.
    pub(crate) fn to_f32(&self) -> f32 {
        self.as_float_text().parse().unwrap_or(f32::NAN)
    }

    fn as_float_text(&self) -> String {
        let sign = if self.is_negative { "-" } else { "" };
        let digits = if self.is_zero() { "0" } else { &self.digits };
        format!("{sign}{digits}e{}", self.exponent)
    }
}

/// Writes digits that are read back as the same number.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_negative { "-" } else { "" })?;
        let n_digits = i64::try_from(self.digits.len()).unwrap_or(i64::MAX);
        let n_whole = n_digits.saturating_add(self.exponent);
        let n_zeros = usize::try_from(self.exponent.unsigned_abs()).unwrap_or(usize::MAX);
        let digits = &self.digits;
        match usize::try_from(n_whole) {
            _ if self.is_zero() => f.write_str("0"),
            Ok(_) if self.exponent >= 0 && n_whole <= PLAIN_DIGITS_MAX => {
                write!(f, "{digits}{:0<n_zeros$}", "")
            }
            Ok(n_whole) if self.exponent < 0 && n_whole > 0 => {
                let (whole, fraction) = digits.split_at_checked(n_whole).unwrap_or((digits, "0"));
                write!(f, "{whole}.{fraction}")
            }
            _ if self.exponent < 0 && self.exponent > -PLAIN_DIGITS_MAX => {
                write!(f, "0.{digits:0>n_zeros$}")
            }
            _ => write!(f, "{digits}e{}", self.exponent),
        }
    }
}

/// An exponent of so many digits that no type has such numbers is as good as a smaller one.
fn parse_exponent(text: &str) -> Option<i64> {
    const BEYOND: i64 = 1 << 40;
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse().unwrap_or(BEYOND).min(BEYOND);
    Some(if text.starts_with('-') { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_form() {
        let number = |text: &str| Number::parse(text).unwrap();
        for (left, right) in [
            ("1500", "+1.5e3"),
            ("0.05", "5E-2"),
            (".5", "000.500"),
            ("5.", "5"),
            ("0", "0.000e99"),
            ("-0.30", "-3e-1"),
        ] {
            assert_eq!(number(left), number(right), "{left} {right}");
        }
        assert_ne!(number("1"), number("-1"));
        for wrong in [
            "", "-", ".", "e5", ".e5", "1e", "1e+", "1e1.5", "--1", "1_000", "٣", "1e5e5", "0x1",
        ] {
            assert_eq!(Number::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn whole_numbers_below_keep_every_digit() {
        let floor = |text: &str, scale| Number::parse(text).unwrap().floor(scale);
        let exact = |value: i128| Floor::Exact(i256::from_i128(value));
        let inexact = |value: i128| Floor::Inexact(i256::from_i128(value));
        assert_eq!(floor("12.5", 2), exact(1_250));
        assert_eq!(floor("-12.5e1", 0), exact(-125));
        assert_eq!(floor("12.5", 0), inexact(12));
        assert_eq!(floor("-12.5", 0), inexact(-13));
        assert_eq!(floor("0.05", 0), inexact(0));
        assert_eq!(floor("-0.05", 0), inexact(-1));
        assert_eq!(floor("-1e-999999999999999999999", 127), inexact(-1));
        assert_eq!(floor("1200", -2), exact(12));
        assert_eq!(floor("1250", -2), inexact(12));
        assert_eq!(floor("-0.0", 3), exact(0));
        assert_eq!(floor("0e999999999999999999999", 5), exact(0));
        let max = i256::MAX.to_string();
        assert_eq!(floor(&max, 0), Floor::Exact(i256::MAX));
        assert_eq!(floor(&format!("{max}.5"), 0), Floor::Inexact(i256::MAX));
        let min = i256::MIN.to_string();
        assert_eq!(floor(&min, 0), Floor::Exact(i256::MIN));
        assert_eq!(floor(&format!("{min}.5"), 0), Floor::Below);
        for beyond in ["1e77", "6e76", "1e999999999999999999999"] {
            assert_eq!(floor(beyond, 0), Floor::Above, "{beyond}");
            assert_eq!(floor(&format!("-{beyond}"), 0), Floor::Below, "{beyond}");
        }
    }

    #[test]
    fn numbers_are_written_as_they_are_read() {
        for (text, written) in [
            ("0", "0"),
            ("-0.0", "-0"),
            ("1500", "1500"),
            ("1.5e3", "1500"),
            ("-12.50", "-12.5"),
            ("0.05", "0.05"),
            ("7e-18", "0.000000000000000007"),
            ("1e40", "1e40"),
            ("1e39", "1000000000000000000000000000000000000000"),
            ("12e-41", "12e-41"),
            ("1e-999999999999999999999", "1e-1099511627776"),
        ] {
            let number = Number::parse(text).unwrap();
            assert_eq!(number.to_string(), written);
            assert_eq!(Number::parse(written), Some(number), "{text}");
        }
    }

    #[test]
    fn floats_are_the_nearest() {
        let number = |text: &str| Number::parse(text).unwrap();
        assert_eq!(number("0.1").to_f64(), 0.1);
        assert_eq!(number("0.1").to_f32(), 0.1);
        assert_eq!(number("1e-400").to_f64(), 0.0);
        assert_eq!(number("1e400").to_f64(), f64::INFINITY);
        assert_eq!(number("-1e39").to_f32(), f32::NEG_INFINITY);
        assert!(number("-0").to_f64().is_sign_negative());
        assert_eq!(number("9007199254740993").to_f64(), 9_007_199_254_740_992.0);
    }
}
