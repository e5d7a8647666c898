//! Decoders and encoders, one pair of targets per encoding.

use std::sync::OnceLock;

use tarsia_cascade::{Chooser, Objective};
use tarsia_codec::{Reader, Registry, Shared, Tree, Unit, ValueType, Version, build_encoder};
use tarsia_dict::CodeBytes;
use tarsia_structure::Choose;
use tarsia_testkit::cases::Case;
use tarsia_testkit::fuzzing::{Input, decode_anything, hostile_lengths, round_trip, shared_of};

/// Most values that are encoded per input; a few inputs have as many as a block may.
const VALUES_MAX: usize = 1 << 16;

const NUMBERS: [ValueType; 4] = [
    ValueType::Fixed(4),
    ValueType::Fixed(8),
    ValueType::Fixed(1),
    ValueType::Fixed(2),
];

const FIXED: [ValueType; 8] = [
    ValueType::Fixed(4),
    ValueType::Fixed(8),
    ValueType::Fixed(1),
    ValueType::Fixed(2),
    ValueType::Fixed(16),
    ValueType::Fixed(3),
    ValueType::Fixed(33),
    ValueType::Fixed(1000),
];

const ANY: [ValueType; 8] = [
    ValueType::Fixed(4),
    ValueType::Bytes,
    ValueType::Bits,
    ValueType::Fixed(8),
    ValueType::Fixed(0),
    ValueType::Fixed(1),
    ValueType::Fixed(16),
    ValueType::Fixed(5),
];

fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let mut registry = Registry::new();
        tarsia_cascade::register(&mut registry);
        registry
    })
}

/// A tree that holds any numbers of 1, 2, 4 or 8 bytes; at most `depth` levels.
fn numbers_tree(input: &mut Input<'_>, depth: usize) -> Tree {
    match input.below(if depth > 1 { 5 } else { 4 }) {
        0 => tarsia_plain::tree(),
        1 | 2 => tarsia_bitpack::tree(),
        3 => tarsia_bitpack::tree_of(tarsia_bitpack::Mode::Uniform),
        _ => {
            let codes = numbers_tree(input, depth - 1);
            tarsia_dict::block_tree(CodeBytes::Four, codes, numbers_tree(input, depth - 1))
        }
    }
}

/// A tree that holds any values of the type; at most `depth` levels, 2 or more.
fn values_tree(value_type: ValueType, input: &mut Input<'_>, depth: usize) -> Tree {
    match value_type {
        ValueType::Bits if input.one_in(2) => tarsia_bitmap::tree(),
        ValueType::Fixed(1 | 2 | 4 | 8) => numbers_tree(input, depth),
        ValueType::Bits | ValueType::Fixed(_) => tarsia_plain::tree(),
        ValueType::Bytes => tarsia_bytes::tree(numbers_tree(input, depth - 1)),
    }
}

/// Codes wide enough for all values of a page, or wider.
fn code_bytes(values: &Case, input: &mut Input<'_>) -> CodeBytes {
    let distinct = tarsia_dict::Distinct::of(values.values(), usize::MAX);
    let n_entries = distinct.map_or(0, |distinct| distinct.n_entries());
    let least = CodeBytes::for_entries(n_entries);
    (*input.pick(&[CodeBytes::One, CodeBytes::Two, CodeBytes::Four])).max(least)
}

/// What a pair of targets differs in.
struct Encoding {
    /// Types the encoding holds.
    types: &'static [ValueType],
    /// A tree for values, with children as the input says.
    tree: fn(&Case, &mut Input<'_>) -> Tree,
    /// Makes the values ones that the tree holds.
    fit: fn(Case) -> Case,
}

const PLAIN: Encoding = Encoding {
    types: &[
        ValueType::Fixed(4),
        ValueType::Bits,
        ValueType::Fixed(8),
        ValueType::Fixed(0),
        ValueType::Fixed(1),
        ValueType::Fixed(3),
        ValueType::Fixed(1000),
    ],
    tree: |_, _| tarsia_plain::tree(),
    fit: |values| values,
};

const BYTES: Encoding = Encoding {
    types: &[ValueType::Bytes],
    tree: |_, input| tarsia_bytes::tree(numbers_tree(input, 3)),
    fit: |values| values,
};

const BITMAP: Encoding = Encoding {
    types: &[ValueType::Bits],
    tree: |_, _| tarsia_bitmap::tree(),
    fit: |values| values,
};

const CONSTANT: Encoding = Encoding {
    types: &ANY,
    tree: |_, _| tarsia_constant::tree(),
    fit: repeat_first,
};

const BITPACK: Encoding = Encoding {
    types: &NUMBERS,
    tree: |_, input| match input.below(3) {
        2 => tarsia_bitpack::tree_of(tarsia_bitpack::Mode::Uniform),
        _ => tarsia_bitpack::tree(),
    },
    fit: |values| values,
};

const DICT_BLOCK: Encoding = Encoding {
    types: &[
        ValueType::Bytes,
        ValueType::Fixed(4),
        ValueType::Fixed(8),
        ValueType::Fixed(1),
        ValueType::Fixed(16),
        ValueType::Fixed(33),
    ],
    tree: |values, input| {
        let code_bytes = code_bytes(values, input);
        let codes = numbers_tree(input, 2);
        tarsia_dict::block_tree(
            code_bytes,
            codes,
            values_tree(values.value_type(), input, 3),
        )
    },
    fit: |values| values,
};

const DICT_PAGE: Encoding = Encoding {
    types: DICT_BLOCK.types,
    tree: |values, input| {
        let code_bytes = code_bytes(values, input);
        tarsia_dict::page_tree(code_bytes, numbers_tree(input, 3))
    },
    fit: |values| values,
};

/// As many values as there are, all equal to the first.
fn repeat_first(values: Case) -> Case {
    use tarsia_codec::Values;
    let n = values.len();
    match values.values() {
        Values::Bits(bits) => Case::bits("constant", &vec![bits.get(0); n]),
        Values::Fixed(fixed) => Case::fixed("constant", fixed.width(), n, fixed.get(0).repeat(n)),
        Values::Bytes(strings) => Case::strings(
            "constant",
            &vec![&strings.get(0)[..strings.get(0).len().min(64)]; n],
        ),
    }
}

fn round_trip_of(encoding: &Encoding, bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let value_type = *input.pick(encoding.types);
    let values = (encoding.fit)(input.values(value_type, VALUES_MAX));
    let tree = (encoding.tree)(&values, &mut input);
    round_trip(registry(), &tree, values.values(), &mut input);
}

/// Either a unit of the input's bytes, or values encoded and then changed.
fn decode_of(encoding: &Encoding, bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut value_type = *input.pick(encoding.types);
    if input.one_in(16) {
        value_type = *input.pick(&ANY);
    }
    if input.one_in(2) {
        // The tree may need entries; those of a page come first.
        let entries = input.values(value_type, 70);
        let mut tree = (encoding.tree)(&entries, &mut input);
        let shared = [shared_of(&entries)];
        edit_params(&mut tree, &mut input);
        let (len, decoded_bytes) = hostile_lengths(value_type, &mut input);
        let mut choices = Input::new(input.take(24));
        let unit = Unit {
            bytes: input.rest(),
            len,
            decoded_bytes,
        };
        decode_anything(registry(), &tree, value_type, &shared, unit, &mut choices);
        return;
    }
    let values = (encoding.fit)(input.values(value_type, VALUES_MAX));
    let mut tree = (encoding.tree)(&values, &mut input);
    let Ok(encoder) = build_encoder(registry(), &tree, values.values(), Shared::default()) else {
        return;
    };
    let mut unit_bytes = Vec::new();
    if encoder
        .encode(values.values(), 0..values.len(), &mut unit_bytes)
        .is_err()
    {
        return;
    }
    let mut len = values.len() as u32;
    let mut decoded_bytes = values.values().decoded_bytes() as u32;
    // Nothing changed, the bytes, or what the block's header says about them.
    match input.below(8) {
        0 => {}
        1 => (len, decoded_bytes) = hostile_lengths(value_type, &mut input),
        2 => edit_params(&mut tree, &mut input),
        _ => input.edit(&mut unit_bytes),
    }
    let mut shared = encoder.shared();
    if input.one_in(8) {
        // Another dictionary than the codes were made for, of fewer entries or another type.
        let other = *input.pick(encoding.types);
        shared = vec![shared_of(&input.values(other, 20))];
    }
    let unit = Unit {
        bytes: &unit_bytes,
        len,
        decoded_bytes,
    };
    decode_anything(registry(), &tree, value_type, &shared, unit, &mut input);
}

/// Changes the parameters of a node, or the children, in one of four cases.
fn edit_params(tree: &mut Tree, input: &mut Input<'_>) {
    if !input.one_in(4) {
        return;
    }
    let node = match tree.children.len() {
        0 => tree,
        n => match input.below(n + 1) {
            0 => tree,
            child => &mut tree.children[child - 1],
        },
    };
    match input.below(6) {
        0 => node.children.clear(),
        1 => node.children.push(tarsia_plain::tree()),
        2 => node.params = input.take(4).to_vec(),
        _ => input.edit(&mut node.params),
    }
}

/// `plain` decodes anything.
pub fn decode_plain(bytes: &[u8]) {
    decode_of(&PLAIN, bytes);
}

/// `bytes` decodes anything.
pub fn decode_bytes(bytes: &[u8]) {
    decode_of(&BYTES, bytes);
}

/// `bitmap` decodes anything.
pub fn decode_bitmap(bytes: &[u8]) {
    decode_of(&BITMAP, bytes);
}

/// `constant` decodes anything.
pub fn decode_constant(bytes: &[u8]) {
    decode_of(&CONSTANT, bytes);
}

/// `bitpack` decodes anything.
pub fn decode_bitpack(bytes: &[u8]) {
    decode_of(&BITPACK, bytes);
}

/// `dict` of scope *block* decodes anything.
pub fn decode_dict_block(bytes: &[u8]) {
    decode_of(&DICT_BLOCK, bytes);
}

/// `dict` of scope *page* decodes anything.
pub fn decode_dict_page(bytes: &[u8]) {
    decode_of(&DICT_PAGE, bytes);
}

/// `plain` keeps values.
pub fn round_trip_plain(bytes: &[u8]) {
    round_trip_of(&PLAIN, bytes);
}

/// `bytes` keeps values.
pub fn round_trip_bytes(bytes: &[u8]) {
    round_trip_of(&BYTES, bytes);
}

/// `bitmap` keeps values.
pub fn round_trip_bitmap(bytes: &[u8]) {
    round_trip_of(&BITMAP, bytes);
}

/// `constant` keeps values.
pub fn round_trip_constant(bytes: &[u8]) {
    round_trip_of(&CONSTANT, bytes);
}

/// `bitpack` keeps values.
pub fn round_trip_bitpack(bytes: &[u8]) {
    round_trip_of(&BITPACK, bytes);
}

/// `dict` of scope *block* keeps values.
pub fn round_trip_dict_block(bytes: &[u8]) {
    round_trip_of(&DICT_BLOCK, bytes);
}

/// `dict` of scope *page* keeps values.
pub fn round_trip_dict_page(bytes: &[u8]) {
    round_trip_of(&DICT_PAGE, bytes);
}

/// Every tree the default policy chooses for a page keeps the page's values.
pub fn round_trip_chosen(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let types: &[ValueType] = if input.one_in(2) { &FIXED } else { &ANY };
    let value_type = *input.pick(types);
    let values = input.values(value_type, VALUES_MAX);
    let objective = *input.pick(&[Objective::Balanced, Objective::Fast, Objective::Compact]);
    let choice = Chooser::new(objective)
        .choose(values.values())
        .expect("a choice for any values");
    assert!(
        !choice.trees.is_empty(),
        "no tree for {} values",
        values.len()
    );
    for tree in &choice.trees {
        round_trip(registry(), tree, values.values(), &mut input.clone());
    }
}

/// A tree of any shape, from its bytes, over any unit: what a page description may hold.
pub fn decode_tree(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let value_type = *input.pick(&ANY);
    let mut n_nodes = 0;
    let built = any_tree(&mut input, 0, &mut n_nodes);
    let mut layout = Vec::new();
    if built.write_to(&mut layout).is_ok() && input.one_in(4) {
        input.edit(&mut layout);
    }
    let mut reader = Reader::new(&layout);
    let Ok(tree) = Tree::parse(&mut reader) else {
        return;
    };
    // What parses is what its writer would have written.
    let mut again = Vec::new();
    tree.write_to(&mut again)
        .expect("a tree that was parsed can be written");
    assert_eq!(
        again,
        layout[..reader.position()],
        "another layout of the same tree"
    );
    let shared = [shared_of(&input.values(value_type, 70))];
    let (len, decoded_bytes) = hostile_lengths(value_type, &mut input);
    let mut choices = Input::new(input.take(24));
    let unit = Unit {
        bytes: input.rest(),
        len,
        decoded_bytes,
    };
    decode_anything(registry(), &tree, value_type, &shared, unit, &mut choices);
}

fn any_tree(input: &mut Input<'_>, depth: usize, n_nodes: &mut usize) -> Tree {
    const IDS: [(&str, &[u8], usize); 9] = [
        (tarsia_plain::ID, &[], 0),
        (tarsia_bytes::ID, &[], 1),
        (tarsia_bitmap::ID, &[], 0),
        (tarsia_constant::ID, &[], 0),
        (tarsia_bitpack::ID, &[], 0),
        (tarsia_bitpack::ID, &[1], 0),
        (tarsia_dict::ID, &[0, 1, 0], 2),
        (tarsia_dict::ID, &[1, 1, 0], 1),
        ("org.example.unknown", &[], 0),
    ];
    let (id, params, n_children) = *input.pick(&IDS);
    *n_nodes += 1;
    let mut params = params.to_vec();
    if id == tarsia_dict::ID {
        params[1] = *input.pick(&[1, 2, 4]);
    }
    if input.one_in(12) {
        input.edit(&mut params);
    }
    let minor = u16::from(input.one_in(16));
    let n_children = if input.one_in(12) {
        input.below(5)
    } else {
        n_children
    };
    let mut children = Vec::new();
    for _ in 0..n_children {
        // A little beyond the limits, which the layout must refuse.
        if depth < 5 && *n_nodes < 40 {
            children.push(any_tree(input, depth + 1, n_nodes));
        }
    }
    Tree::node(id, Version::new(1, minor), &params, children)
}
