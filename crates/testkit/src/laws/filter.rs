//! Laws of filters.

use tarsia_codec::{
    Comparison, NumberRange, Order, Output, Predicate, Scratch, Unit, ValueType, Values,
};

use super::case::Laws;
use super::expected::{assert_neighbours, gather, indices_of};
use crate::cases::value;

/// For units of more values, one comparison is enough: all take more time.
const MANY_VALUES: usize = 2048;

impl Laws<'_> {
    /// A filter that evaluates a predicate finds what comparing the values finds. A filter that does not, leaves its
    /// output unchanged.
    pub(super) fn check_filter(&mut self, unit: Unit<'_>, values: Values<'_>, at: &str) {
        let n = values.len();
        let mut operands = vec![match self.value_type {
            ValueType::Bits => vec![u8::from(self.rng.flip())],
            ValueType::Fixed(width) => self.rng.bytes(width as usize),
            ValueType::Bytes => b"mmm".to_vec(),
        }];
        let chosen: Vec<usize> = (0..n.min(3)).map(|_| self.rng.below(n)).collect();
        operands.extend(chosen.iter().map(|i| value(&values, *i).to_vec()));
        let among = gather(values, &chosen);
        let mut predicates = vec![Predicate::In(among.values())];
        let first = gather(values, chosen.get(..1).unwrap_or_default());
        predicates.push(Predicate::In(first.values()));
        let mut starts = Vec::new();
        if self.value_type == ValueType::Bytes {
            for operand in &operands {
                let len = self.rng.below(operand.len() + 1);
                starts.push(&operand[..len]);
                starts.push(operand);
            }
        }
        predicates.extend(starts.into_iter().map(Predicate::StartsWith));
        for operand in &operands {
            let order = *self.rng.pick(self.orders());
            let all = [
                Comparison::Equal,
                Comparison::Less,
                Comparison::LessOrEqual,
                Comparison::Greater,
                Comparison::GreaterOrEqual,
            ];
            let one = [*self.rng.pick(&all)];
            for comparison in match n > MANY_VALUES {
                true => one.to_vec(),
                false => all.to_vec(),
            } {
                predicates.push(Predicate::Compare {
                    comparison,
                    order,
                    operand,
                });
            }
        }
        predicates.extend(self.ranges(&operands).into_iter().map(Predicate::Within));
        for predicate in predicates {
            self.check_predicate(unit, values, &predicate, at);
        }
    }

    /// Ranges whose bounds are numbers of these values, in an order of the type: of one number, of the numbers between
    /// two, of all, of none.
    fn ranges(&mut self, operands: &[Vec<u8>]) -> Vec<NumberRange> {
        let order = *self.rng.pick(self.orders());
        let numbers = operands
            .iter()
            .filter_map(|operand| NumberRange::number(order, operand));
        let mut numbers: Vec<i128> = numbers.collect();
        numbers.sort_unstable();
        let (Some(low), Some(high)) = (numbers.first(), numbers.last()) else {
            return vec![NumberRange {
                order: Order::Signed,
                low: 0,
                high: 1,
            }];
        };
        let middle = numbers[numbers.len() / 2];
        let bounds = [
            (middle, middle),
            (*low, middle),
            (middle, i128::MAX),
            (low.saturating_add(1), high.saturating_sub(1)),
            (i128::MIN, i128::MAX),
            (middle.saturating_add(1), middle),
        ];
        bounds
            .iter()
            .map(|(low, high)| NumberRange {
                order,
                low: *low,
                high: *high,
            })
            .collect()
    }

    fn check_predicate(
        &mut self,
        unit: Unit<'_>,
        values: Values<'_>,
        predicate: &Predicate<'_>,
        at: &str,
    ) {
        let selections = self.selections(values.len());
        // All values, and one selection of those that there are.
        let other = self.rng.below(selections.len());
        for selection in [&selections[0], &selections[other]] {
            let at = format!("{at}, filter {predicate:.99?} of {}", selection.describe());
            let selection = selection.as_selection();
            let indices = indices_of(&selection, values.len());
            let n = indices.len();
            let offset = *self.rng.pick(&[0, 1, 8, 13]);
            let before = self.rng.bytes((offset + n).div_ceil(8) + 1);
            let mut bits = before.clone();
            let out = Output::Bits {
                bytes: &mut bits,
                offset,
            };
            let mut scratch = Scratch::new();
            let got = self
                .decoder
                .filter(unit, selection, predicate, &mut scratch, out);
            if !got.unwrap_or_else(|error| panic!("{at}: {error}")) {
                assert!(
                    bits == before,
                    "{at}: nothing was evaluated, yet bits changed"
                );
                continue;
            }
            for (i, index) in indices.into_iter().enumerate() {
                let holds = predicate.holds(self.value_type, value(&values, index));
                let found = bits[(offset + i) / 8] >> ((offset + i) % 8) & 1 == 1;
                assert_eq!(Some(found), holds, "{at}: value {i}");
            }
            assert_neighbours(&bits, &before, offset, n, &at);
        }
    }
}
