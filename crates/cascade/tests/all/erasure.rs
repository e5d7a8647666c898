//! Erasing rows of blocks under every tree that the table of encodings can make, and proof that the laws catch an
//! erasure that leaves something. No encoding is named here: one that is new in the table is tested.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tarsia_cascade::{Chooser, Objective};
use tarsia_codec::{
    BitSlice, OwnedValues, Registry, SharedBuffers, SharedKind, SharedSpec, Tree, TreeWriter,
    UsedEntries, ValueType,
};
use tarsia_page_writer::{
    BlockContext, BlockErasure, BlockRows, EncodeContext, Outcome, PageInput, decode_survivors,
    encode_page, erase_block, mark_used, wipe_unused,
};
use tarsia_structure::{BlockHeader, Layer, LayerKind, Layout, Meta};
use tarsia_testkit::cases::Case;
use tarsia_testkit::effort::{is_tried, some_or_all};
use tarsia_testkit::erasure::{Erase, ErasureCase, Report, Rows, check_erasure, context, may_grow};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::trees::{Fit, any_tree, fitted, sample_trees};
use tarsia_testkit::units::checksum;

fn registry() -> Registry {
    tarsia_encodings::registry()
}

/// No validity, a filled page, a compact page.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Nulls {
    None,
    Filled,
    Compact,
}

const NULLS: [Nulls; 3] = [Nulls::None, Nulls::Filled, Nulls::Compact];

/// The stored parts of a page beside its blocks.
struct Page {
    meta: Meta,
    shared: Vec<Arc<OwnedValues>>,
}

impl Page {
    /// A page of these trees; `shared` are the buffers of the first.
    fn new(
        value_type: ValueType,
        trees: &[Tree],
        nulls: Nulls,
        shared: Vec<(SharedSpec, Arc<OwnedValues>)>,
    ) -> Self {
        // Every tree that holds bits takes its turn, the first of them with every kind of values.
        let mut layers = sample_trees(&registry(), ValueType::Bits);
        layers.retain(|(tree, fit)| fit.is_none() && tree.shared.is_empty());
        let turn = trees[0].id.len() % layers.len();
        let layer = Layer {
            kind: LayerKind::ItemValidity,
            trees: vec![layers.swap_remove(turn).0, any(ValueType::Bits)],
        };
        let (specs, shared) = shared.into_iter().unzip();
        let meta = Meta {
            layout: Default::default(),
            value_type: Some(value_type),
            compact: nulls == Nulls::Compact,
            levels: vec![],
            layers: match nulls {
                Nulls::None => vec![],
                _ => vec![layer],
            },
            trees: trees.to_vec(),
            shared: specs,
        };
        Self { meta, shared }
    }

    fn context<'a>(&'a self, registry: &'a Registry) -> BlockContext<'a> {
        context(registry, &self.meta, &self.shared)
    }
}

/// Returns the tree that blocks fall back on.
fn any(value_type: ValueType) -> Tree {
    any_tree(&registry(), value_type).expect("a tree that holds any values")
}

/// Every tree that the table makes for a type, each in front of one that holds all values.
fn tree_lists(value_type: ValueType) -> Vec<(Vec<Tree>, Fit)> {
    let trees = sample_trees(&registry(), value_type).into_iter();
    let lists = trees.map(|(tree, fit)| match any(value_type) {
        same if same == tree => (vec![tree], fit),
        any => (vec![tree, any], fit),
    });
    lists.collect()
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

/// The shared buffers that a tree makes of these values and of the filler of null items; `None` where it does not hold
/// them.
fn shared_of(tree: &Tree, case: &Case) -> Option<Vec<(SharedSpec, Arc<OwnedValues>)>> {
    let mut values = Rows::new(case.values()).values;
    let case = match case.value_type() {
        ValueType::Bits => Case::copy_of("bits", case.values()),
        ValueType::Fixed(width) => {
            Case::fixed("entries", width as usize, values.len(), values.concat())
        }
        ValueType::Bytes => {
            values.push(vec![]);
            Case::strings("entries", &values)
        }
    };
    let mut shared = SharedBuffers::new();
    let writer = TreeWriter::new(&registry(), tree, case.value_type()).expect("a known tree");
    let prepared = writer.prepare(case.values(), &mut shared, None);
    prepared.ok()?;
    Some(shared.to_vec().expect("whole buffers"))
}

/// `None` where the first tree has shared buffers and does not hold the values.
fn check_with(
    value_type: ValueType,
    trees: &[Tree],
    case: &Case,
    nulls: Nulls,
    erase: &Erase,
) -> Option<Report> {
    let registry = registry();
    let page = Page::new(value_type, trees, nulls, shared_of(&trees[0], case)?);
    Some(check_erasure(&ErasureCase {
        name: &format!("{}, nulls {nulls:?}", case.name),
        context: page.context(&registry),
        rows: &rows_of(case, nulls),
        place: None,
        erase,
        seed: 11,
    }))
}

/// Checks every tree of a type, with values that it holds and with others, which its blocks fall back for.
fn check_all(value_type: ValueType) -> Report {
    let registry = registry();
    let mut report = Report::default();
    let mut roots: Vec<(String, Report)> = vec![];
    for (number, (trees, fit)) in tree_lists(value_type).into_iter().enumerate() {
        let mut of_tree = Report::default();
        // All rows under the first tree of each kind of node, and fewer where only a child differs.
        let is_first = roots.iter().all(|(id, _)| *id != node_of(&trees[0]));
        if !is_first && !is_tried(number, some_or_all(3, 1)) {
            continue;
        }
        let cases = row_sets(value_type).into_iter();
        let raw = cases.clone().filter(|_| is_first || fit.is_none());
        let fit = cases
            .filter(|_| fit.is_some())
            .map(|case| fitted(&case, fit));
        for (i, case) in raw.chain(fit).enumerate() {
            for nulls in NULLS {
                let is_of_turn = i % 2 == number % 2 && nulls == NULLS[i / 2 % 3];
                if is_first || is_of_turn {
                    let checked = check_with(value_type, &trees, &case, nulls, &erase_block);
                    of_tree.add(checked.unwrap_or_default());
                }
            }
        }
        let never_grows = trees.iter().all(|it| !may_grow(&registry, it, value_type));
        if never_grows && value_type == ValueType::Bits {
            assert_eq!(of_tree.n_moved, 0, "{}", trees[0]);
        }
        println!("{value_type:?} as {}: {of_tree:?}", trees[0]);
        roots.push((node_of(&trees[0]), of_tree));
        report.add(of_tree);
    }
    // Whatever its children are, each kind of node must have held something.
    for (node, _) in &roots {
        let of_node = roots.iter().filter(|(other, _)| other == node);
        let n_held: usize = of_node.map(|(_, report)| report.n_first_tree).sum();
        assert!(n_held > 20, "{node} held {n_held} blocks");
    }
    report
}

/// A node without its children.
fn node_of(tree: &Tree) -> String {
    format!("{} {:?}", tree.id, tree.params)
}

/// Byte strings that lie row by row, behind an index.
#[test]
fn strings_row_by_row() {
    let registry = registry();
    // Lengths and data as they are.
    let chooser = Chooser::new(Arc::new(registry.clone()), Objective::Balanced);
    let trees = vec![chooser.fallback(ValueType::Bytes).expect("a tree")];
    for nulls in [Nulls::None, Nulls::Filled] {
        let mut page = Page::new(ValueType::Bytes, &trees, nulls, vec![]);
        page.meta.layout = Layout::FullZip;
        let layers = page.meta.layers.iter_mut();
        layers.for_each(|layer| layer.trees.clear());
        let mut report = Report::default();
        for case in row_sets(ValueType::Bytes) {
            report.add(check_erasure(&ErasureCase {
                name: &format!("{} row by row, nulls {nulls:?}", case.name),
                context: page.context(&registry),
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
            for nulls in NULLS {
                let rows = rows_of(&case, nulls);
                let mut bits = vec![0u8; rows.len().div_ceil(8)];
                for i in (0..rows.len()).filter(|i| rows.is_valid(*i)) {
                    bits[i / 8] |= 1 << (i % 8);
                }
                let input = PageInput {
                    validity: Some(BitSlice::new(&bits, 0, rows.len()).unwrap()),
                    ..PageInput::of_values(case.values())
                };
                let chooser = Chooser::new(Arc::new(registry.clone()), Objective::Compact);
                let page = encode_page(
                    input,
                    &EncodeContext {
                        registry: &registry,
                        memory: None,
                        chooser: &chooser,
                        checksum,
                        erasable: false,
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

/// Entries of shared buffers that no survivor uses are wiped, other shared buffers stay as they are, and the survivors
/// still decode to what they were.
#[test]
fn unused_entries_are_wiped() {
    let registry = registry();
    let mut n_wiped = 0;
    for value_type in [ValueType::Bytes, ValueType::Fixed(8)] {
        let lists = tree_lists(value_type).into_iter();
        for (trees, fit) in lists.filter(|(trees, _)| !trees[0].shared.is_empty()) {
            for case in row_sets(value_type) {
                let case = fitted(&case, fit);
                let Some(shared) = shared_of(&trees[0], &case) else {
                    continue;
                };
                for nulls in NULLS {
                    let mut page = Page::new(value_type, &trees[..1], nulls, shared.clone());
                    n_wiped += check_wiping(&registry, &mut page, &rows_of(&case, nulls), &case);
                }
            }
        }
    }
    assert!(n_wiped > 1000, "{n_wiped} entries");
}

/// How many entries were wiped.
fn check_wiping(registry: &Registry, page: &mut Page, rows: &Rows, case: &Case) -> usize {
    let n = rows.len() as u32;
    let mut bits = vec![0u8; rows.len().div_ceil(8)];
    for i in (0..rows.len()).filter(|i| rows.is_valid(*i)) {
        bits[i / 8] |= 1 << (i % 8);
    }
    let bits = BitSlice::new(&bits, 0, rows.len()).unwrap();
    let validity = rows.validity.as_ref().map(|_| bits);
    let erased: Vec<u32> = (0..n).filter(|i| i % 3 != 1 || *i > 40).collect();
    let before = page.context(registry);
    let Ok(place) =
        tarsia_page_writer::encode_block(&before, None, validity, case.values(), n, None, 1 << 16)
    else {
        // A child does not hold what its parent makes of the values.
        return 0;
    };
    let erasure = BlockErasure {
        place: place.bytes(),
        rows: n,
        absent: &[],
        erase: &erased,
        salt: None,
    };
    let new = erase_block(&before, &erasure).unwrap();
    let buffers = page.meta.shared_buffers(&page.shared).unwrap();
    let used: Vec<_> = (buffers.iter())
        .map(|it| Arc::new(UsedEntries::none_of(it.values().len())))
        .collect();
    mark_used(&before, new.bytes(), n, &used).unwrap();
    let rest = rows.without(&erased);
    // What stands under nulls refers to nothing.
    let valid = (0..rest.len()).filter(|i| rest.is_valid(*i));
    let valid: Vec<&Vec<u8>> = valid.map(|i| &rest.values[i]).collect();
    let mut n_wiped = 0;
    let mut wiped = vec![];
    for (buffer, used) in buffers.iter().zip(&used) {
        let left = wipe_unused(buffer, used).unwrap();
        let entries = Rows::new(left.as_values().unwrap());
        let old_entries = Rows::new(buffer.values().as_values().unwrap());
        assert_eq!(entries.len(), old_entries.len());
        // Whether a value is used is known where entries are the page's values.
        let are_values =
            buffer.kind() == SharedKind::Dictionary && entries.value_type == rows.value_type;
        let before = [None].into_iter().chain(entries.values.iter().map(Some));
        let pairs = entries.values.iter().zip(&old_entries.values);
        for ((entry, old), before) in pairs.zip(before) {
            let is_kept = entry == old;
            let is_wiped = before == Some(entry) || entry.iter().all(|byte| *byte == 0);
            assert!(
                is_kept || is_wiped && buffer.kind().has_entries(),
                "{}",
                case.name
            );
            if are_values {
                let is_used = valid.contains(&old);
                assert!(if is_used { is_kept } else { is_wiped }, "{}", case.name);
            }
            n_wiped += usize::from(!is_kept);
        }
        wiped.push(Arc::new(left));
    }
    page.shared = wiped;
    let survivors = decode_survivors(&page.context(registry), new.bytes(), n).unwrap();
    let left = Rows::new(survivors.values().unwrap()).values;
    let is_dense = page.meta.compact || left.len() < rest.len();
    let left = (0..left.len())
        .filter(|i| is_dense || rest.is_valid(*i))
        .map(|i| &left[i]);
    assert_eq!(left.collect::<Vec<_>>(), valid, "{}", case.name);
    n_wiped
}

/// Filler repeats the survivor before it. Where that one is an outlier, which some trees keep apart from the others, a
/// block can grow under a tree whose values alone never do.
#[test]
fn filler_of_an_outlier_moves_the_block() {
    let registry = registry();
    let value_type = ValueType::Fixed(8);
    let mut numbers: Vec<u128> = (0..1000).map(|i| i * 7 % 8).collect();
    numbers[10] = u128::from(u64::MAX) >> 2;
    let case = Case::numbers("outlier, one row, nulls", 8, &numbers);
    let mut bits = vec![0xff; 125];
    (12..132).for_each(|i: usize| bits[i / 8] &= !(1 << (i % 8)));
    let bits = BitSlice::new(&bits, 0, 1000).unwrap();
    let mut n_moved = 0;
    let lists = tree_lists(value_type).into_iter();
    for (trees, _) in lists.filter(|(trees, _)| !may_grow(&registry, &trees[0], value_type)) {
        let Some(shared) = shared_of(&trees[0], &case) else {
            continue;
        };
        let page = Page::new(value_type, &trees, Nulls::Filled, shared);
        let context = page.context(&registry);
        let values = case.values();
        let old =
            tarsia_page_writer::encode_block(&context, None, Some(bits), values, 1000, None, 4096);
        let old = old.unwrap();
        let len = BlockHeader::parse(old.bytes()).unwrap().block_bytes() as usize;
        let erasure = BlockErasure {
            place: &old.bytes()[..len],
            rows: 1000,
            absent: &[],
            erase: &[11],
            salt: None,
        };
        n_moved += usize::from(erase_block(&context, &erasure).unwrap().must_move());
    }
    assert!(n_moved > 0);
}

/// Whatever a block holds, an erasure ends, in a result or an error.
#[test]
fn hostile_blocks_never_panic() {
    let registry = registry();
    let mut rng = Rng::new(77);
    for value_type in [ValueType::Bits, ValueType::Fixed(4), ValueType::Bytes] {
        for (trees, fit) in tree_lists(value_type) {
            for case in row_sets(value_type) {
                let case = fitted(&case, fit);
                let Some(shared) = shared_of(&trees[0], &case) else {
                    continue;
                };
                let page = Page::new(value_type, &trees, Nulls::Compact, shared);
                let rows = case.len() as u32;
                let valid = rng.bytes(case.len().div_ceil(8));
                // A checksum that is always right lets every mutation through to the decoders.
                let context = BlockContext {
                    checksum: |_| 0,
                    ..page.context(&registry)
                };
                let bits = BitSlice::new(&valid, 0, case.len()).unwrap();
                let values = case.values();
                let good = tarsia_page_writer::encode_block(
                    &context,
                    None,
                    Some(bits),
                    values,
                    rows,
                    None,
                    0,
                );
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
        Ok(None) => panic!("{} does not hold {}", trees[0], case.name),
        Ok(report) => panic!("the laws hold for an erasure that leaves something: {report:?}"),
        Err(panic) => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
    }
}

/// The laws see an erasure that forgets a step, in the law meant for it.
#[test]
fn broken_erasures_are_caught() {
    let value_type = ValueType::Fixed(8);
    let case = &row_sets(value_type)[3];
    for (trees, fit) in tree_lists(value_type) {
        check_broken(value_type, &trees, &fitted(case, fit));
    }
}

fn check_broken(value_type: ValueType, trees: &[Tree], case: &Case) {
    let keeps_all = |context: &BlockContext<'_>, erasure: &BlockErasure<'_>| {
        erase_block(context, erasure)?;
        let bytes = erasure.place.to_vec();
        Ok(Outcome::InPlace { bytes })
    };
    let text = is_caught(value_type, trees, case, &keeps_all);
    assert!(
        text.contains("survivors: logical and present rows"),
        "{text}"
    );

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
