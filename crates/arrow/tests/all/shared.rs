//! A page whose tree has three shared buffers of different kinds: it comes back, rows are erased from it, and of what
//! it shares only the entries that no row refers to any more are wiped.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StringArray};
use tarsia_arrow::{LeafBuffer, Pool, array_from_raw};
use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{
    BytesSlice, DecodeCost, Error, ErrorKind, LogicalType, OwnedValues, Registry, Result, Scratch,
    Selection, SharedKind, Statistics, Tree, UsedEntries, Values,
};
use tarsia_dict::CodeBytes;
use tarsia_page_writer::{
    BlockContext, BlockErasure, BlockRows, Choice, Choose, EncodeContext, EncodedPage,
    decode_survivors, encode_page, erase_block, mark_used, wipe_unused,
};
use tarsia_structure::{Block, Meta, PageDecoder, RawColumn};
use tarsia_testkit::cipher::{self, CIPHER};
use tarsia_testkit::units::checksum;

fn registry() -> Registry {
    let mut registry = Registry::new();
    let cost = DecodeCost::default();
    registry
        .add_writer(&tarsia_plain::PLAIN, cost)
        .add_writer(&tarsia_bytes::BYTES, cost)
        .add_writer(&tarsia_bitmap::BITMAP, cost)
        .add_writer(&tarsia_dict::DICT, cost)
        .add_writer(&CIPHER, cost);
    registry
}

/// A cipher over a dictionary, three shared buffers in all; blocks that it does not hold are plain strings.
struct Shared;

impl Choose for Shared {
    fn choose(&self, values: &Statistics<'_>) -> Result<Choice> {
        let trees = match values.facts().logical_type {
            LogicalType::Validity => vec![tarsia_bitmap::tree()],
            _ => {
                let rest = tarsia_dict::page_tree(CodeBytes::One, tarsia_plain::tree());
                vec![cipher::tree(rest), tarsia_bytes::tree(tarsia_plain::tree())]
            }
        };
        Ok(Choice {
            trees,
            bytes: values.len() as u64,
            uniform: true,
            block_bytes: tarsia_page_writer::BLOCK_PAYLOAD_BYTES_TARGET,
        })
    }
}

const WOODS: [&str; 7] = ["oak", "elm", "ash", "walnut", "a rarer one", "", "yew"];

/// Filler of null items is the empty string, which the cipher does not hold, so there are none in a page without
/// dropped values.
fn array(null_percent: usize) -> StringArray {
    let is_null = |i: usize| i * 7919 % 100 < null_percent;
    let row = |i: usize| (!is_null(i)).then(|| format!("wood: {}", WOODS[i * 31 % 11 % 7]));
    (0..20_000).map(row).collect()
}

fn encode(array: &StringArray) -> EncodedPage {
    let mut leaf = LeafBuffer::flat(array.data_type()).unwrap();
    leaf.push(array).unwrap();
    let registry = registry();
    let context = EncodeContext {
        registry: &registry,
        memory: None,
        chooser: &Shared,
        checksum,
        erasable: false,
    };
    let page = leaf.page(0..array.len()).unwrap().unwrap();
    encode_page(page, &context).unwrap()
}

fn block_rows(page: &EncodedPage) -> Vec<u32> {
    match &page.block_rows {
        BlockRows::Table(rows) => rows.clone(),
        BlockRows::Uniform(log2) => {
            let n = page.starts.len() as u64;
            (0..n)
                .map(|i| (page.rows - (i << log2)).min(1 << log2) as u32)
                .collect()
        }
    }
}

fn decode(page: &EncodedPage, array: &StringArray) -> Result<ArrayRef> {
    let decoder = PageDecoder::new(&registry(), &page.meta, &page.shared)?;
    let pool = Pool::new(1 << 20);
    let mut take = |len| pool.take(len);
    let mut raw = RawColumn::new(decoder.value_type(), array.len(), 1 << 20, &mut take)?;
    let mut scratch = Scratch::new();
    for (i, rows) in block_rows(page).into_iter().enumerate() {
        let block = Block::parse(page.block(i), &decoder.expect(rows))?;
        raw.push(&decoder, &block, Selection::All, &mut scratch, &mut take)?;
    }
    let mut parts = array_from_raw(array.data_type(), raw.finish(), &pool)?.parts;
    Ok(parts.remove(0))
}

#[test]
fn a_page_with_three_kinds_of_shared_buffers_comes_back() {
    for null_percent in [0, 40] {
        let array = array(null_percent);
        let page = encode(&array);
        let kinds: Vec<SharedKind> = page.meta.shared.iter().map(|spec| spec.kind).collect();
        let expected = [
            SharedKind::SymbolTable,
            SharedKind::CodecDictionary,
            SharedKind::Dictionary,
        ];
        assert_eq!(kinds, expected);
        let tree = &page.meta.trees[0];
        assert_eq!(
            (&tree.shared, &tree.children[0].shared),
            (&vec![0, 1], &vec![2])
        );
        let mut bytes = vec![];
        page.meta.write_to(&mut bytes).unwrap();
        assert_eq!(Meta::parse(&bytes).unwrap(), page.meta);
        let trees = (0..page.starts.len()).map(|i| page.block(i)[4]);
        assert!(page.starts.len() > 1 && trees.into_iter().all(|tree| tree == 0));
        assert_eq!(
            &decode(&page, &array).unwrap(),
            &(Arc::new(array) as ArrayRef)
        );
    }
}

#[test]
fn buffers_other_than_those_listed_are_refused() {
    let array = array(0);
    let page = encode(&array);
    let [table, start, words] = &page.shared[..] else {
        panic!("{} shared buffers", page.shared.len());
    };
    let orders = [
        vec![table, start],
        vec![start, table, words],
        vec![table, start, words, words],
        vec![],
    ];
    for shared in orders {
        let mut bad = page.clone();
        bad.shared = shared.into_iter().cloned().collect();
        let got = decode(&bad, &array).map(|_| ());
        let kind = got.as_ref().map_err(|error| error.kind());
        assert!(matches!(kind, Err(ErrorKind::Corrupt { .. })), "{got:?}");
    }
}

#[test]
fn an_erasure_wipes_entries_and_nothing_else() {
    for null_percent in [0, 40] {
        let array = array(null_percent);
        let mut page = encode(&array);
        let registry = registry();
        let shared = page.shared.clone();
        let context = |shared| BlockContext {
            registry: &registry,
            meta: &page.meta,
            shared,
            checksum,
        };
        let used: Vec<Arc<UsedEntries>> = (shared.iter())
            .map(|it| Arc::new(UsedEntries::none_of(it.len())))
            .collect();
        // Only these three are left.
        let is_kept = |row: usize| {
            array.is_valid(row)
                && ["oak", "", "yew"]
                    .iter()
                    .any(|it| array.value(row)[6..] == **it)
        };
        let mut blocks = vec![];
        let mut first = 0;
        for (i, rows) in block_rows(&page).into_iter().enumerate() {
            let erase: Vec<u32> = (0..rows)
                .filter(|row| !is_kept(first + *row as usize))
                .collect();
            let erasure = BlockErasure {
                place: page.block(i),
                rows,
                absent: &[],
                erase: &erase,
                salt: None,
            };
            let new = erase_block(&context(&shared), &erasure).unwrap();
            assert!(!new.must_move());
            mark_used(&context(&shared), new.bytes(), rows, &used).unwrap();
            let kept = (first..first + rows as usize).filter(|row| is_kept(*row));
            let kept: Vec<&str> = kept.map(|row| array.value(row)).collect();
            blocks.push((new.bytes().to_vec(), rows, kept));
            first += rows as usize;
        }
        let buffers = page.meta.shared_buffers(&shared).unwrap();
        let wiped: Vec<Arc<OwnedValues>> = (buffers.iter().zip(&used))
            .map(|(buffer, used)| Arc::new(wipe_unused(buffer, used).unwrap()))
            .collect();
        for i in [0, 1] {
            assert_eq!(strings_of(&wiped[i]), strings_of(&shared[i]), "buffer {i}");
        }
        let (old, left) = (strings_of(&shared[2]), strings_of(&wiped[2]));
        assert_eq!((old.len(), left.len()), (7, 7));
        // The entries are ciphered, but have the words' lengths. Those of three letters are kept, and repeated.
        let mut before = vec![0; 3];
        for (old, left) in old.iter().zip(&left) {
            match left == old {
                true if old.is_empty() => {}
                true => before = old.clone(),
                false => assert_eq!(left, &before),
            }
        }
        let kept: BTreeSet<_> = left.iter().filter(|it| old.contains(it)).collect();
        assert_eq!(kept.iter().filter(|it| it.len() == 3).count(), 2);
        assert!(kept.iter().all(|it| matches!(it.len(), 0 | 3)));
        for (bytes, rows, kept) in &blocks {
            let survivors = decode_survivors(&context(&wiped), bytes, *rows).unwrap();
            let values = survivors.values().unwrap().as_bytes().unwrap();
            let values: Vec<&[u8]> = all(&values).collect();
            let kept: Vec<&[u8]> = kept.iter().map(|it| it.as_bytes()).collect();
            assert_eq!(values, kept);
        }
        page.shared = wiped;
        PageDecoder::new(&registry, &page.meta, &page.shared).unwrap();
    }
}

fn all<'a>(strings: &'a BytesSlice<'a>) -> impl Iterator<Item = &'a [u8]> {
    (0..strings.len()).map(|i| strings.get(i))
}

fn strings_of(values: &OwnedValues) -> Vec<Vec<u8>> {
    match values.as_values().unwrap() {
        Values::Bytes(strings) => all(&strings).map(<[u8]>::to_vec).collect(),
        Values::Fixed(fixed) => (0..fixed.len()).map(|i| fixed.get(i).to_vec()).collect(),
        Values::Bits(_) => panic!("bits"),
    }
}

/// A tree that refers to a buffer that the page does not list is refused, and so is a tree that is cut off.
#[test]
fn a_page_lists_all_buffers_of_its_trees() {
    let page = encode(&array(0));
    let mut meta = page.meta.clone();
    meta.shared.pop();
    let got = PageDecoder::new(&registry(), &meta, &page.shared[..2]).map(|_| ());
    let allowed = "a shared buffer of the page, of the kind and type that the node needs";
    assert_eq!(got, Err(Error::corrupt("tree.shared", 0, 2u8, allowed)));
    let mut bytes = vec![];
    page.meta.trees[0].write_to(&mut bytes).unwrap();
    for len in 0..bytes.len() {
        assert!(Tree::parse(&mut ByteReader::new(&bytes[..len])).is_err());
    }
}
