//! Numbers as they are written, with all their digits.

/// Most digits of a whole number that a type holds: those of Decimal256.
const DIGITS_MAX: usize = 76;

/// A finite number of any size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Number {
    is_negative: bool,
    /// Without zeros at either end; empty for zero.
    digits: String,
    /// The number is `digits · 10^exponent`.
    exponent: i64,
}

impl Number {
    /// Reads digits with an optional sign, point and exponent; `None` for anything else.
    pub(super) fn parse(text: &str) -> Option<Number> {
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

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(super) fn is_whole(&self) -> bool {
        self.exponent >= 0
    }

    /// The digits of the number times `10^scale`, with its sign; `None` if that is no whole number, or one that no type
    /// holds.
    pub(super) fn scaled(&self, scale: i8) -> Option<String> {
        if self.is_zero() {
            return Some("0".to_owned());
        }
        let n_zeros = usize::try_from(self.exponent.checked_add(i64::from(scale))?).ok()?;
        if self.digits.len().checked_add(n_zeros)? > DIGITS_MAX {
            return None;
        }
        let sign = if self.is_negative { "-" } else { "" };
        Some(format!("{sign}{}{}", self.digits, "0".repeat(n_zeros)))
    }

    /// The nearest Float64; `None` beyond the largest one.
    pub(super) fn to_f64(&self) -> Option<f64> {
        self.as_float_text()
            .parse()
            .ok()
            .filter(|it: &f64| it.is_finite())
    }

    /// The nearest Float32, rounded once; `None` beyond the largest one.
    pub(super) fn to_f32(&self) -> Option<f32> {
        self.as_float_text()
            .parse()
            .ok()
            .filter(|it: &f32| it.is_finite())
    }

    fn as_float_text(&self) -> String {
        let sign = if self.is_negative { "-" } else { "" };
        let digits = if self.is_zero() { "0" } else { &self.digits };
        format!("{sign}{digits}e{}", self.exponent)
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
    fn scaled_numbers_keep_every_digit() {
        let scaled = |text: &str, scale| Number::parse(text).unwrap().scaled(scale);
        assert_eq!(scaled("12.5", 2).as_deref(), Some("1250"));
        assert_eq!(scaled("-12.5e1", 0).as_deref(), Some("-125"));
        assert_eq!(scaled("12.5", 0), None);
        assert_eq!(scaled("1200", -2).as_deref(), Some("12"));
        assert_eq!(scaled("1250", -2), None);
        assert_eq!(scaled("-0.0", 3).as_deref(), Some("0"));
        assert_eq!(scaled("1e75", 0).map(|it| it.len()), Some(76));
        for beyond in [
            "1e76",
            "1e999999999999999999999",
            "1e-999999999999999999999",
        ] {
            assert_eq!(scaled(beyond, 0), None, "{beyond}");
        }
        assert_eq!(scaled("0e999999999999999999999", 5).as_deref(), Some("0"));
    }

    #[test]
    fn floats_are_the_nearest() {
        let number = |text: &str| Number::parse(text).unwrap();
        assert_eq!(number("0.1").to_f64(), Some(0.1));
        assert_eq!(number("0.1").to_f32(), Some(0.1));
        assert_eq!(number("1e-400").to_f64(), Some(0.0));
        assert_eq!(number("1e400").to_f64(), None);
        assert_eq!(number("1e39").to_f32(), None);
        assert!(number("-0").to_f64().unwrap().is_sign_negative());
        assert_eq!(
            number("9007199254740993").to_f64(),
            Some(9_007_199_254_740_992.0)
        );
    }
}
