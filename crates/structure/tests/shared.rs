//! A page whose tree has three shared buffers of different kinds: it comes back, rows are erased from it, and of what
//! it shares only the entries that no row refers to any more are wiped.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StringArray};
use tarsia_codec::{
    AlignedBuf, Block as ValuesOfBlock, BytesSlice, Children, DecodeCost, Decoder, Encoding,
    EncodingWriter, EraseFit, Error, ErrorKind, LogicalType, Node, NodeSpec, Output, OwnedValues,
    PageEncoder, Prepare, Proposals, Reader, Registry, Result, Sample, Scratch, Selection,
    SharedBuffer, SharedKind, SharedSpec, Statistics, Tree, Unit, UsedEntries, ValueType, Values,
    Version, children_of,
};
use tarsia_dict::CodeBytes;
use tarsia_structure::arrow::{LeafBuffer, Pool, array_from_raw};
use tarsia_structure::{
    Block, BlockContext, BlockErasure, BlockRows, Choice, Choose, EncodeContext, EncodedPage, Meta,
    PageDecoder, RawColumn, decode_survivors, encode_page, erase_block, mark_used, wipe_unused,
};

/// Strings that all start alike, each byte of the rest replaced by that of a table: where they start and the table are
/// shared by the page, the rest is the child's.
struct Cipher;

const ID: &str = "test.cipher";
const V: Version = Version::new(1, 0);
static CIPHER: Cipher = Cipher;

const TABLE: SharedSpec = SharedSpec {
    kind: SharedKind::SymbolTable,
    value_type: ValueType::Fixed(1),
};

const START: SharedSpec = SharedSpec {
    kind: SharedKind::CodecDictionary,
    value_type: ValueType::Bytes,
};

impl Encoding for Cipher {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        V
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        node.without_params("cipher.params_len")?;
        node.only(ValueType::Bytes, "values other than byte strings in a test")?;
        Ok(NodeSpec::with_children(&[ValueType::Bytes]).with_shared(&[TABLE, START]))
    }

    fn init(
        &self,
        _: &Node<'_>,
        children: Children,
        shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [rest] = children_of(children)?;
        let [table, start] = shared else {
            return Err(Error::invalid("two shared buffers"));
        };
        Ok(Box::new(CipherDecoder {
            rest,
            table: table.values().as_values()?.as_fixed()?.bytes().to_vec(),
            start: start.values().as_values()?.as_bytes()?.get(0).to_vec(),
        }))
    }
}

struct CipherDecoder {
    rest: Box<dyn Decoder>,
    table: Vec<u8>,
    start: Vec<u8>,
}

impl Decoder for CipherDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n = selection.check(unit.len)?;
        let (ends, base, data) = out.into_bytes(n)?;
        let decoded_bytes = unit.decoded_bytes - unit.len * self.start.len() as u32;
        let child = Unit {
            decoded_bytes,
            ..unit
        };
        let mut rest = vec![0; data.len()];
        let to = Output::Bytes {
            ends,
            base: 0,
            data: &mut rest,
        };
        self.rest.decode(child, selection, scratch, to)?;
        let (mut from, mut at) = (0, 0);
        for end in ends {
            let rest = &rest[from..*end as usize];
            from = *end as usize;
            let plain = rest.iter().map(|code| {
                let plain = self.table.iter().position(|it| it == code);
                plain.unwrap_or_default() as u8
            });
            let value: Vec<u8> = self.start.iter().copied().chain(plain).collect();
            data[at..at + value.len()].copy_from_slice(&value);
            at += value.len();
            *end = base + at as u32;
        }
        Ok(at)
    }
}

struct CipherPage {
    rest: OwnedValues,
    child: Box<dyn PageEncoder>,
}

impl PageEncoder for CipherPage {
    fn encode(&self, block: ValuesOfBlock<'_>, out: &mut Vec<u8>) -> Result<()> {
        self.child.encode(block.of(self.rest.as_values()?)?, out)
    }
}

impl EncodingWriter for Cipher {
    fn propose<'v>(&self, _: &Statistics<'v>, _: &mut Proposals<'v>) -> Result<()> {
        Ok(())
    }

    fn prepare(
        &self,
        _: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let strings = values.as_bytes()?;
        let table = match page.shared(0)? {
            Some(table) => table,
            None => {
                let codes: Vec<u8> = (0..=u8::MAX)
                    .map(|byte| byte.wrapping_mul(167).wrapping_add(13))
                    .collect();
                let codes = OwnedValues::Fixed {
                    bytes: AlignedBuf::copy_of(&codes),
                    width: 1,
                    len: 256,
                };
                page.make_shared(0, codes)?
            }
        };
        let start = match page.shared(1)? {
            Some(start) => start,
            None => page.make_shared(1, owned([&b"wood: "[..]].into_iter()))?,
        };
        let (table, start) = (table.as_values()?.as_fixed()?, start.as_values()?);
        let start = start.as_bytes()?.get(0);
        let mut rest: Vec<Vec<u8>> = vec![];
        for i in 0..strings.len() {
            let string = strings.get(i).strip_prefix(start);
            let string = string.ok_or_else(|| Error::invalid("a string that starts otherwise"))?;
            rest.push(
                string
                    .iter()
                    .map(|byte| table.bytes()[usize::from(*byte)])
                    .collect(),
            );
        }
        let rest = owned(rest.iter().map(Vec::as_slice));
        let child = page.child(0, rest.as_values()?)?;
        Ok(Box::new(CipherPage { rest, child }))
    }

    fn encoded_bytes_max(
        &self,
        _: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        child(0, ValueType::Bytes, n_values, decoded_bytes)
    }

    fn erase_fit(&self, _: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn samples(&self) -> Vec<Sample> {
        vec![]
    }
}

fn owned<'a>(strings: impl Iterator<Item = &'a [u8]>) -> OwnedValues {
    let (mut offsets, mut data) = (vec![0], vec![]);
    for string in strings {
        data.extend_from_slice(string);
        offsets.push(data.len() as u32);
    }
    OwnedValues::Bytes {
        offsets,
        data: AlignedBuf::copy_of(&data),
    }
}

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
                let mut tree = Tree::node(ID, V, &[], vec![rest]);
                registry().number_shared(&mut tree, ValueType::Bytes, &mut 0)?;
                vec![tree, tarsia_bytes::tree(tarsia_plain::tree())]
            }
        };
        Ok(Choice {
            trees,
            bytes: values.len() as u64,
            uniform: true,
        })
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(7, |sum, byte| sum.rotate_left(5) ^ u32::from(*byte))
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
        chooser: &Shared,
        checksum,
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
        // The entries are ciphered, but have the words' lengths.
        for (old, left) in old.iter().zip(&left) {
            match old.len() {
                0 | 3 => {}
                _ => assert!(left.is_empty(), "{left:?}"),
            }
            assert!(left == old || left.is_empty());
        }
        assert_eq!(left.iter().filter(|it| !it.is_empty()).count(), 2);
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
        assert!(Tree::parse(&mut Reader::new(&bytes[..len])).is_err());
    }
}
