//! A case of the laws: a tree and a page of values, before and after `prepare`.

use tarsia_codec::{
    BlockValues, Decoder, PageEncoder, Registry, Result, Selection, SharedBuffer, SharedBuffers,
    SharedSpec, Tree, Unit, ValueType, Values, build_decoder, build_encoder, limits,
};

use crate::rng::Rng;

/// One tree and one page of values to check it with.
#[derive(Clone, Copy)]
pub struct LawCase<'a> {
    /// Names the values in messages.
    pub name: &'a str,
    /// Knows the decoders and encoders of the tree.
    pub registry: &'a Registry,
    /// The tree, its parameters fit for the values.
    pub tree: &'a Tree,
    /// All values of the page; at most [`limits::BLOCK_VALUES_MAX`], since they are also encoded as one block.
    pub values: Values<'a>,
    /// The page's shared buffers, where they exist before encoding. Where this is empty, those the encoder makes are
    /// used.
    pub shared: &'a [SharedBuffer],
    /// Seed of cuts, selections and mutations.
    pub seed: u64,
    /// A proper prefix of a unit may be a unit too. Then it is only checked that decoding it does not panic.
    pub prefix_may_be_legal: bool,
    /// A unit with a byte appended may be a unit too. Then it is only checked that decoding it does not panic.
    pub suffix_may_be_legal: bool,
}

impl<'a> LawCase<'a> {
    /// A case without existing shared buffers and without exceptions to the laws.
    pub fn new(name: &'a str, registry: &'a Registry, tree: &'a Tree, values: Values<'a>) -> Self {
        Self {
            name,
            registry,
            tree,
            values,
            shared: &[],
            seed: 0x7a25_1a00,
            prefix_may_be_legal: false,
            suffix_may_be_legal: false,
        }
    }
}

/// A prepared case.
pub(super) struct Laws<'a> {
    pub(super) case: LawCase<'a>,
    pub(super) value_type: ValueType,
    pub(super) encoder: Box<dyn PageEncoder>,
    /// Prepared once more from the same values.
    pub(super) fresh: Box<dyn PageEncoder>,
    /// Shared buffers that readers are given.
    pub(super) shared: Vec<SharedBuffer>,
    pub(super) decoder: Box<dyn Decoder>,
    pub(super) rng: Rng,
}

impl<'a> Laws<'a> {
    pub(super) fn new(case: LawCase<'a>) -> Self {
        let n = case.values.len();
        assert!(
            n <= limits::BLOCK_VALUES_MAX as usize,
            "{n} values do not fit one block"
        );
        Self::try_new(case).unwrap_or_else(|error| panic!("prepare refused the values: {error}"))
    }

    /// Makes a case; an error where the tree does not hold the values.
    pub(super) fn try_new(case: LawCase<'a>) -> Result<Self> {
        let (encoder, shared) = try_prepare(&case, case.values)?;
        let value_type = case.values.value_type();
        let decoder = build_decoder(case.registry, case.tree, value_type, &shared)
            .unwrap_or_else(|error| panic!("init refused what was written: {error}"));
        let mut laws = Self {
            case,
            value_type,
            encoder,
            fresh: prepare(&case, case.values),
            shared,
            decoder,
            rng: Rng::new(case.seed),
        };
        laws.rng.u64();
        Ok(laws)
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> Values<'a> {
        self.case.values.slice(start..end)
    }

    pub(super) fn encode(&self, start: usize, end: usize) -> Vec<u8> {
        encode_with(&*self.encoder, self.case.values, start, end)
    }

    /// Ranges of the page to encode as blocks: around multiples of 1,024 and random.
    pub(super) fn cuts(&mut self, n: usize) -> Vec<(usize, usize)> {
        let mut cuts = vec![(0, 0), (n, n)];
        if n > 0 {
            cuts.extend([(0, 1), (n - 1, n), (n / 2, n)]);
            for _ in 0..3 {
                let start = self.rng.below(n);
                cuts.push((start, self.rng.between(start, n)));
            }
        }
        if n > 1100 {
            cuts.extend([(0, 1024), (1, 1025), (n - 1024, n)]);
        }
        cuts
    }

    /// Selections of a unit of `n` values: named ones and random ones.
    pub(super) fn selections(&mut self, n: usize) -> Vec<OwnedSelection> {
        let n32 = n as u32;
        let mut all = vec![
            OwnedSelection::All,
            OwnedSelection::Range(0, 0),
            OwnedSelection::Range(n32, 0),
            OwnedSelection::Range(0, n32),
            OwnedSelection::Indices(vec![]),
        ];
        if n == 0 {
            return all;
        }
        all.push(OwnedSelection::Range(n32 - 1, 1));
        all.push(OwnedSelection::Indices(vec![0, 0, n32 - 1, n32 - 1]));
        all.push(OwnedSelection::Indices((0..n32).collect()));
        for edge in [64, 1024, 4096] {
            if n > edge + 2 {
                all.push(OwnedSelection::Range(edge as u32 - 1, 3));
                all.push(OwnedSelection::Range(edge as u32, n32 - edge as u32));
                all.push(OwnedSelection::Indices(vec![edge as u32 - 1, edge as u32]));
            }
        }
        for _ in 0..6 {
            let start = self.rng.below(n);
            let len = self.rng.between(0, n - start);
            all.push(OwnedSelection::Range(start as u32, len as u32));
        }
        for spread in [1, 3, 40, 2000] {
            let mut indices = vec![];
            let mut at = self.rng.below(spread);
            while at < n {
                indices.push(at as u32);
                // A step of zero repeats the value.
                at += self.rng.below(2 * spread);
                if indices.len() > 2 * n {
                    break;
                }
            }
            all.push(OwnedSelection::Indices(indices));
        }
        all
    }
}

pub(super) enum OwnedSelection {
    All,
    Range(u32, u32),
    Indices(Vec<u32>),
}

impl OwnedSelection {
    pub(super) fn as_selection(&self) -> Selection<'_> {
        match self {
            Self::All => Selection::All,
            Self::Range(start, len) => Selection::Range {
                start: *start,
                len: *len,
            },
            Self::Indices(indices) => Selection::Indices(indices),
        }
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::Range(start, len) => format!("{len} values from {start}"),
            Self::Indices(indices) => {
                format!(
                    "{} indices {:?}…",
                    indices.len(),
                    &indices[..indices.len().min(8)]
                )
            }
        }
    }
}

pub(super) fn prepare(case: &LawCase<'_>, values: Values<'_>) -> Box<dyn PageEncoder> {
    let prepared = try_prepare(case, values);
    let (encoder, _) =
        prepared.unwrap_or_else(|error| panic!("prepare refused the values: {error}"));
    encoder
}

/// An encoder, and the page's shared buffers: those that the case has, else those that the encoder makes.
pub(super) fn try_prepare(
    case: &LawCase<'_>,
    values: Values<'_>,
) -> Result<(Box<dyn PageEncoder>, Vec<SharedBuffer>)> {
    let mut shared = match case.shared {
        [] => SharedBuffers::new(),
        given => existing(given),
    };
    let encoder = build_encoder(case.registry, case.tree, values, &mut shared)?;
    let shared = shared.to_decode().expect("whole buffers");
    Ok((encoder, shared))
}

/// Buffers that exist already, as encoders get them.
pub fn existing(buffers: &[SharedBuffer]) -> SharedBuffers {
    let of = |buffer: &SharedBuffer| {
        let values = buffer.values().as_values().expect("whole values");
        let spec = SharedSpec {
            kind: buffer.kind(),
            value_type: values.value_type(),
        };
        (spec, buffer.values().clone())
    };
    SharedBuffers::closed(&buffers.iter().map(of).collect::<Vec<_>>())
}

pub(super) fn encode_with(
    encoder: &dyn PageEncoder,
    values: Values<'_>,
    start: usize,
    end: usize,
) -> Vec<u8> {
    let before = b"kept";
    let mut out = before.to_vec();
    let block = BlockValues::new(values, start..end);
    if let Err(error) = block.and_then(|block| encoder.encode(block, &mut out)) {
        panic!("encoding {start}..{end} failed: {error}");
    }
    assert!(
        out.starts_with(before),
        "encoding {start}..{end} changed what was in the output"
    );
    out.split_off(before.len())
}

pub(super) fn unit_of<'a>(encoded: &'a [u8], values: Values<'_>) -> Unit<'a> {
    Unit {
        bytes: encoded,
        len: u32::try_from(values.len()).expect("values of a unit"),
        decoded_bytes: u32::try_from(values.decoded_bytes()).expect("bytes of a unit"),
    }
}

/// Changes one node of a tree, counted in pre-order.
pub(super) fn change_node(tree: &mut Tree, node_idx: usize, change: &mut dyn FnMut(&mut Tree)) {
    fn walk(tree: &mut Tree, left: &mut usize, change: &mut dyn FnMut(&mut Tree)) {
        if *left == 0 {
            change(tree);
        }
        *left = left.wrapping_sub(1);
        for child in &mut tree.children {
            walk(child, left, change);
        }
    }
    let mut left = node_idx;
    walk(tree, &mut left, change);
}
