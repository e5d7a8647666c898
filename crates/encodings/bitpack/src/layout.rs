//! The fields of a unit, their limits, and the parser.

use tarsia_bits::{packed_bytes, spare_bits};
use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Node, Result, Tree, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.bitpack";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// The tree `bitpack` whose groups may have their own widths and bases ([`Mode::Free`]).
pub fn tree() -> Tree {
    tree_of(Mode::Free)
}

/// The tree `bitpack` with the parameters of `mode`.
pub fn tree_of(mode: Mode) -> Tree {
    Tree::leaf(ID, VERSION, mode.params())
}

/// Bytes of a value, and the mode.
pub(crate) fn parse_node(node: &Node<'_>) -> Result<(usize, Mode)> {
    let mode = Mode::parse(node.params)?;
    let refusal = "values other than numbers of 1, 2, 4 or 8 bytes in tarsia.bitpack";
    Ok((node.number_bytes(refusal)?, mode))
}

/// Bytes of `form`, `width` and `sizes`.
pub const HEADER_BYTES: usize = 3;

/// Values of a group, all with one width and base.
pub const GROUP_VALUES: usize = tarsia_bits::GROUP_VALUES;

/// The most values of a unit with patches: positions have 16 bits.
pub const PATCHED_VALUES_MAX: usize = 1 << 16;

pub(crate) const POSITION_BYTES: usize = 2;
pub(crate) const N_PATCHES_BYTES: usize = 2;

const FORM_GROUP_WIDTHS: u8 = 1;
const FORM_BASE_COMPLEMENTED: u8 = 1 << 1;
const FORM_RESERVED: u8 = 0b1100;
const FORM_PATCH_BYTES_SHIFT: u32 = 4;
const SIZES_DELTA_BYTES_SHIFT: u32 = 4;
const SIZES_BASE_BYTES: u8 = 0b1111;

const _: () = assert!(tarsia_codec::limits::BLOCK_VALUES_MAX as usize == PATCHED_VALUES_MAX);
const _: () = assert!(GROUP_VALUES.is_multiple_of(64));

/// The forms of units that the node's parameters allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Groups may have their own widths and bases, and the base takes as few bytes as it needs. Smallest.
    Free,
    /// One width and one base for the unit, the base in full length. The values that remain after an erasure always fit
    /// the old place.
    ///
    /// Proof: the cost of a choice (order of the base, width `w`, `patch_bytes` `p`) is `constant + ceil(n * w / 8) +
    /// patches * (2 + p)`, and 2 if there are patches. If values are removed, the base (the smallest value in that
    /// order) does not decrease, so no remaining difference increases. The same choice then costs at most as much, or
    /// it becomes the choice without patches at the same or a smaller width. The encoder takes the cheapest choice.
    Uniform,
}

impl Mode {
    /// The node's parameters.
    pub const fn params(self) -> &'static [u8] {
        match self {
            Self::Free => &[],
            Self::Uniform => &[1],
        }
    }

    /// The mode of these parameters.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) for any other parameters.
    pub fn parse(params: &[u8]) -> Result<Self> {
        match params {
            [] | [0] => Ok(Self::Free),
            [1] => Ok(Self::Uniform),
            [other] => Err(Error::corrupt("bitpack.params", 0, *other, "0 or 1")),
            _ => Err(Error::corrupt(
                "bitpack.params",
                1,
                params.len() as u64,
                "at most one byte",
            )),
        }
    }
}

/// Upper bound on the bytes of a unit: those of one width for all values, no patches, and a base in full length.
pub const fn encoded_bytes_max(n_values: u64, value_bytes: u64) -> u64 {
    n_values
        .saturating_mul(value_bytes)
        .saturating_add(HEADER_BYTES as u64 + value_bytes)
}

/// Number of groups of a unit.
#[inline]
pub(crate) fn n_groups(n_values: usize) -> usize {
    n_values.div_ceil(GROUP_VALUES)
}

/// The first three bytes: which fields follow, and how long they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) has_group_widths: bool,
    pub(crate) base_complemented: bool,
    /// 0: no patches.
    pub(crate) patch_bytes: u8,
    /// 0 with group widths.
    pub(crate) width: u8,
    pub(crate) base_bytes: u8,
    /// 0: one base for all groups.
    pub(crate) delta_bytes: u8,
}

impl Form {
    #[cfg(feature = "encode")]
    pub(crate) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut form = self.patch_bytes << FORM_PATCH_BYTES_SHIFT;
        if self.has_group_widths {
            form |= FORM_GROUP_WIDTHS;
        }
        if self.base_complemented {
            form |= FORM_BASE_COMPLEMENTED;
        }
        [
            form,
            self.width,
            self.base_bytes | self.delta_bytes << SIZES_DELTA_BYTES_SHIFT,
        ]
    }

    /// `value_bytes` is 1, 2, 4 or 8.
    fn parse(reader: &mut ByteReader<'_>, value_bytes: usize, mode: Mode) -> Result<Self> {
        let form = reader.u8("bitpack.form")?;
        let width = reader.u8("bitpack.width")?;
        let sizes = reader.u8("bitpack.sizes")?;
        let parsed = Self {
            has_group_widths: form & FORM_GROUP_WIDTHS != 0,
            base_complemented: form & FORM_BASE_COMPLEMENTED != 0,
            patch_bytes: form >> FORM_PATCH_BYTES_SHIFT,
            width,
            base_bytes: sizes & SIZES_BASE_BYTES,
            delta_bytes: sizes >> SIZES_DELTA_BYTES_SHIFT,
        };
        if form & FORM_RESERVED != 0 {
            return Err(Error::corrupt("bitpack.form", 0, form, "bits 2 and 3 zero"));
        }
        if usize::from(parsed.patch_bytes) > value_bytes {
            let allowed = "patches no wider than a value";
            return Err(Error::corrupt("bitpack.form", 0, form, allowed));
        }
        if parsed.has_group_widths && width != 0 {
            let allowed = "0 where groups have widths";
            return Err(Error::corrupt("bitpack.width", 1, width, allowed));
        }
        if usize::from(width) > value_bytes * 8 {
            let allowed = "at most the bits of a value";
            return Err(Error::corrupt("bitpack.width", 1, width, allowed));
        }
        let widest = parsed.base_bytes.max(parsed.delta_bytes);
        if usize::from(widest) > value_bytes {
            let allowed = "a base and deltas no wider than a value";
            return Err(Error::corrupt("bitpack.sizes", 2, sizes, allowed));
        }
        if mode == Mode::Uniform && (parsed.has_group_widths || parsed.delta_bytes != 0) {
            let allowed = "one width and one base, as the node's parameters promise";
            return Err(Error::corrupt("bitpack.form", 0, form, allowed));
        }
        Ok(parsed)
    }
}

/// Where a group starts in the packed bytes. By default the first one, which starts at 0.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GroupStart {
    pub(crate) group: usize,
    pub(crate) start: usize,
}

/// Width, base and size of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) width: u32,
    /// Bits above the width of a value are ignored.
    pub(crate) base: u64,
    pub(crate) n_values: usize,
}

impl Group {
    pub(crate) fn packed_bytes(&self) -> usize {
        // Cannot overflow: parsing found the unit's packed bytes, which include these.
        packed_bytes(self.n_values as u64, self.width) as usize
    }
}

/// A parsed unit. All lengths and widths are checked; positions and high parts of patches are not. Not generic over the
/// type of the values, so that kernels have one copy of the parser.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit<'a> {
    pub(crate) n_values: usize,
    /// 1, 2, 4 or 8.
    pub(crate) value_bytes: usize,
    pub(crate) form: Form,
    /// Bits above the width of a value are ignored.
    pub(crate) base: u64,
    group_widths: &'a [u8],
    group_deltas: &'a [u8],
    pub(crate) positions: &'a [[u8; POSITION_BYTES]],
    pub(crate) positions_at: usize,
    pub(crate) patch_highs: &'a [u8],
    pub(crate) patch_highs_at: usize,
    pub(crate) packed: &'a [u8],
}

impl<'a> Unit<'a> {
    pub(crate) fn parse(
        bytes: &'a [u8],
        n_values: usize,
        value_bytes: usize,
        mode: Mode,
    ) -> Result<Self> {
        let (mut unit, reader) = Self::parse_front(bytes, n_values, value_bytes, mode)?;
        match n_values {
            0 => reader.finish("bitpack.unit of no values")?,
            _ => unit.parse_packed(reader)?,
        }
        Ok(unit)
    }

    /// Parses the fields before the packed values. Returns them and the reader behind them.
    pub(crate) fn parse_front(
        bytes: &'a [u8],
        n_values: usize,
        value_bytes: usize,
        mode: Mode,
    ) -> Result<(Self, ByteReader<'a>)> {
        let mut unit = Self {
            n_values,
            value_bytes,
            form: Form::default(),
            base: 0,
            group_widths: &[],
            group_deltas: &[],
            positions: &[],
            positions_at: 0,
            patch_highs: &[],
            patch_highs_at: 0,
            packed: &[],
        };
        let mut reader = ByteReader::new(bytes);
        if n_values == 0 {
            return Ok((unit, reader));
        }
        let form = Form::parse(&mut reader, value_bytes, mode)?;
        unit.form = form;
        let base = reader.uint(form.base_bytes.into(), "bitpack.base")?;
        unit.base = if form.base_complemented { !base } else { base };
        let n_groups = n_groups(n_values);
        if form.has_group_widths {
            let at = reader.position();
            unit.group_widths = reader.take(n_groups, "bitpack.group_widths")?;
            let too_wide = |width: &u8| usize::from(*width) > value_bytes * 8;
            if let Some(group) = unit.group_widths.iter().position(too_wide) {
                return Err(Error::corrupt(
                    "bitpack.group_widths",
                    at + group,
                    unit.group_widths.get(group).copied().unwrap_or_default(),
                    "at most the bits of a value",
                ));
            }
        }
        // A product that overflows a 32-bit `usize` is longer than any memory.
        let deltas = n_groups.saturating_mul(form.delta_bytes.into());
        unit.group_deltas = reader.take(deltas, "bitpack.group_deltas")?;
        if form.patch_bytes > 0 {
            let n_patches = usize::from(reader.u16("bitpack.n_patches")?) + 1;
            if n_values > PATCHED_VALUES_MAX || n_patches > n_values {
                return Err(Error::corrupt(
                    "bitpack.n_patches",
                    reader.position() - N_PATCHES_BYTES,
                    n_patches as u64,
                    "at most one per value, in units of at most 65,536 values",
                ));
            }
            unit.positions_at = reader.position();
            let positions = reader.take(n_patches * POSITION_BYTES, "bitpack.positions")?;
            unit.positions = positions.as_chunks().0;
            unit.patch_highs_at = reader.position();
            let highs = n_patches * usize::from(form.patch_bytes);
            unit.patch_highs = reader.take(highs, "bitpack.patch_highs")?;
        }
        Ok((unit, reader))
    }

    fn parse_packed(&mut self, mut reader: ByteReader<'a>) -> Result<()> {
        let n_values = self.n_values as u64;
        let (needed, last) = match self.group_widths.split_last() {
            None => {
                let width = u32::from(self.form.width);
                (packed_bytes(n_values, width), width)
            }
            Some((last, full)) => {
                let rows: u64 = full.iter().map(|width| u64::from(*width)).sum();
                let in_last = n_values - (full.len() * GROUP_VALUES) as u64;
                let last = u32::from(*last);
                let full = rows * (GROUP_VALUES / 8) as u64;
                (full + packed_bytes(in_last, last), last)
            }
        };
        let at = reader.position();
        // A length beyond `usize` is longer than the available bytes.
        let needed = usize::try_from(needed).unwrap_or(usize::MAX);
        self.packed = reader.take(needed, "bitpack.packed")?;
        reader.finish("bitpack.packed")?;
        if let Some(byte) = self.packed.last() {
            let spare = spare_bits(n_values, last);
            if spare > 0 && byte >> (8 - spare) != 0 {
                let at = at + needed - 1;
                return Err(Error::corrupt(
                    "bitpack.packed",
                    at,
                    *byte,
                    "spare bits zero",
                ));
            }
        }
        Ok(())
    }

    /// True if all values have one width and one base.
    #[inline]
    pub(crate) fn is_uniform(&self) -> bool {
        self.group_widths.is_empty() && self.group_deltas.is_empty()
    }

    /// Group `group`. The caller has checked that it exists.
    #[inline]
    pub(crate) fn group(&self, group: usize) -> Group {
        let delta_bytes = usize::from(self.form.delta_bytes);
        let mut delta = [0; 8];
        if delta_bytes > 0 {
            let at = group * delta_bytes;
            let bytes = self.group_deltas.get(at..at + delta_bytes);
            for (to, from) in delta.iter_mut().zip(bytes.unwrap_or_default()) {
                *to = *from;
            }
        }
        Group {
            width: self.width(group),
            base: self.base.wrapping_add(u64::from_le_bytes(delta)),
            n_values: GROUP_VALUES.min(self.n_values.saturating_sub(group * GROUP_VALUES)),
        }
    }

    /// The width of group `group`.
    #[inline]
    pub(crate) fn width(&self, group: usize) -> u32 {
        let of_all = self.form.width;
        self.group_widths
            .get(group)
            .copied()
            .unwrap_or(of_all)
            .into()
    }

    /// The offset of group `group` in `packed`, counted on from where the group `known`, an earlier one or the same,
    /// starts.
    #[inline]
    pub(crate) fn group_start(&self, group: usize, known: GroupStart) -> usize {
        const ROW: usize = GROUP_VALUES / 8;
        match self.group_widths.get(known.group..group) {
            Some(between) if !self.group_widths.is_empty() => {
                let widths: usize = between.iter().map(|width| usize::from(*width)).sum();
                known.start + widths * ROW
            }
            _ => group * ROW * usize::from(self.form.width),
        }
    }

    /// The packed bytes of a group that starts at `start`.
    #[inline]
    pub(crate) fn group_packed(&self, start: usize, group: &Group) -> &'a [u8] {
        self.packed
            .get(start..start + group.packed_bytes())
            .unwrap_or_default()
    }

    /// The position of patch `patch`. The caller has checked that it exists.
    #[inline]
    pub(crate) fn position(&self, patch: usize) -> usize {
        let bytes = self.positions.get(patch).copied().unwrap_or_default();
        u16::from_le_bytes(bytes).into()
    }
}
