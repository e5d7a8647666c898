//! Erasing rows of blocks under every tree the policy can choose, and proof that the laws catch an erasure that leaves something.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tarsia_bitpack::Mode;
use tarsia_cascade::{Chooser, Objective, register};
use tarsia_codec::{BitSlice, OwnedValues, Registry, Shared, Tree, ValueType, build_encoder};
use tarsia_dict::CodeBytes;
use tarsia_structure::{
    BlockContext, BlockErasure, BlockHeader, BlockRows, EncodeContext, Layer, LayerKind, Layout,
    Meta, Outcome, PageInput, decode_survivors, encode_page, erase_block, mark_used, wipe_unused,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::erasure::{Erase, ErasureCase, Report, Rows, check_erasure, checksum, context};
use tarsia_testkit::rng::Rng;

fn registry() -> Registry {
    let mut registry = Registry::new();
    register(&mut registry);
    registry
}

/// No validity, a filled page, a compact page.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Nulls {
    None,
    Filled,
    Compact,
}

fn meta(value_type: ValueType, trees: Vec<Tree>, nulls: Nulls) -> Meta {
    let layer = Layer {
        kind: LayerKind::ItemValidity,
        trees: vec![tarsia_bitmap::tree()],
    };
    Meta {
        layout: Default::default(),
        value_type: Some(value_type),
        compact: nulls == Nulls::Compact,
        levels: vec![],
        layers: match nulls {
            Nulls::None => vec![],
            _ => vec![layer],
        },
        trees,
    }
}

/// Trees the policy can choose for a type, the last of each list able to hold all values.
fn tree_lists(value_type: ValueType) -> Vec<Vec<Tree>> {
    let plain = tarsia_plain::tree();
    let pack = tarsia_bitpack::tree_of;
    let both = [Mode::Free, Mode::Uniform];
    match value_type {
        ValueType::Bits => vec![
            vec![plain.clone()],
            vec![tarsia_bitmap::tree(), plain.clone()],
            vec![tarsia_constant::tree(), plain],
        ],
        ValueType::Fixed(width) => {
            let mut lists = vec![
                vec![plain.clone()],
                vec![tarsia_constant::tree(), plain.clone()],
            ];
            for mode in both {
                if width <= 8 {
                    lists.push(vec![pack(mode), plain.clone()]);
                }
                let in_block = tarsia_dict::block_tree(CodeBytes::Two, pack(mode), plain.clone());
                lists.push(vec![in_block, plain.clone()]);
                let of_page = tarsia_dict::page_tree(CodeBytes::Two, pack(mode));
                lists.push(vec![of_page, plain.clone()]);
            }
            lists
        }
        ValueType::Bytes => {
            let plain = tarsia_bytes::tree(plain);
            let mut lists = vec![
                vec![plain.clone()],
                vec![tarsia_constant::tree(), plain.clone()],
            ];
            for mode in both {
                let packed = tarsia_bytes::tree(pack(mode));
                lists.push(vec![packed.clone(), plain.clone()]);
                let in_block = tarsia_dict::block_tree(CodeBytes::Two, pack(mode), packed);
                lists.push(vec![in_block, plain.clone()]);
                let of_page = tarsia_dict::page_tree(CodeBytes::Two, pack(mode));
                lists.push(vec![of_page, plain.clone()]);
            }
            lists
        }
    }
}

/// Rows by name: one, equal (zero bits wide), narrow over a base, with outliers, groups that differ in width, all bits
/// used, runs.
fn row_sets(value_type: ValueType) -> Vec<Case> {
    let mut rng = Rng::new(0xe5a5e);
    // More than a packing group, where groups matter.
    let n = 1300;
    match value_type {
        ValueType::Bits => vec![
            Case::bits("one", &[true]),
            Case::bits("random", &(0..n).map(|_| rng.flip()).collect::<Vec<_>>()),
            Case::bits("all one", &[true; 77]),
        ],
        ValueType::Fixed(width) => {
            let mut random = || u128::from(rng.u64()) << 64 | u128::from(rng.u64());
            let base = random();
            let any: Vec<u128> = (0..n).map(|_| random()).collect();
            let all = |of: &dyn Fn(usize) -> u128| -> Vec<u128> { (0..n).map(of).collect() };
            let outlier = |i: usize| match any[i] % 32 {
                0 => any[i],
                _ => any[i] >> 64 & 7,
            };
            [
                ("one", vec![base]),
                ("equal", vec![base; 130]),
                (
                    "narrow",
                    (0..90).map(|i| base.wrapping_add(any[i] % 12)).collect(),
                ),
                ("outliers", all(&outlier)),
                ("groups", all(&|i| any[i] % (2 << (i / 260)))),
                ("random", any[..200].to_vec()),
                ("runs", all(&|i| base.wrapping_mul((i / 400 + 1) as u128))),
                ("falling", (0..200).map(|i| (200 - i) * 1000).collect()),
            ]
            .map(|(name, numbers)| Case::numbers(name, width as usize, &numbers))
            .to_vec()
        }
        ValueType::Bytes => {
            let few: Vec<String> = (0..300)
                .map(|_| format!("value {}", rng.below(30)))
                .collect();
            let mut lengths = Vec::new();
            for i in 0..300 {
                let len = match i % 50 {
                    0 => 300,
                    _ => rng.below(9),
                };
                lengths.push(rng.bytes(len));
            }
            vec![
                Case::strings("one", &["x"]),
                Case::strings("equal", &["same"; 60]),
                Case::strings("empty", &[""; 60]),
                Case::strings("few distinct", &few),
                Case::strings("lengths", &lengths),
            ]
        }
    }
}

fn rows_of(case: &Case, nulls: Nulls) -> Rows {
    let mut rng = Rng::new(5);
    let rows = Rows::new(case.values());
    let percent = match nulls {
        Nulls::None => return rows,
        Nulls::Filled => 90,
        Nulls::Compact => 40,
    };
    let validity = (0..rows.len()).map(|_| rng.percent(percent)).collect();
    rows.with_validity(validity)
}

/// The dictionary that the page's first tree makes of these values and of the filler of null items.
fn dictionary(registry: &Registry, tree: &Tree, case: &Case) -> Vec<Arc<OwnedValues>> {
    let mut values = Rows::new(case.values()).values;
    let case = match case.value_type() {
        ValueType::Bits => return vec![],
        ValueType::Fixed(width) => {
            Case::fixed("entries", width as usize, values.len(), values.concat())
        }
        ValueType::Bytes => {
            values.push(vec![]);
            Case::strings("entries", &values)
        }
    };
    match build_encoder(registry, tree, case.values(), Shared::default()) {
        Ok(encoder) => encoder.shared(),
        Err(_) => vec![],
    }
}

fn check_with(
    value_type: ValueType,
    trees: &[Tree],
    case: &Case,
    nulls: Nulls,
    erase: &Erase,
) -> Report {
    let registry = registry();
    let shared = dictionary(&registry, &trees[0], case);
    let meta = meta(value_type, trees.to_vec(), nulls);
    check_erasure(&ErasureCase {
        name: &format!("{}, nulls {nulls:?}", case.name),
        context: context(&registry, &meta, &shared),
        rows: &rows_of(case, nulls),
        place: None,
        erase,
        seed: 11,
    })
}

fn check_all(value_type: ValueType) -> Report {
    let mut report = Report::default();
    for trees in tree_lists(value_type) {
        let mut of_tree = Report::default();
        for case in row_sets(value_type) {
            for nulls in [Nulls::None, Nulls::Filled, Nulls::Compact] {
                let checked = check_with(value_type, &trees, &case, nulls, &erase_block);
                of_tree.add(checked);
            }
        }
        println!("{value_type:?} as {}: {of_tree:?}", trees[0]);
        report.add(of_tree);
    }
    report
}

/// Byte strings that lie row by row, behind an index.
#[test]
fn strings_row_by_row() {
    let registry = registry();
    let trees = vec![tarsia_bytes::tree(tarsia_plain::tree())];
    for nulls in [Nulls::None, Nulls::Filled] {
        let mut meta = meta(ValueType::Bytes, trees.clone(), nulls);
        meta.layout = Layout::FullZip;
        meta.layers.iter_mut().for_each(|layer| layer.trees.clear());
        let mut report = Report::default();
        for case in row_sets(ValueType::Bytes) {
            report.add(check_erasure(&ErasureCase {
                name: &format!("{} row by row, nulls {nulls:?}", case.name),
                context: context(&registry, &meta, &[]),
                rows: &rows_of(&case, nulls),
                place: None,
                erase: &erase_block,
                seed: 12,
            }));
        }
        assert_eq!(report.n_moved, 0);
        assert!(
            report.n_erased > 20 && report.n_canaries_found > 10,
            "{report:?}"
        );
    }
}

#[test]
fn bits() {
    assert_eq!(check_all(ValueType::Bits).n_moved, 0);
}

#[test]
fn one_byte() {
    check_all(ValueType::Fixed(1));
}

#[test]
fn two_bytes() {
    check_all(ValueType::Fixed(2));
}

#[test]
fn four_bytes() {
    assert!(check_all(ValueType::Fixed(4)).n_canaries_found > 100);
}

#[test]
fn eight_bytes() {
    assert!(check_all(ValueType::Fixed(8)).n_canaries_found > 100);
}

#[test]
fn sixteen_bytes() {
    assert!(check_all(ValueType::Fixed(16)).n_canaries_found > 100);
}

#[test]
fn strings() {
    assert!(check_all(ValueType::Bytes).n_canaries_found > 100);
}

/// Blocks as the writer's pages have them, under what the policy chooses.
#[test]
fn blocks_of_written_pages() {
    let registry = registry();
    let mut n_blocks = 0;
    let types = [
        ValueType::Bits,
        ValueType::Fixed(2),
        ValueType::Fixed(8),
        ValueType::Bytes,
    ];
    for value_type in types {
        for case in row_sets(value_type) {
            for nulls in [Nulls::None, Nulls::Filled, Nulls::Compact] {
                let rows = rows_of(&case, nulls);
                let mut bits = vec![0u8; rows.len().div_ceil(8)];
                for i in (0..rows.len()).filter(|i| rows.is_valid(*i)) {
                    bits[i / 8] |= 1 << (i % 8);
                }
                let input = PageInput {
                    shape: None,
                    validity: Some(BitSlice::new(&bits, 0, rows.len()).unwrap()),
                    values: case.values(),
                };
                let chooser = Chooser::new(Objective::Compact);
                let page = encode_page(
                    input,
                    &EncodeContext {
                        registry: &registry,
                        chooser: &chooser,
                        checksum,
                    },
                )
                .unwrap();
                let mut start = 0;
                for i in 0..page.starts.len() {
                    let n_rows = match &page.block_rows {
                        BlockRows::Uniform(log2) => (rows.len() - start).min(1 << log2),
                        BlockRows::Table(table) => table[i] as usize,
                    };
                    let mut block = Rows::new(case.values().slice(start..start + n_rows));
                    if !page.meta.layers.is_empty() {
                        let valid = (start..start + n_rows).map(|i| rows.is_valid(i));
                        block = block.with_validity(valid.collect());
                    }
                    start += n_rows;
                    // What stands under null rows may lack from a dictionary.
                    if let (false, Some(first)) = (
                        page.shared.is_empty(),
                        (0..n_rows).find(|i| block.is_valid(*i)),
                    ) {
                        for i in (0..n_rows).filter(|i| !rows.is_valid(start - n_rows + i)) {
                            block.values[i] = block.values[first].clone();
                        }
                    }
                    check_erasure(&ErasureCase {
                        name: &case.name,
                        context: context(&registry, &page.meta, &page.shared),
                        rows: &block,
                        place: Some(page.block(i)),
                        erase: &erase_block,
                        seed: 3,
                    });
                    n_blocks += 1;
                }
                assert_eq!(start, rows.len());
            }
        }
    }
    assert!(n_blocks > 50, "{n_blocks}");
}

/// Entries of a page's dictionary that no survivor uses are wiped, and the survivors still decode to what they were.
#[test]
fn dictionaries_are_wiped() {
    let registry = registry();
    for case in row_sets(ValueType::Bytes)
        .into_iter()
        .chain(row_sets(ValueType::Fixed(8)))
    {
        let codes = tarsia_bitpack::tree_of(Mode::Uniform);
        let trees = vec![tarsia_dict::page_tree(CodeBytes::Two, codes)];
        let shared = dictionary(&registry, &trees[0], &case);
        let meta = meta(case.value_type(), trees, Nulls::None);
        let rows = Rows::new(case.values());
        let n = rows.len() as u32;
        let erased: Vec<u32> = (0..n).filter(|i| i % 3 != 1 || *i > 40).collect();
        let before = context(&registry, &meta, &shared);
        let place =
            tarsia_structure::encode_block(&before, None, case.values(), n, None, 1 << 16).unwrap();
        let erasure = BlockErasure {
            place: place.bytes(),
            rows: n,
            absent: &[],
            erase: &erased,
            salt: None,
        };
        let new = erase_block(&before, &erasure).unwrap();
        let survivors = decode_survivors(&before, new.bytes(), n).unwrap();
        let mut used = vec![false; shared[0].len()];
        mark_used(&before, &survivors, &shared[0], &mut used).unwrap();
        let wiped = wipe_unused(&shared[0], &used).unwrap();

        let rest = rows.without(&erased);
        let entries = Rows::new(wiped.as_values().unwrap());
        let old_entries = Rows::new(shared[0].as_values().unwrap());
        assert_eq!(entries.len(), old_entries.len());
        for (entry, old) in entries.values.iter().zip(&old_entries.values) {
            match rest.values.contains(old) {
                true => assert_eq!(entry, old),
                false => assert!(entry.iter().all(|byte| *byte == 0), "{}", case.name),
            }
        }
        let wiped = [Arc::new(wiped)];
        let after = context(&registry, &meta, &wiped);
        let survivors = decode_survivors(&after, new.bytes(), n).unwrap();
        assert_eq!(Rows::new(survivors.values().unwrap()).values, rest.values);
    }
}

/// Filler repeats the survivor before it. Where that one is patched, a block can grow under a tree whose values alone never do.
#[test]
fn filler_of_a_patched_value_moves_the_block() {
    let registry = registry();
    let trees = vec![tarsia_bitpack::tree_of(Mode::Uniform), tarsia_plain::tree()];
    let meta = meta(ValueType::Fixed(8), trees, Nulls::Filled);
    let context = context(&registry, &meta, &[]);
    let mut numbers: Vec<u128> = (0..1000).map(|i| i * 7 % 8).collect();
    numbers[10] = u128::from(u64::MAX) >> 2;
    let case = Case::numbers("outlier, one row, nulls", 8, &numbers);
    let mut bits = vec![0xff; 125];
    (12..132).for_each(|i: usize| bits[i / 8] &= !(1 << (i % 8)));
    let bits = BitSlice::new(&bits, 0, 1000).unwrap();
    let old = tarsia_structure::encode_block(&context, Some(bits), case.values(), 1000, None, 4096);
    let old = old.unwrap();
    let len = BlockHeader::parse(old.bytes()).unwrap().block_bytes() as usize;
    let erasure = BlockErasure {
        place: &old.bytes()[..len],
        rows: 1000,
        absent: &[],
        erase: &[11],
        salt: None,
    };
    assert!(erase_block(&context, &erasure).unwrap().must_move());
}

/// Whatever a block holds, an erasure ends, in a result or an error.
#[test]
fn hostile_blocks_never_panic() {
    let registry = registry();
    let mut rng = Rng::new(77);
    for value_type in [ValueType::Bits, ValueType::Fixed(4), ValueType::Bytes] {
        for trees in tree_lists(value_type) {
            for case in row_sets(value_type) {
                let shared = dictionary(&registry, &trees[0], &case);
                let meta = meta(value_type, trees.clone(), Nulls::Compact);
                let rows = case.len() as u32;
                let valid = rng.bytes(case.len().div_ceil(8));
                // A checksum that is always right lets every mutation through to the decoders.
                let context = BlockContext {
                    checksum: |_| 0,
                    ..context(&registry, &meta, &shared)
                };
                let bits = BitSlice::new(&valid, 0, case.len()).unwrap();
                let values = case.values();
                let good =
                    tarsia_structure::encode_block(&context, Some(bits), values, rows, None, 0);
                let good = good.unwrap().bytes().to_vec();
                for _ in 0..30 {
                    let mut bad = good.clone();
                    for _ in 0..rng.between(1, 3) {
                        let at = 4 + rng.below(bad.len().min(100) - 4);
                        bad[at] = rng.u8();
                    }
                    bad.truncate(rng.between(bad.len() * 3 / 4, bad.len()));
                    let erasure = BlockErasure {
                        place: &bad,
                        rows,
                        absent: &[],
                        erase: &[0],
                        salt: None,
                    };
                    let _ = erase_block(&context, &erasure);
                }
            }
        }
    }
}

fn is_caught(value_type: ValueType, trees: &[Tree], case: &Case, erase: &Erase) -> String {
    let checked = catch_unwind(AssertUnwindSafe(|| {
        check_with(value_type, trees, case, Nulls::None, erase)
    }));
    match checked {
        Ok(report) => panic!("the laws hold for an erasure that leaves something: {report:?}"),
        Err(panic) => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
    }
}

/// The laws see an erasure that forgets a step, in the law meant for it.
#[test]
fn broken_erasures_are_caught() {
    let value_type = ValueType::Fixed(8);
    let trees = &tree_lists(value_type)[2];
    let case = &row_sets(value_type)[3];
    let keeps_all = |context: &BlockContext<'_>, erasure: &BlockErasure<'_>| {
        erase_block(context, erasure)?;
        let bytes = erasure.place.to_vec();
        Ok(Outcome::InPlace { bytes })
    };
    let text = is_caught(value_type, trees, case, &keeps_all);
    assert!(text.contains("survivors: present rows"), "{text}");

    let keeps_tail = |context: &BlockContext<'_>, erasure: &BlockErasure<'_>| {
        let mut outcome = erase_block(context, erasure)?;
        if let Outcome::InPlace { bytes } = &mut outcome {
            let end = BlockHeader::parse(bytes)?.block_bytes() as usize;
            bytes[end..].copy_from_slice(&erasure.place[end..]);
        }
        Ok(outcome)
    };
    let text = is_caught(value_type, trees, case, &keeps_tail);
    assert!(text.contains("nothing behind"), "{text}");

    // A sum of the old bytes, as a digest would be, in place of a salt: no decoder looks at it.
    let keeps_digest = |context: &BlockContext<'_>, erasure: &BlockErasure<'_>| {
        let mut salt = [0; 16];
        salt[..4].copy_from_slice(&checksum(erasure.place).to_le_bytes());
        let salt = erasure.salt.map(|_| salt);
        erase_block(context, &BlockErasure { salt, ..*erasure })
    };
    let text = is_caught(value_type, trees, case, &keeps_digest);
    assert!(text.contains("canonical"), "{text}");
}
