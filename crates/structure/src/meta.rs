//! META: what a decoder is told about a page, in the fixed form that kernels read too.
//!
//! The bytes are in `docs/spec/page.md`. A file stores each META once, verbatim; pages refer to it by index. The
//! metadata crate treats it as an opaque blob, so a host that does not know a layout can hand it to a kernel as it is.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{
    Error, ErrorKind, OwnedValues, Result, SharedBuffer, SharedKind, SharedSpec, Tree, ValueType,
    limits,
};

const META_VERSION: u8 = 2;
const LAYOUT_MINI_BLOCK: u8 = 0;
const LAYOUT_NESTED_MINI_BLOCK: u8 = 1;
const LAYOUT_FULL_ZIP: u8 = 2;
const FLAG_COMPACT: u8 = 1;
const LAYER_ITEM_VALIDITY: u8 = 1;
const LAYER_ALL_VALID: u8 = 2;
const LAYER_VALIDITY: u8 = 3;
const LAYER_LENGTHS: u8 = 4;
const LAYER_CONSTANT_LENGTH: u8 = 5;
const TREES_MAX: usize = 254;
/// Two for each depth of a schema, and the validity of the items.
const LAYERS_MAX: usize = 2 * limits::SCHEMA_DEPTH_MAX + 1;

/// The pages of shared buffers may have shared buffers themselves, and theirs once more: so many in a row lead to a
/// column's values.
pub const SHARED_DEPTH_MAX: u32 = 2;

/// The kind of a layer: what it says about the items under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LayerKind {
    /// One bit per present row: 1 where the item is valid.
    ItemValidity,
}

/// One layer of a page: its kind and the trees its blocks choose from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layer {
    /// The kind of the layer.
    pub kind: LayerKind,
    /// 1 ..= 254 trees over [`ValueType::Bits`].
    pub trees: Vec<Tree>,
}

/// A level above the items, by what it says about its slots. Level 0 has a slot for each row of the page; the slots of
/// each further level, and at last the items, are what the level before says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Level {
    /// Every slot is valid: as many slots below, and no bytes.
    AllValid,
    /// One bit per slot, over [`ValueType::Bits`]: a slot below for each valid one.
    Validity(Vec<Tree>),
    /// One length per slot, over [`ValueType::Fixed`] of 4 bytes: so many slots below.
    Lengths(Vec<Tree>),
    /// Every slot has this length, without bytes.
    ConstantLength(u32),
}

impl Level {
    /// The trees of the level's blocks.
    pub fn trees(&self) -> &[Tree] {
        match self {
            Self::Validity(trees) | Self::Lengths(trees) => trees,
            Self::AllValid | Self::ConstantLength(_) => &[],
        }
    }

    /// Returns the form that is compared with the schema.
    pub fn form(&self) -> LevelForm {
        match self {
            Self::AllValid | Self::Validity(_) => LevelForm::Validity,
            Self::Lengths(_) => LevelForm::Lengths,
            Self::ConstantLength(length) => LevelForm::ConstantLength(*length),
        }
    }
}

/// A level as the schema has it, whatever a page's slots are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LevelForm {
    /// Structs, lists and what a union chose: which slots go on.
    Validity,
    /// Lists: how many slots below each has.
    Lengths,
    /// Fixed-size lists.
    ConstantLength(u32),
}

impl LevelForm {
    /// Bytes that `n_slots` slots take when decoded: a bit each of validity, the end of each list.
    pub fn slots_bytes(self, n_slots: u64) -> u64 {
        match self {
            Self::Validity => n_slots.div_ceil(8),
            Self::Lengths | Self::ConstantLength(_) => n_slots.saturating_mul(4),
        }
    }

    /// Whether a page's level may stand for this one. Lists that all have one length need no lengths.
    pub fn admits(self, level: &Level) -> bool {
        self == level.form() || (self == Self::Lengths && matches!(level, Level::ConstantLength(_)))
    }
}

/// How a page's rows lie in its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Layout {
    /// Levels, validity and values of a block's rows one behind the other, each encoded as a whole.
    #[default]
    MiniBlock,
    /// Row by row; see [`FullZipForm`](crate::FullZipForm).
    FullZip,
}

/// The description of a page.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Meta {
    /// The layout.
    pub layout: Layout,
    /// The values' type; `None` for a page of type Null, which stores nothing.
    pub value_type: Option<ValueType>,
    /// Values of null items are dropped, else null items hold filler.
    pub compact: bool,
    /// Levels above the items, outermost first: one for each level of the schema; empty for flat columns.
    pub levels: Vec<Level>,
    /// The items' own validity; empty where no item of the page is null.
    pub layers: Vec<Layer>,
    /// 1 ..= 254 trees, the last of them able to hold any values of the type.
    pub trees: Vec<Tree>,
    /// The page's shared buffers, by the numbers that the nodes of all its trees use.
    pub shared: Vec<SharedSpec>,
}

impl Meta {
    /// Appends the bytes of `docs/spec/page.md`.
    ///
    /// # Errors
    /// What [`Meta::parse`] would refuse.
    pub fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let (kind, width) = type_code(self.value_type);
        let flags = if self.compact { FLAG_COMPACT } else { 0 };
        let layout = match (self.layout, self.levels.is_empty()) {
            (Layout::FullZip, _) => LAYOUT_FULL_ZIP,
            (Layout::MiniBlock, true) => LAYOUT_MINI_BLOCK,
            (Layout::MiniBlock, false) => LAYOUT_NESTED_MINI_BLOCK,
        };
        out.extend_from_slice(&[META_VERSION, layout, flags, kind]);
        out.extend_from_slice(&width.to_le_bytes());
        // Counts that do not fit are cut here and found by the parse that follows.
        let n_layers = self.levels.len() + self.layers.len();
        let (n_trees, n_shared) = (self.trees.len() as u8, self.shared.len() as u8);
        out.extend_from_slice(&[n_layers as u8, n_trees, n_shared, 0]);
        for shared in &self.shared {
            let (kind, width) = type_code(Some(shared.value_type));
            out.extend_from_slice(&[shared.kind.code(), kind, 0, 0]);
            out.extend_from_slice(&width.to_le_bytes());
        }
        for level in &self.levels {
            let kind = match level {
                Level::AllValid => LAYER_ALL_VALID,
                Level::Validity(_) => LAYER_VALIDITY,
                Level::Lengths(_) => LAYER_LENGTHS,
                Level::ConstantLength(_) => LAYER_CONSTANT_LENGTH,
            };
            out.extend_from_slice(&[kind, level.trees().len() as u8]);
            if let Level::ConstantLength(length) = level {
                out.extend_from_slice(&length.to_le_bytes());
            }
            for tree in level.trees() {
                tree.write_to(out)?;
            }
        }
        for layer in &self.layers {
            let LayerKind::ItemValidity = layer.kind;
            out.extend_from_slice(&[LAYER_ITEM_VALIDITY, layer.trees.len() as u8]);
            for tree in &layer.trees {
                tree.write_to(out)?;
            }
        }
        for tree in &self.trees {
            tree.write_to(out)?;
        }
        match Self::parse(out.get(start..).unwrap_or_default()) {
            Ok(parsed) if parsed == *self => Ok(()),
            Ok(_) => Err(Error::invalid(
                "a page description has too many layers or trees",
            )),
            Err(error) => Err(error),
        }
    }

    /// Reads the whole of `bytes`.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`], [`ErrorKind::Corrupt`], [`ErrorKind::Unsupported`] (another version, layout or layer),
    /// [`ErrorKind::LimitExceeded`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut reader = ByteReader::new(bytes);
        let version = reader.u8("meta.version")?;
        let layout = reader.u8("meta.layout")?;
        let full_zip = cfg!(feature = "nested") && layout == LAYOUT_FULL_ZIP;
        let nested = cfg!(feature = "nested") && layout == LAYOUT_NESTED_MINI_BLOCK || full_zip;
        if version != META_VERSION || !(nested || layout == LAYOUT_MINI_BLOCK) {
            let numbers = [
                ("page layout ", u64::from(layout)),
                (" (description version ", version.into()),
            ];
            return Err(unsupported(numbers, ")"));
        }
        let flags = reader.u8("meta.flags")?;
        if flags & !FLAG_COMPACT != 0 {
            return Err(Error::corrupt("meta.flags", 2, flags, "0 or 1"));
        }
        let kind = reader.u8("meta.value_type")?;
        let width = reader.u32("meta.width")?;
        let value_type = StoredType {
            kind,
            kind_at: 3,
            width,
            width_at: 4,
        };
        let value_type = value_type.check()?;
        let n_layers = reader.u8("meta.n_layers")?;
        // These lie row by row without levels above them, too.
        let flat_full_zip = full_zip && value_type == Some(ValueType::Bytes);
        let n_layers_min = usize::from(nested && !flat_full_zip);
        let n_layers_max = if nested { LAYERS_MAX } else { 1 };
        let fits = (n_layers_min..=n_layers_max).contains(&n_layers.into());
        if !fits {
            let allowed = "0 or 1, or 1 ..= 129 above nested items";
            return Err(Error::corrupt("meta.n_layers", 8, n_layers, allowed));
        }
        let n_trees = count(reader.u8("meta.n_trees")?, 9)?;
        let n_shared = reader.u8("meta.n_shared")?;
        if usize::from(n_shared) > limits::SHARED_BUFFERS_MAX {
            return Err(Error::corrupt("meta.n_shared", 10, n_shared, "0 ..= 32"));
        }
        let reserved = reader.u8("meta.reserved")?;
        if reserved != 0 {
            return Err(Error::corrupt("meta.reserved", 11, reserved, "zero"));
        }
        let mut shared = Vec::new();
        for _ in 0..n_shared {
            shared.push(shared_spec(&mut reader)?);
        }
        let (mut levels, mut layers) = (Vec::new(), Vec::new());
        for number in 1..=n_layers {
            let at = reader.position();
            let kind = reader.u8("meta.layer.kind")?;
            if kind == LAYER_ITEM_VALIDITY && number == n_layers {
                layers.push(Layer {
                    kind: LayerKind::ItemValidity,
                    trees: validity_trees(&mut reader, at, full_zip)?,
                });
            } else if nested && kind == LAYER_VALIDITY {
                levels.push(Level::Validity(validity_trees(&mut reader, at, full_zip)?));
            } else {
                levels.push(level(&mut reader, kind, at, nested)?);
            }
        }
        if nested && levels.is_empty() && !flat_full_zip {
            let allowed = "a level above the items in a nested page";
            return Err(Error::corrupt("meta.n_layers", 8, n_layers, allowed));
        }
        let trees = trees(&mut reader, n_trees)?;
        reader.finish("meta")?;
        let layout = match full_zip {
            true => Layout::FullZip,
            false => Layout::MiniBlock,
        };
        Ok(Self {
            layout,
            value_type,
            compact: flags & FLAG_COMPACT != 0,
            levels,
            layers,
            trees,
            shared,
        })
    }

    /// The page's shared buffers as decoders get them; `values` are what they decode to, in the order of their numbers.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] where they are not those that the page lists.
    pub fn shared_buffers(&self, values: &[Arc<OwnedValues>]) -> Result<Vec<SharedBuffer>> {
        let mut buffers = Vec::with_capacity(values.len());
        let mut fit = values.len() == self.shared.len();
        for (values, spec) in values.iter().zip(&self.shared) {
            let buffer = SharedBuffer::new(spec.kind, values.clone());
            fit &= buffer.is(*spec);
            buffers.push(buffer);
        }
        match fit {
            true => Ok(buffers),
            false => Err(Error::corrupt(
                "meta.shared",
                12,
                values.len(),
                "buffers of the types that the page lists",
            )),
        }
    }

    /// All trees: of the levels, the items' validity and the values.
    pub fn all_trees(&self) -> impl Iterator<Item = &Tree> {
        let levels = self.levels.iter().flat_map(Level::trees);
        let layers = self.layers.iter().flat_map(|layer| &layer.trees);
        levels.chain(layers).chain(&self.trees)
    }
}

/// A value type as it is stored: its number, and the width.
fn type_code(value_type: Option<ValueType>) -> (u8, u32) {
    match value_type {
        None => (0, 0),
        Some(ValueType::Bits) => (1, 0),
        Some(ValueType::Fixed(width)) => (2, width),
        Some(ValueType::Bytes) => (3, 0),
    }
}

/// A value type as it was read: its number and its width, each with its place in META.
struct StoredType {
    kind: u8,
    kind_at: usize,
    width: u32,
    width_at: usize,
}

impl StoredType {
    /// The type, `None` for Null.
    fn check(&self) -> Result<Option<ValueType>> {
        Ok(match (self.kind, self.width) {
            (0, 0) => None,
            (1, 0) => Some(ValueType::Bits),
            (2, width) => Some(ValueType::Fixed(width).validate()?),
            (3, 0) => Some(ValueType::Bytes),
            (0..=3, found) => {
                return Err(Error::corrupt("meta.width", self.width_at, found, "zero"));
            }
            (found, _) => {
                let at = self.kind_at;
                return Err(Error::corrupt("meta.value_type", at, found, "0 ..= 3"));
            }
        })
    }
}

/// One entry of the list of shared buffers.
fn shared_spec(reader: &mut ByteReader<'_>) -> Result<SharedSpec> {
    let at = reader.position();
    let kind = reader.u8("meta.shared.kind")?;
    let value_type = reader.u8("meta.shared.value_type")?;
    let reserved = reader.u16("meta.shared.reserved")?;
    let width = reader.u32("meta.shared.width")?;
    let Some(kind) = SharedKind::of_code(kind) else {
        let numbers = [
            ("shared buffer kind ", u64::from(kind)),
            (" at byte ", at as u64),
        ];
        return Err(unsupported(numbers, " of the page description"));
    };
    if reserved != 0 {
        return Err(Error::corrupt(
            "meta.shared.reserved",
            at + 2,
            reserved,
            "zero",
        ));
    }
    let stored = StoredType {
        kind: value_type,
        kind_at: at + 1,
        width,
        width_at: at + 4,
    };
    match stored.check()? {
        Some(value_type) => Ok(SharedSpec { kind, value_type }),
        None => Err(Error::corrupt("meta.value_type", at + 1, 0u8, "1 ..= 3")),
    }
}

/// The trees of a validity layer, whose kind was read at `at`: none in a full-zip page, where a control byte says it.
fn validity_trees(reader: &mut ByteReader<'_>, at: usize, full_zip: bool) -> Result<Vec<Tree>> {
    let n_trees = reader.u8("meta.layer.n_trees")?;
    match (full_zip, n_trees) {
        (false, n_trees) => trees(reader, count(n_trees, at + 1)?),
        (true, 0) => Ok(Vec::new()),
        (true, n_trees) => Err(Error::corrupt("meta.n_trees", at + 1, n_trees, "zero")),
    }
}

/// A level above the items that does not say what is valid, whose kind was read at `at`.
fn level(reader: &mut ByteReader<'_>, kind: u8, at: usize, nested: bool) -> Result<Level> {
    let n_trees = reader.u8("meta.layer.n_trees")?;
    match kind {
        LAYER_LENGTHS if nested => Ok(Level::Lengths(trees(reader, count(n_trees, at + 1)?)?)),
        LAYER_ALL_VALID | LAYER_CONSTANT_LENGTH if nested => {
            if n_trees != 0 {
                return Err(Error::corrupt("meta.n_trees", at + 1, n_trees, "zero"));
            }
            match kind {
                LAYER_ALL_VALID => Ok(Level::AllValid),
                _ => Ok(Level::ConstantLength(reader.u32("meta.layer.length")?)),
            }
        }
        _ => {
            let numbers = [("layer kind ", u64::from(kind)), (" at byte ", at as u64)];
            Err(unsupported(numbers, " of the page description"))
        }
    }
}

#[cold]
#[inline(never)]
fn unsupported(numbers: [(&str, u64); 2], end: &str) -> Error {
    let mut what = String::new();
    for (text, number) in numbers {
        ErrorKind::push_text(&mut what, text);
        ErrorKind::push_number(&mut what, number);
    }
    ErrorKind::push_text(&mut what, end);
    Error::from(ErrorKind::Unsupported { what })
}

fn count(n_trees: u8, at: usize) -> Result<usize> {
    match usize::from(n_trees) {
        n_trees @ 1..=TREES_MAX => Ok(n_trees),
        _ => Err(Error::corrupt("meta.n_trees", at, n_trees, "1 ..= 254")),
    }
}

fn trees(reader: &mut ByteReader<'_>, n_trees: usize) -> Result<Vec<Tree>> {
    let mut trees = Vec::new();
    for _ in 0..n_trees {
        trees.push(Tree::parse(reader)?);
    }
    Ok(trees)
}

/// Pages' descriptions that several tests start from.
#[cfg(test)]
pub(crate) mod samples {
    use super::*;
    use alloc::vec;
    use tarsia_codec::Version;

    pub(crate) fn flat() -> Meta {
        let v = Version::new(1, 0);
        Meta {
            layout: Layout::MiniBlock,
            value_type: Some(ValueType::Fixed(8)),
            compact: true,
            levels: vec![],
            layers: vec![Layer {
                kind: LayerKind::ItemValidity,
                trees: vec![Tree::leaf("tarsia.bitmap", v, &[])],
            }],
            trees: vec![
                Tree::leaf("tarsia.bitpack", v, &[]),
                Tree::leaf("tarsia.plain", v, &[]),
            ],
            shared: vec![],
        }
    }

    pub(crate) fn nested() -> Meta {
        let tree = || Tree::leaf("tarsia.bitmap", Version::new(1, 0), &[]);
        Meta {
            levels: vec![
                Level::Validity(vec![tree()]),
                Level::Lengths(vec![tree(), tree()]),
                Level::AllValid,
                Level::ConstantLength(768),
            ],
            ..flat()
        }
    }

    pub(crate) fn full_zip() -> Meta {
        Meta {
            layout: Layout::FullZip,
            compact: false,
            levels: vec![
                Level::Validity(vec![]),
                Level::AllValid,
                Level::ConstantLength(768),
            ],
            layers: vec![],
            trees: vec![Tree::leaf("tarsia.plain", Version::new(1, 0), &[])],
            ..flat()
        }
    }

    pub(crate) fn full_zip_strings() -> Meta {
        let v = Version::new(1, 0);
        let lengths = Tree::leaf("tarsia.plain", v, &[]);
        Meta {
            value_type: Some(ValueType::Bytes),
            levels: vec![],
            layers: vec![Layer {
                kind: LayerKind::ItemValidity,
                trees: vec![],
            }],
            trees: vec![Tree {
                children: vec![lengths],
                ..Tree::leaf("tarsia.bytes", v, &[])
            }],
            ..full_zip()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{flat, full_zip, full_zip_strings, nested};
    use super::*;
    use alloc::vec;

    fn with_shared() -> Meta {
        let spec = |kind, value_type| SharedSpec { kind, value_type };
        let mut meta = flat();
        meta.trees[0] = meta.trees[0].clone().with_shared(&[2, 0, 1]);
        meta.shared = vec![
            spec(SharedKind::SymbolTable, ValueType::Bytes),
            spec(SharedKind::Dictionary, ValueType::Fixed(8)),
            spec(SharedKind::CodecDictionary, ValueType::Bits),
            spec(SharedKind::TokenDictionary, ValueType::Fixed(0)),
        ];
        meta
    }

    #[test]
    fn round_trip_and_every_prefix() {
        for meta in [
            flat(),
            nested(),
            full_zip(),
            full_zip_strings(),
            with_shared(),
        ] {
            check_prefixes(&meta);
        }
        let unlayered = Meta {
            layers: vec![],
            ..nested()
        };
        check_prefixes(&unlayered);
    }

    #[test]
    fn levels_stand_in_nested_pages_alone() {
        let mut bytes = vec![];
        nested().write_to(&mut bytes).unwrap();
        for (at, value) in [
            (1, 0),
            (1, 2),
            (1, 3),
            (8, 0),
            (8, 130),
            (12, 6),
            (12, 0),
            (13, 0),
        ] {
            let mut bad = bytes.clone();
            bad[at] = value;
            assert!(Meta::parse(&bad).is_err(), "{at} {value}");
        }
        let mut bytes = vec![];
        flat().write_to(&mut bytes).unwrap();
        bytes[1] = LAYOUT_NESTED_MINI_BLOCK;
        assert!(Meta::parse(&bytes).is_err());
        let deep = Meta {
            levels: vec![Level::AllValid; LAYERS_MAX],
            ..nested()
        };
        assert!(deep.write_to(&mut vec![]).is_err());
        assert!(LevelForm::Lengths.admits(&Level::ConstantLength(3)));
        assert!(!LevelForm::ConstantLength(3).admits(&Level::Lengths(vec![])));
        assert!(!LevelForm::ConstantLength(3).admits(&Level::ConstantLength(4)));
        assert!(!LevelForm::Validity.admits(&Level::ConstantLength(1)));
    }

    fn check_prefixes(meta: &Meta) {
        let mut bytes = vec![];
        meta.write_to(&mut bytes).unwrap();
        assert_eq!(Meta::parse(&bytes).as_ref(), Ok(meta));
        for len in 0..bytes.len() {
            assert!(matches!(
                Meta::parse(&bytes[..len])
                    .as_ref()
                    .map_err(|error| error.kind()),
                Err(ErrorKind::Truncated { .. })
            ));
        }
        bytes.push(0);
        assert!(matches!(
            Meta::parse(&bytes).as_ref().map_err(|error| error.kind()),
            Err(ErrorKind::Corrupt { .. })
        ));
    }

    #[test]
    fn fields_out_of_range_are_named() {
        let mut good = vec![];
        flat().write_to(&mut good).unwrap();
        for (at, value, field) in [
            (2, 2, "meta.flags"),
            (3, 4, "meta.value_type"),
            (3, 1, "meta.width"),
            (8, 2, "meta.n_layers"),
            (9, 0, "meta.n_trees"),
            (9, 255, "meta.n_trees"),
            (10, 33, "meta.n_shared"),
            (11, 1, "meta.reserved"),
            (13, 0, "meta.n_trees"),
        ] {
            let mut bad = good.clone();
            bad[at] = value;
            match Meta::parse(&bad).as_ref().map_err(|error| error.kind()) {
                Err(ErrorKind::Corrupt { field: found, .. }) => assert_eq!(*found, field),
                other => panic!("{field}: {other:?}"),
            }
        }
        for at in [0, 1, 12] {
            let mut bad = good.clone();
            bad[at] = 9;
            assert!(matches!(
                Meta::parse(&bad).as_ref().map_err(|error| error.kind()),
                Err(ErrorKind::Unsupported { .. })
            ));
        }
    }

    #[test]
    fn shared_buffers_are_checked() {
        let mut good = vec![];
        with_shared().write_to(&mut good).unwrap();
        for (at, value, field) in [
            (13, 4, "meta.value_type"),
            (13, 0, "meta.value_type"),
            (14, 1, "meta.shared.reserved"),
            (16, 1, "meta.width"),
        ] {
            let mut bad = good.clone();
            bad[at] = value;
            match Meta::parse(&bad).as_ref().map_err(|error| error.kind()) {
                Err(ErrorKind::Corrupt { field: found, .. }) => assert_eq!(*found, field),
                other => panic!("{field}: {other:?}"),
            }
        }
        good[12] = 77;
        let unknown = Meta::parse(&good);
        assert!(matches!(
            unknown.as_ref().map_err(|error| error.kind()),
            Err(ErrorKind::Unsupported { .. })
        ));
        let mut many = with_shared();
        many.shared = vec![many.shared[0]; limits::SHARED_BUFFERS_MAX + 1];
        assert!(many.write_to(&mut vec![]).is_err());
        let none: &[Arc<OwnedValues>] = &[];
        assert!(with_shared().shared_buffers(none).is_err());
        assert!(flat().shared_buffers(none).is_ok());
    }

    #[test]
    fn too_many_trees_are_refused_by_the_writer() {
        let mut meta = flat();
        meta.trees = vec![meta.trees[0].clone(); 256];
        assert!(meta.write_to(&mut vec![]).is_err());
    }
}
