//! Blocks that no writer makes: descriptions and payloads made up by the input.

use tarsia_codec::{Tree, ValueType};
use tarsia_structure::block::BLOCK_HEADER_BYTES;
use tarsia_structure::{Layer, LayerKind, Layout, Level, LevelForm, Meta};
use tarsia_testkit::fuzzing::Input;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::trees::{any_tree, random_tree};

use super::decoded::{decoder, exercise};
use super::written::{ROWS_MAX, TYPES, forms, pack};

/// Descriptions and payloads made up level by level: each section says what it likes of its slots, mostly so that
/// counts add up.
pub fn levels_made_up(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let forms = forms(&mut input);
    let value_type = *input.pick(&TYPES);
    let of_bits = some_trees(ValueType::Bits, &mut input);
    let of_lengths = some_trees(ValueType::Fixed(4), &mut input);
    let (bits, numbers) = (|| of_bits.clone(), || of_lengths.clone());
    let level = |form: &LevelForm| match form {
        LevelForm::Validity if input.one_in(4) => Level::AllValid,
        LevelForm::Validity => Level::Validity(bits()),
        LevelForm::Lengths if input.one_in(4) => Level::ConstantLength(input.number() as u32),
        LevelForm::Lengths => Level::Lengths(numbers()),
        LevelForm::ConstantLength(length) => Level::ConstantLength(*length),
    };
    let levels: Vec<Level> = forms.iter().map(level).collect();
    let has_validity = input.one_in(2);
    let layers = has_validity.then(|| Layer {
        kind: LayerKind::ItemValidity,
        trees: bits(),
    });
    let meta = Meta {
        layout: Layout::MiniBlock,
        value_type: Some(value_type),
        compact: input.one_in(2),
        levels,
        layers: layers.into_iter().collect(),
        trees: some_trees(value_type, &mut input),
        shared: vec![],
    };
    let decoder = decoder(&meta);
    let rows = match input.below(3) {
        0 => 1,
        _ => 1 + input.below(ROWS_MAX) as u32,
    };
    let mut payload = vec![0; 8];
    if input.one_in(4) {
        // A row may decode to a multiple of its payload.
        let padding = 8 * input.below(2000);
        payload[..4].copy_from_slice(&(padding as u32).to_le_bytes());
        payload.resize(8 + padding, 0);
    }
    let mut n: u64 = rows.into();
    for level in &meta.levels {
        n = section(level, n, &mut payload, &mut input);
    }
    let mut null_count = 0;
    if has_validity {
        let (tree, body) = match input.below(4) {
            0 => (255, vec![]),
            1 | 2 => {
                null_count = n;
                (254, vec![])
            }
            _ => {
                null_count = input.number() % n.saturating_add(1);
                (input.u8() % 4, encoded(n.div_ceil(8), &mut input))
            }
        };
        payload.extend_from_slice(&[tree, 0, 0, 0]);
        payload.extend_from_slice(&(body.len() as u32).to_le_bytes());
        payload.extend_from_slice(&body);
        payload.resize(payload.len().next_multiple_of(8), 0);
    }
    let n_values = if meta.compact {
        n - null_count.min(n)
    } else {
        n
    };
    let decoded_bytes = match value_type {
        ValueType::Bits => n_values.div_ceil(8),
        ValueType::Fixed(width) => n_values.saturating_mul(width.into()),
        ValueType::Bytes => input.number() % 1000,
    };
    let value_tree = (input.u8() as usize % meta.trees.len()) as u8;
    payload.extend(encoded(decoded_bytes, &mut input));
    let mut place = vec![0; BLOCK_HEADER_BYTES];
    place[4] = value_tree;
    for (at, field) in [
        (8, rows),
        (12, rows),
        (16, n_values as u32),
        (20, decoded_bytes as u32),
        (24, payload.len() as u32),
        (28, null_count as u32),
    ] {
        place[at..at + 4].copy_from_slice(&field.to_le_bytes());
    }
    place.extend(payload);
    if input.one_in(4) {
        input.overwrite(&mut place);
    }
    exercise(&decoder, &forms, &place, rows, &mut input);
}

/// A few trees of the table's encodings that need no shared buffers.
fn some_trees(value_type: ValueType, input: &mut Input<'_>) -> Vec<Tree> {
    let mut rng = Rng::new(input.u64());
    let registry = tarsia::registry();
    let made = (0..3).filter_map(|_| random_tree(registry, value_type, 2, &mut rng));
    let mut trees: Vec<Tree> = made
        .map(|(tree, _)| tree)
        .filter(|tree| {
            let mut shared = 0;
            tree.visit(&mut |node| shared += node.shared.len());
            shared == 0
        })
        .collect();
    trees.extend(any_tree(registry, value_type));
    trees
}

/// Appends the section of a level of `n` slots; returns how many it says are below.
fn section(level: &Level, n: u64, payload: &mut Vec<u8>, input: &mut Input<'_>) -> u64 {
    let (tree, body, below) = match level {
        Level::AllValid => return n,
        Level::ConstantLength(length) => return n.saturating_mul((*length).into()),
        Level::Validity(_) => match input.below(4) {
            0 => (255, vec![], n),
            1 => (254, vec![], 0),
            2 => {
                // Bits of which the first are set, as plain ones.
                let below = input.below(n.min(4096) as usize + 1) as u64;
                let bits = (0..n.min(1 << 16) as usize).map(|i| (i as u64) < below);
                (2, pack(bits), below)
            }
            _ => {
                let below = input.number() % n.saturating_add(1);
                (input.u8() % 4, encoded(n.div_ceil(8), input), below)
            }
        },
        Level::Lengths(_) => match input.below(4) {
            0 | 1 => {
                let length = match input.below(4) {
                    3 => input.number() as u32,
                    length => length as u32,
                };
                let body = length.to_le_bytes().to_vec();
                (253, body, n.saturating_mul(length.into()))
            }
            2 => {
                let lengths: Vec<u32> = (0..n.min(4096))
                    .map(|_| u32::from(input.u8() % 4))
                    .collect();
                let below = lengths.iter().map(|length| u64::from(*length)).sum();
                let body = lengths.iter().flat_map(|length| length.to_le_bytes());
                (0, body.collect(), below)
            }
            _ => (
                input.u8() % 4,
                encoded(n.saturating_mul(4), input),
                input.number(),
            ),
        },
    };
    payload.extend_from_slice(&[tree, 0, 0, 0]);
    payload.extend_from_slice(&(body.len() as u32).to_le_bytes());
    payload.extend_from_slice(&(below as u32).to_le_bytes());
    payload.extend_from_slice(&[0; 4]);
    payload.extend_from_slice(&body);
    payload.resize(payload.len().next_multiple_of(8), 0);
    below
}

/// Bytes for something encoded: as many as plain values take where they are few, else a few of the input's.
fn encoded(plain_bytes: u64, input: &mut Input<'_>) -> Vec<u8> {
    match input.below(4) {
        0 | 1 if plain_bytes <= 4096 => vec![0; plain_bytes as usize],
        2 if plain_bytes <= 4096 => {
            let mut bytes = input.take(plain_bytes as usize).to_vec();
            bytes.resize(plain_bytes as usize, 0);
            bytes
        }
        _ => {
            let len = input.below(40);
            input.take(len).to_vec()
        }
    }
}
