//! Decoders and encoders: generic targets, which take the encoding from the input. None of them names an encoding, so a
//! new row of the table is fuzzed without anything here.

use std::sync::{Arc, OnceLock};

use tarsia_cascade::{Chooser, Objective};
use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{
    BlockValues, Facts, LogicalType, Registry, SharedBuffer, SharedBuffers, SharedKind, Statistics,
    Tree, Unit, ValueType, Values, Version, build_encoder,
};
use tarsia_page_writer::Choose;
use tarsia_testkit::cases::Case;
use tarsia_testkit::fuzzing::{Input, decode_anything, hostile_lengths, round_trip, shared_of};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::trees::{Fit, random_tree};

/// Most values that are encoded per input; a few inputs have as many as a block may.
const VALUES_MAX: usize = 1 << 16;

/// Levels of a tree.
const DEPTH_MAX: u32 = 4;

const TYPES: [ValueType; 12] = [
    ValueType::Fixed(4),
    ValueType::Bytes,
    ValueType::Fixed(8),
    ValueType::Bits,
    ValueType::Fixed(1),
    ValueType::Fixed(2),
    ValueType::Fixed(16),
    ValueType::Fixed(0),
    ValueType::Fixed(3),
    ValueType::Fixed(5),
    ValueType::Fixed(33),
    ValueType::Fixed(1000),
];

fn registry() -> &'static Arc<Registry> {
    static REGISTRY: OnceLock<Arc<Registry>> = OnceLock::new();
    REGISTRY.get_or_init(|| Arc::new(tarsia_encodings::registry()))
}

/// A tree of the table's encodings over values of the type.
fn table_tree(value_type: ValueType, input: &mut Input<'_>) -> Option<(Tree, Fit)> {
    let depth = 1 + input.below(DEPTH_MAX as usize) as u32;
    let mut rng = Rng::new(input.u64());
    random_tree(registry(), value_type, depth, &mut rng)
}

/// Values of the input, made ones that the tree's root holds.
fn fitting(values: &Case, fit: Fit) -> Case {
    let Some(fit) = fit else {
        return values.clone();
    };
    let fitted = fit(values.values());
    let n = values.len();
    match fitted.as_values().expect("whole values") {
        Values::Bits(bits) => {
            let all: Vec<bool> = (0..n).map(|i| bits.get(i)).collect();
            Case::bits("fitted", &all)
        }
        Values::Fixed(fixed) => Case::fixed("fitted", fixed.width(), n, fixed.bytes().to_vec()),
        Values::Bytes(strings) => {
            let all: Vec<&[u8]> = (0..n).map(|i| strings.get(i)).collect();
            Case::strings("fitted", &all)
        }
    }
}

/// A unit, and what it was encoded with; `None` where some node refuses the values.
fn encoded(tree: &Tree, values: Values<'_>) -> Option<(Vec<u8>, SharedBuffers)> {
    let mut shared = SharedBuffers::new();
    let encoder = build_encoder(registry(), tree, values, &mut shared).ok()?;
    let mut bytes = Vec::new();
    let block = BlockValues::all(values).ok()?;
    encoder.encode(block, &mut bytes).ok()?;
    Some((bytes, shared))
}

/// An encoder of the table with any values: they come back, unless it refuses them.
pub fn round_trip_unit(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let value_type = *input.pick(&TYPES);
    let Some((tree, fit)) = table_tree(value_type, &mut input) else {
        return;
    };
    let values = fitting(&input.values(value_type, VALUES_MAX), fit);
    if encoded(&tree, values.values()).is_some() {
        round_trip(registry(), &tree, values.values(), &mut input);
    }
}

/// A decoder of the table with anything: either a unit of the input's bytes, or values encoded and then changed.
pub fn decode_unit(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let value_type = *input.pick(&TYPES);
    let Some((mut tree, fit)) = table_tree(value_type, &mut input) else {
        return;
    };
    let type_read = match input.one_in(16) {
        true => *input.pick(&TYPES),
        false => value_type,
    };
    if input.one_in(2) {
        let shared = any_buffers(type_read, &mut input);
        edit_node(&mut tree, &mut input);
        let (len, decoded_bytes) = hostile_lengths(type_read, &mut input);
        let mut choices = Input::new(input.take(24));
        let unit = Unit {
            bytes: input.rest(),
            len,
            decoded_bytes,
        };
        decode_anything(registry(), &tree, type_read, &shared, unit, &mut choices);
        return;
    }
    let values = fitting(&input.values(value_type, VALUES_MAX), fit);
    let Some((mut unit_bytes, shared)) = encoded(&tree, values.values()) else {
        return;
    };
    let mut len = values.len() as u32;
    let mut decoded_bytes = values.values().decoded_bytes() as u32;
    // Nothing changed, the bytes, the tree, or what the block's header says about them.
    match input.below(8) {
        0 => {}
        1 => (len, decoded_bytes) = hostile_lengths(type_read, &mut input),
        2 => edit_node(&mut tree, &mut input),
        _ => input.edit(&mut unit_bytes),
    }
    let mut shared = shared.to_decode().expect("buffers that are numbered");
    if input.one_in(8) {
        // Others than the unit was made with: of fewer entries, another kind or another type.
        shared = any_buffers(*input.pick(&TYPES), &mut input);
    }
    let unit = Unit {
        bytes: &unit_bytes,
        len,
        decoded_bytes,
    };
    decode_anything(registry(), &tree, type_read, &shared, unit, &mut input);
}

/// Up to three shared buffers of some kind, most of them of the type.
fn any_buffers(value_type: ValueType, input: &mut Input<'_>) -> Vec<SharedBuffer> {
    let n = input.below(4);
    (0..n)
        .map(|_| {
            let value_type = match input.one_in(4) {
                true => *input.pick(&TYPES),
                false => value_type,
            };
            let kind = match input.one_in(4) {
                true => *input.pick(&SharedKind::ALL),
                false => SharedKind::Dictionary,
            };
            SharedBuffer::new(kind, shared_of(&input.values(value_type, 70)))
        })
        .collect()
}

/// Changes the parameters, shared buffers or children of a node, in one of four cases.
fn edit_node(tree: &mut Tree, input: &mut Input<'_>) {
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
    match input.below(7) {
        0 => node.children.clear(),
        1 => {
            let again = node.clone();
            node.children.push(again);
        }
        2 => node.params = input.take(4).to_vec(),
        3 => node.shared.push(input.u8() % 4),
        4 => node.shared.clear(),
        _ => input.edit(&mut node.params),
    }
}

/// Every tree the default policy chooses for a page keeps the page's values.
pub fn round_trip_chosen(bytes: &[u8]) {
    const MEANINGS: [LogicalType; 6] = [
        LogicalType::Unknown,
        LogicalType::Signed,
        LogicalType::Unsigned,
        LogicalType::Float,
        LogicalType::Length,
        LogicalType::Text,
    ];
    let mut input = Input::new(bytes);
    let value_type = *input.pick(&TYPES);
    let values = input.values(value_type, VALUES_MAX);
    let objective = *input.pick(&[Objective::Balanced, Objective::Fast, Objective::Compact]);
    let facts = Facts::of(*input.pick(&MEANINGS));
    let choice = Chooser::new(registry().clone(), objective)
        .choose(&Statistics::new(values.values(), facts))
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
    let value_type = *input.pick(&TYPES);
    let mut n_nodes = 0;
    let built = any_tree(&mut input, 0, &mut n_nodes);
    let mut layout = Vec::new();
    if built.write_to(&mut layout).is_ok() && input.one_in(4) {
        input.edit(&mut layout);
    }
    let mut reader = ByteReader::new(&layout);
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
    let shared = any_buffers(value_type, &mut input);
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
    let writers = registry().writers();
    *n_nodes += 1;
    let known = input.below(writers.len() + 1);
    let (id, mut params) = match writers.get(known) {
        None => ("org.example.unknown", vec![]),
        Some(known) => {
            let samples = known.writer.samples();
            (known.writer.id(), input.pick(&samples).params.clone())
        }
    };
    if input.one_in(12) {
        input.edit(&mut params);
    }
    let minor = u16::from(input.one_in(16));
    let mut children = Vec::new();
    for _ in 0..*input.pick(&[0, 1, 0, 2, 1, 0, 4]) {
        // A little beyond the limits, which the layout must refuse.
        if depth < 5 && *n_nodes < 40 {
            children.push(any_tree(input, depth + 1, n_nodes));
        }
    }
    let n_shared = *input.pick(&[0, 0, 1, 0, 3]);
    let shared: Vec<u8> = (0..n_shared).map(|_| input.u8() % 4).collect();
    Tree::node(id, Version::new(1, minor), &params, children).with_shared(&shared)
}
