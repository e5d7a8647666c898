//! Zones computed from values.

use tarsia_codec::{BitSlice, Error, FixedSlice, Result, Values};

use crate::form::ZoneForm;
use crate::order::{
    Float, Number, compare_256, extremes, extremes_by, extremes_of_strings, extremes_of_words,
    first_eight, is_below,
};
use crate::zone::{Bound, Bounds, Zone};

/// A collector of facts about the values of rows, some of them after others.
pub trait Collect {
    /// Adds rows; `validity` has a bit for each, 1 for those that are not null.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for values of another type than is collected.
    fn add(&mut self, values: Values<'_>, validity: Option<BitSlice<'_>>) -> Result<()>;

    /// Adds rows without a value, such as those of which a struct above the column is null.
    fn add_nulls(&mut self, n: u64);

    /// Adds the rows of another collector, which come after those so far.
    fn merge(&mut self, other: &Self);
}

/// Facts about the values of some rows so far.
#[derive(Debug, Clone)]
pub struct ZoneCollector {
    form: ZoneForm,
    rows: u64,
    nulls: u64,
    nans: u64,
    /// The smallest and the largest value.
    bounds: Option<[Vec<u8>; 2]>,
}

impl ZoneCollector {
    /// No rows yet.
    pub fn new(form: ZoneForm) -> Self {
        Self {
            form,
            rows: 0,
            nulls: 0,
            nans: 0,
            bounds: None,
        }
    }
}

impl Collect for ZoneCollector {
    fn add(&mut self, values: Values<'_>, validity: Option<BitSlice<'_>>) -> Result<()> {
        if !self.form.fits(values.value_type()) {
            return Err(Error::invalid("values of another type than the zone's"));
        }
        let n = values.len() as u64;
        let valid = validity.map_or(n, |bits| bits.count_ones() as u64);
        self.rows += n;
        self.nulls += n.saturating_sub(valid);
        match values {
            Values::Bits(bits) => {
                let has = |wanted: bool| {
                    (0..bits.len())
                        .any(|i| bits.get(i) == wanted && validity.is_none_or(|valid| valid.get(i)))
                };
                let (has_false, has_true) = (has(false), has(true));
                if has_false || has_true {
                    self.widen(&[u8::from(!has_false)], &[u8::from(has_true)]);
                }
            }
            Values::Bytes(strings) => {
                if let Some([min, max]) = extremes_of_strings(strings, validity) {
                    self.widen(min, max);
                }
            }
            Values::Fixed(fixed) => self.add_fixed(fixed, validity),
        }
        Ok(())
    }

    fn add_nulls(&mut self, n: u64) {
        self.rows += n;
        self.nulls += n;
    }

    fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.nulls += other.nulls;
        self.nans += other.nans;
        if let Some([min, max]) = &other.bounds {
            self.widen(min, max);
        }
    }
}

impl ZoneCollector {
    fn add_fixed(&mut self, values: FixedSlice<'_>, validity: Option<BitSlice<'_>>) {
        macro_rules! integers {
            ($type:ty) => {{
                let found = extremes(values.bytes(), <$type>::from_le_bytes, validity);
                if found.n > 0 {
                    self.widen(&found.min.to_le_bytes(), &found.max.to_le_bytes());
                }
            }};
        }
        macro_rules! words {
            ($word:ty, $type:ty) => {{
                if validity.is_some() {
                    integers!($type);
                } else if let Some([min, max]) =
                    extremes_of_words::<$word>(values.bytes(), <$type>::MIN != 0)
                {
                    self.widen(&min.to_le_bytes(), &max.to_le_bytes());
                }
            }};
        }
        macro_rules! floats {
            ($bits:ty) => {{
                type Key = <Float<$bits> as Number>::Key;
                let read = |bytes| Float(<$bits>::from_le_bytes(bytes));
                let found = extremes(values.bytes(), read, validity);
                self.nans += found.nans;
                // The key of a key is the number.
                let number = |key: Key| Float(key as $bits).key_and_nan().0.to_le_bytes();
                if found.n > 0 {
                    self.widen(&number(found.min), &number(found.max));
                }
            }};
        }
        match self.form {
            ZoneForm::Unsigned(1) => words!(u8, u8),
            ZoneForm::Unsigned(2) => words!(u16, u16),
            ZoneForm::Unsigned(4) => words!(u32, u32),
            ZoneForm::Unsigned(_) => words!(u64, u64),
            ZoneForm::Signed(1) => words!(u8, i8),
            ZoneForm::Signed(2) => words!(u16, i16),
            ZoneForm::Signed(4) => words!(u32, i32),
            ZoneForm::Signed(8) => words!(u64, i64),
            ZoneForm::Signed(16) => integers!(i128),
            ZoneForm::Float(2) => floats!(u16),
            ZoneForm::Float(4) => floats!(u32),
            ZoneForm::Float(_) => floats!(u64),
            ZoneForm::Signed(_) => {
                let get = |i| values.get(i);
                if let Some([min, max]) = extremes_by(values.len(), get, validity, compare_256) {
                    self.widen(min, max);
                }
            }
            ZoneForm::Bits | ZoneForm::Text | ZoneForm::Binary => {
                let get = |i| values.get(i);
                let compare = |a: &[u8], b: &[u8]| a.cmp(b);
                if let Some([min, max]) = extremes_by(values.len(), get, validity, compare) {
                    self.widen(min, max);
                }
            }
        }
    }

    fn widen(&mut self, min: &[u8], max: &[u8]) {
        let form = self.form;
        match &mut self.bounds {
            None => self.bounds = Some([min.to_vec(), max.to_vec()]),
            Some([low, high]) => {
                if is_below(form, min, low) {
                    *low = min.to_vec();
                }
                if is_below(form, high, max) {
                    *high = max.to_vec();
                }
            }
        }
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The zone of the rows so far, which has `rows` rows, absent ones counted.
    pub fn zone(&self, rows: u32) -> Zone {
        let is_text = self.form == ZoneForm::Text;
        let bound = |value: &[u8]| Bound::of(value, is_text);
        // A zone has fewer than 2^32 rows.
        let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        Zone {
            rows,
            nulls: count(self.nulls),
            nans: count(self.nans),
            bounds: self.bounds.as_ref().map(|[min, max]| Bounds {
                min: bound(min),
                max: bound(max),
            }),
        }
    }

    /// How much of the values of `all` lies between the bounds of these rows, 0 to 1, as far as that can be estimated.
    pub(crate) fn share_of(&self, all: &Self) -> f64 {
        let (Some([min, max]), Some([low, high])) = (&self.bounds, &all.bounds) else {
            return 0.0;
        };
        let skip = low.iter().zip(high).take_while(|(a, b)| a == b).count();
        let place = |value: &[u8]| place_of(self.form, value, skip);
        let whole = place(high) - place(low);
        match whole > 0.0 {
            true => ((place(max) - place(min)) / whole).clamp(0.0, 1.0),
            false => 1.0,
        }
    }
}

/// Where a value lies among all, as a number. Of byte strings `skip` bytes are left out.
fn place_of(form: ZoneForm, value: &[u8], skip: usize) -> f64 {
    let number = |width: usize| {
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(value.iter().take(width)) {
            *to = *from;
        }
        u64::from_le_bytes(bytes)
    };
    match form {
        ZoneForm::Bits | ZoneForm::Unsigned(_) => number(8) as f64,
        ZoneForm::Signed(width @ (1 | 2 | 4 | 8)) => {
            let shift = 64 - 8 * u32::from(width);
            ((number(8) << shift) as i64 >> shift) as f64
        }
        ZoneForm::Signed(_) => {
            let (halves, _) = value.as_chunks::<16>();
            let low = halves.first().copied().unwrap_or_default();
            match halves.get(1) {
                None => i128::from_le_bytes(low) as f64,
                Some(high) => {
                    let high = i128::from_le_bytes(*high) as f64;
                    high * 2f64.powi(128) + u128::from_le_bytes(low) as f64
                }
            }
        }
        ZoneForm::Float(2) => f64::from(Float(number(2) as u16).key().unwrap_or(0)),
        ZoneForm::Float(4) => f64::from(Float(number(4) as u32).key().unwrap_or(0)),
        ZoneForm::Float(_) => Float(number(8)).key().unwrap_or(0) as f64,
        ZoneForm::Text | ZoneForm::Binary => {
            first_eight(value.get(skip..).unwrap_or_default()) as f64
        }
    }
}
