//! An encoding for tests of shared buffers. Its node has two, of kinds that an erasure does not change, and a child
//! that may have more.

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    AlignedBuf, BlockValues, BytesOutput, Children, Decoder, Encoding, EncodingWriter, EraseFit,
    Error, Node, NodeSpec, Output, OwnedValues, PageEncoder, Prepare, Proposals, Result, Sample,
    Scratch, Selection, SharedBuffer, SharedKind, SharedSpec, Statistics, Tree, Unit, ValueType,
    Values, Version,
};

/// For strings with a common prefix. The prefix and a table of bytes are shared buffers. Each byte after the prefix is
/// replaced by its byte in the table, and the results are the values of the child.
#[derive(Debug, Clone, Copy)]
pub struct Cipher;

/// The id of [`CIPHER`].
pub const ID: &str = "test.cipher";

const V: Version = Version::new(1, 0);

/// The encoding.
pub static CIPHER: Cipher = Cipher;

/// The common prefix.
pub const START_TEXT: &str = "wood: ";

/// The tree `cipher(rest)`. Its own shared buffers are numbered from 0 on. Those of `rest`, which start at 0 as well,
/// get the numbers after them.
///
/// # Panics
/// Where `rest` has more shared buffers than a page may have.
pub fn tree(mut rest: Tree) -> Tree {
    rest.shift_shared(2).expect("a few buffers");
    Tree::node(ID, V, &[], vec![rest]).with_shared(&[0, 1])
}

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
        let BytesOutput { ends, base, data } = out.into_bytes(n)?;
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
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
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
            None => page.make_shared(1, owned([START_TEXT.as_bytes()].into_iter()))?,
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
