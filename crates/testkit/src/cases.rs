//! Named value sets, the same ones for every encoding: edge sizes around a block, extremes, every bit width, outliers,
//! runs, NaN payloads, skewed strings. Seeds are fixed.

use tarsia_codec::{BitSlice, BytesSlice, FixedSlice, ValueType, Values};

use crate::rng::Rng;

/// Sizes around a word, a packing block of 1,024 values and the largest block of 65,536.
pub const SIZES: [usize; 14] = [
    0, 1, 2, 7, 8, 63, 64, 65, 1023, 1024, 1025, 3000, 65_535, 65_536,
];

/// Values with a name for messages.
#[derive(Debug, Clone)]
pub struct Case {
    /// Describes what is special about the values, then their number: `all equal x1025`.
    pub name: String,
    /// The values.
    pub values: CaseValues,
}

/// Owned values of each type.
#[derive(Debug, Clone)]
pub enum CaseValues {
    /// Packed bits; value 0 is bit 0 of byte 0.
    Bits {
        /// `len` bits, spare ones zero.
        bytes: Vec<u8>,
        /// Number of values.
        len: usize,
    },
    /// Fixed-width values.
    Fixed {
        /// `width x len` bytes.
        bytes: Vec<u8>,
        /// Bytes of one value.
        width: usize,
        /// Number of values.
        len: usize,
    },
    /// Byte strings.
    Bytes {
        /// One more than there are values; the first is 0.
        offsets: Vec<u32>,
        /// The bytes of all strings.
        data: Vec<u8>,
    },
}

impl Case {
    /// A case of bits.
    pub fn bits(name: &str, bits: &[bool]) -> Self {
        let mut bytes = vec![0; bits.len().div_ceil(8)];
        for (i, bit) in bits.iter().enumerate() {
            bytes[i / 8] |= u8::from(*bit) << (i % 8);
        }
        Self {
            name: format!("{name} x{}", bits.len()),
            values: CaseValues::Bits {
                bytes,
                len: bits.len(),
            },
        }
    }

    /// A case of numbers, each cut to its lowest `width` bytes (zero-extended beyond 16).
    pub fn numbers(name: &str, width: usize, numbers: &[u128]) -> Self {
        let mut bytes = Vec::with_capacity(width * numbers.len());
        for number in numbers {
            let le = number.to_le_bytes();
            bytes.extend_from_slice(&le[..width.min(16)]);
            bytes.resize(bytes.len() + width.saturating_sub(16), 0);
        }
        Self::fixed(name, width, numbers.len(), bytes)
    }

    /// A case of `len` fixed-width values from their bytes.
    ///
    /// # Panics
    /// Where `bytes` is not `width x len` long.
    pub fn fixed(name: &str, width: usize, len: usize, bytes: Vec<u8>) -> Self {
        assert_eq!(bytes.len(), width * len, "{name}");
        Self {
            name: format!("{name} x{len}"),
            values: CaseValues::Fixed { bytes, width, len },
        }
    }

    /// A case of byte strings.
    pub fn strings<S: AsRef<[u8]>>(name: &str, strings: &[S]) -> Self {
        let mut offsets = vec![0u32];
        let mut data = Vec::new();
        for string in strings {
            data.extend_from_slice(string.as_ref());
            offsets.push(u32::try_from(data.len()).expect("test strings stay below 4 GiB"));
        }
        Self {
            name: format!("{name} x{}", strings.len()),
            values: CaseValues::Bytes { offsets, data },
        }
    }

    /// A copy of some values.
    pub fn copy_of(name: &str, values: Values<'_>) -> Self {
        let n = 0..values.len();
        match values {
            Values::Bits(bits) => Self::bits(name, &n.map(|i| bits.get(i)).collect::<Vec<_>>()),
            Values::Fixed(fixed) => {
                Self::fixed(name, fixed.width(), fixed.len(), fixed.bytes().to_vec())
            }
            Values::Bytes(strings) => {
                Self::strings(name, &n.map(|i| strings.get(i)).collect::<Vec<_>>())
            }
        }
    }

    /// A view of the values.
    pub fn values(&self) -> Values<'_> {
        match &self.values {
            CaseValues::Bits { bytes, len } => {
                Values::Bits(BitSlice::new(bytes, 0, *len).expect("bits of a case"))
            }
            CaseValues::Fixed { bytes, width, len } => {
                Values::Fixed(FixedSlice::new(bytes, *width, *len).expect("values of a case"))
            }
            CaseValues::Bytes { offsets, data } => {
                Values::Bytes(BytesSlice::new(offsets, data).expect("strings of a case"))
            }
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.values().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their type.
    pub fn value_type(&self) -> ValueType {
        self.values().value_type()
    }
}

/// All cases for a type.
pub fn cases(value_type: ValueType) -> Vec<Case> {
    match value_type {
        ValueType::Bits => bits_cases(),
        ValueType::Fixed(width) => fixed_cases(width as usize),
        ValueType::Bytes => bytes_cases(),
    }
}

/// Cases of bits.
pub fn bits_cases() -> Vec<Case> {
    let mut rng = Rng::new(0xb175);
    let mut all = Vec::new();
    for n in SIZES {
        let random: Vec<bool> = (0..n).map(|_| rng.flip()).collect();
        all.push(Case::bits("random", &random));
    }
    for n in [1, 64, 1025, 65_536] {
        all.push(Case::bits("all zero", &vec![false; n]));
        all.push(Case::bits("all one", &vec![true; n]));
    }
    for n in [65, 1024, 65_535] {
        let alternating: Vec<bool> = (0..n).map(|i| i % 2 == 1).collect();
        all.push(Case::bits("alternating", &alternating));
        for percent in [1, 99] {
            let skewed: Vec<bool> = (0..n).map(|_| rng.percent(percent)).collect();
            all.push(Case::bits(&format!("{percent} % set"), &skewed));
        }
        let mut runs = Vec::with_capacity(n);
        while runs.len() < n {
            let run = rng.between(1, 300).min(n - runs.len());
            let bit = rng.flip();
            runs.resize(runs.len() + run, bit);
        }
        all.push(Case::bits("runs", &runs));
        let mut single = vec![false; n];
        single[n - 1] = true;
        all.push(Case::bits("only the last set", &single));
    }
    all
}

/// Cases of values of `width` bytes. Widths up to 16 get numbers (every bit width up to 64, extremes of both signs),
/// 2, 4 and 8 also floats; wider ones get byte patterns. A case holds at most about 1 MiB.
pub fn fixed_cases(width: usize) -> Vec<Case> {
    let mut rng = Rng::new(0xf1ed ^ width as u64);
    let mut all = Vec::new();
    let fits = |n: usize| width * n <= 1 << 20 || n <= 2;
    for n in SIZES.into_iter().filter(|n| fits(*n)) {
        let bytes = rng.bytes(n * width);
        all.push(Case::fixed("random", width, n, bytes));
    }
    for n in [1, 65, 1025, 65_536].into_iter().filter(|n| fits(*n)) {
        all.push(Case::fixed("all zero", width, n, vec![0; n * width]));
        all.push(Case::fixed("all ones", width, n, vec![0xff; n * width]));
        let one = rng.bytes(width);
        all.push(Case::fixed("all equal", width, n, one.repeat(n)));
    }
    for n_distinct in [2, 17, 300] {
        for n in [64, 1025, 20_000].into_iter().filter(|n| fits(*n)) {
            let table: Vec<Vec<u8>> = (0..n_distinct).map(|_| rng.bytes(width)).collect();
            let bytes: Vec<u8> = (0..n).flat_map(|_| rng.pick(&table).clone()).collect();
            all.push(Case::fixed(
                &format!("{n_distinct} distinct"),
                width,
                n,
                bytes,
            ));
        }
    }
    if fits(1025) {
        let mut bytes = Vec::new();
        while bytes.len() < 1025 * width && width > 0 {
            let value = rng.bytes(width);
            let n_left = 1025 - bytes.len() / width;
            bytes.extend(value.repeat(rng.between(1, 40).min(n_left)));
        }
        all.push(Case::fixed("runs", width, 1025, bytes));
    }
    if (1..=16).contains(&width) {
        number_cases(width, &mut rng, &mut all);
    }
    float_cases(width, &mut rng, &mut all);
    all
}

fn random_u128(rng: &mut Rng) -> u128 {
    u128::from(rng.u64()) << 64 | u128::from(rng.u64())
}

/// The lowest `n_bits` bits of a random number.
fn random_bits(rng: &mut Rng, n_bits: usize) -> u128 {
    match n_bits {
        0 => 0,
        _ => random_u128(rng) >> (128 - n_bits.min(128)),
    }
}

fn number_cases(width: usize, rng: &mut Rng, all: &mut Vec<Case>) {
    let n_bits = width * 8;
    let min = 1u128 << (n_bits - 1);
    let max = min - 1;
    let extremes = [0, 1, max, min, u128::MAX, max - 1, min + 1];
    let mixed: Vec<u128> = (0..1025).map(|i| extremes[i % extremes.len()]).collect();
    all.push(Case::numbers("extremes of both signs", width, &mixed));
    for (i, extreme) in extremes.into_iter().enumerate() {
        all.push(Case::numbers(
            &format!("extreme {i} alone"),
            width,
            &[extreme; 3],
        ));
    }
    for w in 0..=n_bits.min(64) {
        // Alternate between full and partial packing blocks.
        let n = if w % 2 == 0 { 1024 } else { 333 };
        let base = random_u128(rng);
        let narrow: Vec<u128> = (0..n).map(|_| random_bits(rng, w)).collect();
        all.push(Case::numbers(&format!("{w} bits"), width, &narrow));
        let based: Vec<u128> = narrow.iter().map(|v| base.wrapping_add(*v)).collect();
        all.push(Case::numbers(
            &format!("{w} bits over a base"),
            width,
            &based,
        ));
    }
    for n in [65, 1025, 65_536]
        .into_iter()
        .filter(|n| n * width <= 1 << 20)
    {
        let mut at = min.wrapping_add(random_bits(rng, n_bits / 2));
        let sorted: Vec<u128> = (0..n)
            .map(|_| {
                at = at.wrapping_add(random_bits(rng, (n_bits / 4).max(2)));
                at
            })
            .collect();
        all.push(Case::numbers("rising", width, &sorted));
        let falling: Vec<u128> = sorted.into_iter().rev().collect();
        all.push(Case::numbers("falling", width, &falling));
        let sequence: Vec<u128> = (0..n as u128).map(|i| max.wrapping_add(i * 3)).collect();
        all.push(Case::numbers(
            "a sequence that wraps around",
            width,
            &sequence,
        ));
        let signed: Vec<u128> = (0..n)
            .map(|_| random_bits(rng, 3).wrapping_sub(4))
            .collect();
        all.push(Case::numbers("small of both signs", width, &signed));
        let outliers: Vec<u128> = (0..n)
            .map(|_| match rng.below(200) {
                0 => random_u128(rng),
                _ => random_bits(rng, 5.min(n_bits)),
            })
            .collect();
        all.push(Case::numbers("few outliers", width, &outliers));
    }
    let mut last = vec![7u128; 1025];
    last[1024] = max;
    all.push(Case::numbers("one outlier at the end", width, &last));
}

fn float_cases(width: usize, rng: &mut Rng, all: &mut Vec<Case>) {
    // Sign, exponent and fraction bits; NaN payloads and negative zero must survive bit for bit.
    let (exponent_bits, fraction_bits) = match width {
        2 => (5, 10),
        4 => (8, 23),
        8 => (11, 52),
        _ => return,
    };
    let infinity = ((1u128 << exponent_bits) - 1) << fraction_bits;
    let sign = 1u128 << (width * 8 - 1);
    let quiet = 1u128 << (fraction_bits - 1);
    let specials = [
        0,
        sign,
        infinity,
        infinity | sign,
        infinity | quiet,
        infinity | quiet | sign,
        infinity | quiet | 0x2a,
        infinity | 1,
        infinity | sign | 5,
        1,
        sign | 1,
    ];
    for n in [11, 1025] {
        let values: Vec<u128> = (0..n).map(|i| specials[i % specials.len()]).collect();
        all.push(Case::numbers(
            "NaN payloads, infinities, zeros of both signs",
            width,
            &values,
        ));
    }
    let decimals: Vec<u128> = (0..3000)
        .map(|_| {
            let cents = rng.below(1_000_000) as f64 / 100.0 - 2000.0;
            match width {
                8 => u128::from(cents.to_bits()),
                4 => u128::from((cents as f32).to_bits()),
                _ => u128::from((cents as f32).to_bits() >> 16),
            }
        })
        .collect();
    all.push(Case::numbers("decimals as floats", width, &decimals));
    let holes: Vec<u128> = decimals
        .iter()
        .map(|value| {
            if rng.percent(3) {
                infinity | quiet
            } else {
                *value
            }
        })
        .collect();
    all.push(Case::numbers("decimals with NaN", width, &holes));
}

/// Cases of byte strings.
pub fn bytes_cases() -> Vec<Case> {
    let mut rng = Rng::new(0x57a1);
    let mut all = vec![
        Case::strings::<&str>("none", &[]),
        Case::strings("one empty", &[""]),
        Case::strings("one byte", &["x"]),
        Case::strings("one long", &[rng.bytes(100_000)]),
        Case::strings(
            "one long between empty",
            &[vec![], rng.bytes(70_000), vec![]],
        ),
        Case::strings("one long after short", &{
            let mut strings = vec![b"ab".to_vec(); 1030];
            strings.push(rng.bytes(66_000));
            strings
        }),
    ];
    for n in [2, 1024, 65_536] {
        all.push(Case::strings("all empty", &vec![""; n]));
        all.push(Case::strings("all equal", &vec!["Intarsia"; n]));
    }
    for n in SIZES {
        let words: Vec<Vec<u8>> = (0..n).map(|_| word(&mut rng, 12)).collect();
        all.push(Case::strings("short", &words));
    }
    for n in [1023, 1025, 20_000] {
        let skewed: Vec<Vec<u8>> = (0..n)
            .map(|_| match rng.below(100) {
                0 => word(&mut rng, 900),
                1..60 => vec![],
                _ => word(&mut rng, 20),
            })
            .collect();
        all.push(Case::strings("skewed lengths", &skewed));
        let table: Vec<Vec<u8>> = (0..40).map(|_| word(&mut rng, 25)).collect();
        let repeated: Vec<Vec<u8>> = (0..n).map(|_| rng.pick(&table).clone()).collect();
        all.push(Case::strings("40 distinct", &repeated));
        let mut sorted: Vec<Vec<u8>> = (0..n)
            .map(|_| [b"https://tarsia/".to_vec(), word(&mut rng, 8)].concat())
            .collect();
        sorted.sort();
        all.push(Case::strings("sorted with a common prefix", &sorted));
    }
    let invalid: Vec<Vec<u8>> = (0..1025)
        .map(|_| {
            let len = rng.below(30);
            let mut value = rng.bytes(len);
            value.push(0xff);
            value
        })
        .collect();
    all.push(Case::strings("not UTF-8", &invalid));
    let equal_length: Vec<Vec<u8>> = (0..1025).map(|_| rng.bytes(16)).collect();
    all.push(Case::strings("equal lengths", &equal_length));
    let text = [
        "naïve",
        "Grüße",
        "数据",
        "🪵🪚",
        "e\u{301}",
        "\0",
        "\"a\",b\r\n",
    ];
    let unicode: Vec<String> = (0..1025)
        .map(|_| format!("{} {}", rng.pick(&text), rng.pick(&text)))
        .collect();
    all.push(Case::strings("Unicode", &unicode));
    all
}

fn word(rng: &mut Rng, len_max: usize) -> Vec<u8> {
    let len = rng.below(len_max + 1);
    (0..len).map(|_| b'a' + rng.below(26) as u8).collect()
}

/// Value `i` as bytes; a bit as one byte.
pub(crate) fn value<'v>(values: &Values<'v>, i: usize) -> &'v [u8] {
    match values {
        Values::Bits(bits) => match bits.get(i) {
            false => &[0],
            true => &[1],
        },
        Values::Fixed(fixed) => fixed.get(i),
        Values::Bytes(strings) => strings.get(i),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_the_edge_sizes() {
        for value_type in [
            ValueType::Bits,
            ValueType::Fixed(1),
            ValueType::Fixed(2),
            ValueType::Fixed(3),
            ValueType::Fixed(4),
            ValueType::Fixed(8),
            ValueType::Fixed(16),
            ValueType::Bytes,
        ] {
            let all = cases(value_type);
            for n in SIZES {
                assert!(all.iter().any(|case| case.len() == n), "{value_type:?} {n}");
            }
            assert!(all.iter().all(|case| case.value_type() == value_type));
        }
        assert!(fixed_cases(0).iter().any(|case| case.len() == 65_536));
        assert!(fixed_cases(1 << 19).iter().any(|case| case.len() == 2));
    }

    #[test]
    fn cases_are_the_same_every_time() {
        let first = format!("{:?}", fixed_cases(4));
        assert_eq!(first, format!("{:?}", fixed_cases(4)));
    }
}
