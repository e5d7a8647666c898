//! Fields and checks that decoder and encoder share.

use tarsia_bits::{packed_bytes, spare_bits};
use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Node, NodeSpec, Result, Tree, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.fastpfor";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Values of a group, which has a width of its own.
pub const GROUP_VALUES: usize = 128;

/// Numbers of bits that a high may have, and 0.
pub(crate) const HIGH_WIDTHS: usize = 65;

/// How the widths of a page's groups are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Each group is as wide as its widest value. The fastest.
    Bp128,
    /// Groups may be narrower. Values that are wider are exceptions, whose high bits lie apart.
    FastPfor,
}

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Bp128, Self::FastPfor];

    /// The node's parameter.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Bp128 => 0,
            Self::FastPfor => 1,
        }
    }

    pub(crate) fn of(node: &Node<'_>) -> Result<Self> {
        let mut reader = ByteReader::new(node.params);
        let found = reader.u8("fastpfor.scheme")?;
        let known = Self::ALL.into_iter().find(|it| it.number() == found);
        reader.finish("fastpfor.params")?;
        known.ok_or_else(|| Error::corrupt("fastpfor.scheme", 0, found, "0 or 1"))
    }
}

/// The tree `fastpfor`, which has no children.
pub fn tree(scheme: Scheme) -> Tree {
    Tree::leaf(ID, VERSION, &[scheme.number()])
}

/// Checks a node and returns its needs. Refuses unknown schemes, and values that are not numbers of 1, 2, 4 or 8 bytes.
pub(crate) fn check_node(node: &Node<'_>) -> Result<NodeSpec> {
    value_bytes(node)?;
    Scheme::of(node)?;
    Ok(NodeSpec::LEAF)
}

/// Bytes of a value.
pub(crate) fn value_bytes(node: &Node<'_>) -> Result<usize> {
    node.number_bytes("values other than numbers of 1, 2, 4 or 8 bytes in tarsia.fastpfor")
}

/// Bits that the unit has for a high of this width. A high of one bit is always 1.
pub(crate) fn stored_bits(high_width: u8) -> u64 {
    match high_width {
        1 => 0,
        width => width.into(),
    }
}

/// A unit taken apart. All fields are checked but the positions.
pub(crate) struct UnitParts<'a> {
    /// The whole unit.
    pub(crate) bytes: &'a [u8],
    pub(crate) n_values: usize,
    /// 1, 2, 4 or 8.
    pub(crate) value_bytes: usize,
    /// The bits that each group keeps of its values.
    pub(crate) widths: &'a [u8],
    /// The number of exceptions of each group; empty if no group has any.
    pub(crate) counts: &'a [u8],
    /// Bits of the highs of each group that has exceptions.
    pub(crate) high_widths: &'a [u8],
    /// The place of each exception in its group.
    pub(crate) positions: &'a [u8],
    pub(crate) positions_at: usize,
    /// For each width of highs, the bit of the unit where the next of them starts: at first, the first.
    pub(crate) highs_at_bit: [u64; HIGH_WIDTHS],
    /// The groups.
    pub(crate) packed: &'a [u8],
}

impl<'a> UnitParts<'a> {
    /// A unit of `n_values` numbers that is not taken apart yet. The parsers fill it in place: a copy of it would take
    /// longer than they do.
    pub(crate) fn new(bytes: &'a [u8], n_values: usize, value_bytes: usize) -> Self {
        Self {
            bytes,
            n_values,
            value_bytes,
            widths: &[],
            counts: &[],
            high_widths: &[],
            positions: &[],
            positions_at: 0,
            highs_at_bit: [0; HIGH_WIDTHS],
            packed: &[],
        }
    }

    /// Takes the unit apart.
    pub(crate) fn parse(&mut self, scheme: Scheme) -> Result<()> {
        let mut reader = self.parse_front(scheme)?;
        let (whole, last) = whole_and_last(self.widths, self.n_values);
        let whole_bytes = sum(whole) * (GROUP_VALUES / 8) as u64;
        let in_last = (self.n_values % GROUP_VALUES) as u64;
        let width = last.first().copied().unwrap_or(0).into();
        let at = reader.position();
        // A length beyond `usize` is longer than the bytes at hand.
        let needed = usize::try_from(whole_bytes + packed_bytes(in_last, width));
        self.packed = reader.take(needed.unwrap_or(usize::MAX), "fastpfor.packed")?;
        reader.finish("fastpfor.packed")?;
        let n_spare = spare_bits(in_last, width);
        check_spare(self.packed, n_spare, "fastpfor.packed", at)
    }

    /// Reads the fields before the packed values. Returns the reader behind them.
    pub(crate) fn parse_front(&mut self, scheme: Scheme) -> Result<ByteReader<'a>> {
        let mut reader = ByteReader::new(self.bytes);
        let n_groups = self.n_values.div_ceil(GROUP_VALUES);
        let value_bits = self.value_bytes as u8 * 8;
        self.widths = reader.take(n_groups, "fastpfor.widths")?;
        let allowed = "at most the bits of a value";
        check_largest(self.widths, value_bits, "fastpfor.widths", 0, allowed)?;
        if scheme == Scheme::FastPfor {
            self.parse_exceptions(&mut reader)?;
        }
        Ok(reader)
    }

    fn parse_exceptions(&mut self, reader: &mut ByteReader<'a>) -> Result<()> {
        let counts_at = reader.position();
        let counts = reader.take(self.widths.len(), "fastpfor.counts")?;
        let (whole, last) = whole_and_last(counts, self.n_values);
        let last_at = counts_at + whole.len();
        let in_last = (self.n_values % GROUP_VALUES) as u8;
        let allowed = "at most the values of the group";
        check_largest(
            whole,
            GROUP_VALUES as u8,
            "fastpfor.counts",
            counts_at,
            allowed,
        )?;
        check_largest(last, in_last, "fastpfor.counts", last_at, allowed)?;

        let at = reader.position();
        let n_exceptional = counts.iter().filter(|count| **count != 0).count();
        if n_exceptional == 0 {
            return Ok(());
        }
        self.counts = counts;
        self.high_widths = reader.take(n_exceptional, "fastpfor.high_widths")?;
        let value_bits = self.value_bytes as u8 * 8;
        let mut n_highs = [0; HIGH_WIDTHS];
        let exceptional = self
            .widths
            .iter()
            .zip(counts)
            .filter(|(_, count)| **count != 0);
        for (i, ((width, count), high_width)) in exceptional.zip(self.high_widths).enumerate() {
            let is_allowed = (1..=value_bits - width).contains(high_width);
            match n_highs.get_mut(usize::from(*high_width)) {
                Some(n) if is_allowed => *n += u64::from(*count),
                _ => {
                    let allowed =
                        "1 or more, and with the group's width at most the bits of a value";
                    let field = "fastpfor.high_widths";
                    return Err(Error::corrupt(field, at + i, *high_width, allowed));
                }
            }
        }
        self.positions_at = reader.position();
        self.positions = reader.take(sum(counts) as usize, "fastpfor.positions")?;
        for (width, (at_bit, n)) in self.highs_at_bit.iter_mut().zip(n_highs).enumerate() {
            if n == 0 {
                continue;
            }
            let at = reader.position();
            let n_bits = n * stored_bits(width as u8);
            *at_bit = at as u64 * 8;
            let n_bytes = usize::try_from(n_bits.div_ceil(8)).unwrap_or(usize::MAX);
            let highs = reader.take(n_bytes, "fastpfor.highs")?;
            check_spare(
                highs,
                (n_bits.wrapping_neg() % 8) as u32,
                "fastpfor.highs",
                at,
            )?;
        }
        Ok(())
    }
}

/// The part of one number per group that is of whole groups, and that of a group with fewer values.
fn whole_and_last(of_groups: &[u8], n_values: usize) -> (&[u8], &[u8]) {
    let n_whole = n_values / GROUP_VALUES;
    of_groups.split_at_checked(n_whole).unwrap_or_default()
}

/// The sum of these numbers.
pub(crate) fn sum(numbers: &[u8]) -> u64 {
    numbers.iter().map(|number| u64::from(*number)).sum()
}

fn check_largest(
    numbers: &[u8],
    max: u8,
    field: &'static str,
    at: usize,
    allowed: &'static str,
) -> Result<()> {
    // No early exit, so that the loop vectorises.
    if numbers.iter().fold(0, |largest, it| *it.max(&largest)) <= max {
        return Ok(());
    }
    let first = numbers.iter().enumerate().find(|(_, it)| **it > max);
    let (i, found) = first.map_or((0, 0), |(i, found)| (i, *found));
    Err(Error::corrupt(field, at + i, found, allowed))
}

/// Refuses spare bits of the last of `bytes`, which lie at byte `at` of the unit, that are set.
fn check_spare(bytes: &[u8], n_spare: u32, field: &'static str, at: usize) -> Result<()> {
    match bytes.last() {
        Some(last) if n_spare > 0 && last >> (8 - n_spare) != 0 => {
            let at = at + bytes.len() - 1;
            Err(Error::corrupt(field, at, *last, "spare bits zero"))
        }
        _ => Ok(()),
    }
}
