//! Tests entries of a dictionary once, and finds the values by their codes.

use tarsia_codec::toolbox::{BitsOut, Holds, test_values};
use tarsia_codec::{
    Decoder, Error, FixedSlice, NumberRange, Order, Output, Predicate, Result, Scratch, Selection,
    Unit, ValueType, Values,
};

use crate::gather::{Codes, gather_codes};
use crate::layout::CodeBytes;

/// The codes of values, and their decoder.
pub(crate) struct Coded<'a> {
    pub(crate) n_entries: usize,
    pub(crate) codes: &'a dyn Decoder,
    pub(crate) unit: Unit<'a>,
    pub(crate) code_bytes: CodeBytes,
}

impl Coded<'_> {
    /// Sets the bits of the selected values for whose entries a predicate holds. `test` sets a bit for each entry.
    pub(crate) fn find(
        &self,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        test: impl FnOnce(&mut BitsOut<'_>, &mut Scratch) -> Result<()>,
        out: &mut BitsOut<'_>,
    ) -> Result<()> {
        let n_entries = self.n_entries;
        scratch.with_values(n_entries.div_ceil(8), |bits: &mut [u8], scratch| {
            bits.fill(0);
            let to = Output::Bits {
                bytes: &mut *bits,
                offset: 0,
            };
            test(&mut BitsOut::new(to, n_entries)?, scratch)?;
            match Held::of(bits, n_entries) {
                Held::None => out.fill(false),
                Held::All => out.fill(true),
                Held::Run(low, high) => {
                    let codes = Holds {
                        values: self.codes,
                        value_type: ValueType::Fixed(self.code_bytes.bytes().into()),
                        predicate: Predicate::Within(NumberRange {
                            order: Order::Unsigned,
                            low: low as i128,
                            high: high as i128,
                        }),
                    };
                    codes.decode(self.unit, selection, scratch, out.as_output())?;
                }
                Held::Some => self.look_up(selection, bits, n_entries, scratch, out)?,
            }
            Ok(())
        })
    }

    /// Copies the bits of the entries by the codes of the values.
    fn look_up(
        &self,
        selection: Selection<'_>,
        bits: &[u8],
        n_entries: usize,
        scratch: &mut Scratch,
        out: &mut BitsOut<'_>,
    ) -> Result<()> {
        let n_values = out.len();
        let mut codes = scratch.take(n_values.saturating_mul(self.code_bytes.bytes().into()));
        let to = Output::Fixed(&mut codes);
        let done = self.codes.decode(self.unit, selection, scratch, to);
        let done = done.and_then(|_| {
            let codes = Codes::new(&codes, self.code_bytes)?;
            // A byte for each entry is found faster than a bit.
            scratch.with_values(n_entries, |held: &mut [u8], scratch| {
                for (i, to) in held.iter_mut().enumerate() {
                    *to = bit(bits, i).into();
                }
                scratch.with_values(n_values, |found: &mut [u8], scratch| {
                    codes.check(n_entries)?;
                    gather_codes(held, 1, codes, found)
                        .map_err(|_| Error::invalid("codes that do not fit their entries"))?;
                    let found = Values::Fixed(FixedSlice::new(found, 1, n_values)?);
                    test_values(&ONE, found, scratch, out)
                })
            })
        });
        scratch.give(codes);
        done
    }
}

/// The range of the number 1.
const ONE: Predicate<'static> = Predicate::Within(NumberRange {
    order: Order::Unsigned,
    low: 1,
    high: 1,
});

/// For which entries a predicate holds.
enum Held {
    None,
    All,
    /// All from one to another, both included, and no others.
    Run(usize, usize),
    Some,
}

impl Held {
    fn of(bits: &[u8], n_entries: usize) -> Self {
        let n_held: u32 = bits.iter().map(|byte| byte.count_ones()).sum();
        let n_held = n_held as usize;
        if n_held == n_entries {
            return Self::All;
        }
        match (0..n_entries).find(|i| bit(bits, *i)) {
            None => Self::None,
            Some(low) if (low..low + n_held).all(|i| bit(bits, i)) => {
                Self::Run(low, low + n_held - 1)
            }
            Some(_) => Self::Some,
        }
    }
}

fn bit(bits: &[u8], i: usize) -> bool {
    bits.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 == 1)
}
