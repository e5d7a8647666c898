//! The laws accept an honest encoding and find each broken law in a dishonest one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tarsia_codec::toolbox::{Distinct, decode_by_gather};
use tarsia_codec::{
    Aggregates, BlockValues, Children, DecodeCost, Decoder, Encoding, EncodingWriter, EraseFit,
    Error, Node, NodeSpec, Order, Output, OwnedValues, PageEncoder, Predicate, Prepare, Proposals,
    Registry, Result, Sample, Scratch, Selection, SharedBuffer, SharedKind, SharedSpec, Statistics,
    Tree, Unit, ValueType, Values, Version, ViewOutput,
};
use tarsia_testkit::cases::{Case, bits_cases, bytes_cases, fixed_cases};
use tarsia_testkit::laws::{check_cases, check_cases_with};

/// Faults of a toy encoding.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    PanicsOnShort,
    IgnoresSuffix,
    AcceptsPrefix,
    BlamesCaller,
    TouchesNeighbours,
    IgnoresBase,
    Allocates,
    TrustsLength,
    UnderstatesBound,
    Varies,
    ClearsOutput,
    WrongRange,
    PanicsOnParams,
    PromisesToFit,
    DependsOnPlace,
    IgnoresDecodedBytes,
    WrongViews,
    WrongFilter,
    FiltersNothing,
    WrongAggregates,
    UnderstatesDecoded,
    ForgetsEntries,
}

/// Values as they are, a byte string's length in four bytes before it; one byte 0x5a in front.
struct Toy {
    id: &'static str,
    fault: Fault,
}

const V: Version = Version::new(1, 0);

struct ToyDecoder {
    value_type: ValueType,
    fault: Fault,
}

impl ToyDecoder {
    fn decode_all(&self, unit: Unit<'_>, out: Output<'_>) -> Result<usize> {
        let n = unit.len as usize;
        if self.fault == Fault::PanicsOnShort && unit.bytes.len() == 3 {
            panic!("toy panic");
        }
        if self.fault == Fault::Allocates {
            drop(std::hint::black_box(vec![0u8; unit.bytes.len() + 1]));
        }
        if self.fault == Fault::TrustsLength && unit.bytes.first().is_some_and(|mark| *mark != 0x5a)
        {
            drop(std::hint::black_box(Vec::<u8>::with_capacity(64 << 20)));
        }
        let body = match unit.bytes.split_first() {
            Some((0x5a, body)) => body,
            Some((other, _)) => return Err(Error::corrupt("mark", 0, *other, "0x5a")),
            None if self.fault == Fault::BlamesCaller => return Err(Error::invalid("short")),
            None => return Err(Error::truncated("mark", 1, 0)),
        };
        let exact = |needed: usize| match body.len() {
            have if have < needed && self.fault != Fault::AcceptsPrefix => {
                Err(Error::truncated("body", needed, have))
            }
            have if have > needed
                && !matches!(self.fault, Fault::IgnoresSuffix | Fault::DependsOnPlace) =>
            {
                Err(Error::corrupt(
                    "body",
                    needed,
                    have,
                    "no bytes after the last field",
                ))
            }
            _ => Ok(()),
        };
        match self.value_type {
            ValueType::Fixed(width) => {
                let out = out.into_fixed(width as usize, n)?;
                exact(out.len())?;
                let len = out.len().min(body.len());
                out[..len].copy_from_slice(&body[..len]);
                if self.fault == Fault::WrongRange && out.len() > 9 {
                    out[9] ^= 1;
                }
                Ok(0)
            }
            ValueType::Bits => {
                exact(n.div_ceil(8))?;
                let (out, offset) = out.into_bits(n)?;
                if self.fault == Fault::TouchesNeighbours {
                    out.fill(0);
                }
                for i in 0..n {
                    let at = offset + i;
                    let bit = body.get(i / 8).copied().unwrap_or_default() >> (i % 8) & 1;
                    out[at / 8] = out[at / 8] & !(1 << (at % 8)) | bit << (at % 8);
                }
                Ok(0)
            }
            ValueType::Bytes => {
                let tarsia_codec::BytesOutput { ends, base, data } = out.into_bytes(n)?;
                let mut reader = tarsia_codec::toolbox::ByteReader::new(body);
                let mut at = 0;
                for end in ends.iter_mut() {
                    let len = reader.u32("length")? as usize;
                    let value = reader.take(len, "string")?;
                    if at + len > unit.decoded_bytes as usize {
                        return Err(Error::corrupt("length", 0, len, "the decoded bytes"));
                    }
                    data.get_mut(at..at + len)
                        .ok_or_else(|| Error::invalid("short output"))?
                        .copy_from_slice(value);
                    at += len;
                    *end = at as u32
                        + if self.fault == Fault::IgnoresBase {
                            0
                        } else {
                            base
                        };
                }
                reader.finish("body")?;
                if at != unit.decoded_bytes as usize && self.fault != Fault::IgnoresDecodedBytes {
                    return Err(Error::corrupt("decoded bytes", 0, at, "as the header says"));
                }
                Ok(at)
            }
        }
    }
}

impl Decoder for ToyDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        match selection {
            Selection::All => self.decode_all(unit, out),
            _ => decode_by_gather(self, self.value_type, unit, selection, scratch, out),
        }
    }

    fn decoded_bytes_max(&self, bytes: &[u8], len: u32) -> Result<Option<u64>> {
        // A mark and the lengths, and nothing else is no string.
        let fault = match self.fault {
            Fault::UnderstatesDecoded => 1,
            _ => 0,
        };
        let front = 1 + 4 * len as usize + fault;
        Ok(Some(bytes.len().saturating_sub(front) as u64))
    }

    fn filter(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        predicate: &Predicate<'_>,
        _: &mut Scratch,
        out: Output<'_>,
    ) -> Result<bool> {
        if !matches!(selection, Selection::All) {
            return Ok(false);
        }
        let (n, body) = (unit.len as usize, unit.bytes.get(1..).unwrap_or_default());
        let ValueType::Fixed(width @ 1..) = self.value_type else {
            return Ok(false);
        };
        let values: Vec<&[u8]> = body.chunks_exact(width as usize).take(n).collect();
        if values.len() < n {
            return Err(Error::truncated("body", n * width as usize, body.len()));
        }
        let (out, offset) = out.into_bits(n)?;
        for (i, value) in values.into_iter().enumerate() {
            let Some(mut holds) = predicate.holds(self.value_type, value) else {
                return Ok(false);
            };
            holds ^= self.fault == Fault::WrongFilter && i == 7;
            let at = offset + i;
            out[at / 8] = out[at / 8] & !(1 << (at % 8)) | u8::from(holds) << (at % 8);
        }
        Ok(self.fault != Fault::FiltersNothing)
    }

    fn aggregates<'a>(&self, unit: Unit<'a>, order: Order) -> Result<Aggregates<'a>> {
        let body = unit.bytes.get(1..).unwrap_or_default();
        let ValueType::Fixed(width @ 1..) = self.value_type else {
            return Ok(Aggregates::default());
        };
        let values = body.chunks_exact(width as usize);
        let compare = |a: &&[u8], b: &&[u8]| {
            let compared = order.compare(self.value_type, a, b);
            compared.unwrap_or(std::cmp::Ordering::Equal)
        };
        let mut known = Aggregates::default();
        known.min = values.clone().min_by(compare);
        if self.fault == Fault::WrongAggregates {
            known.min = values.clone().max_by(compare);
        }
        known.max = values.max_by(compare);
        Ok(known)
    }

    fn decode_views(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: ViewOutput<'_>,
    ) -> Result<usize> {
        let n = out.views.len();
        let mut ends = vec![0; n];
        let to = Output::Bytes {
            ends: &mut ends,
            base: 0,
            data: &mut *out.data,
        };
        let written = self.decode(unit, selection, scratch, to)?;
        let mut start = 0;
        for (view, end) in out.views.iter_mut().zip(ends) {
            let bytes = &out.data[start..end as usize];
            let mut parts = [0; 16];
            parts[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
            match bytes.len() {
                len @ 0..=12 => parts[4..4 + len].copy_from_slice(bytes),
                _ => {
                    parts[4..8].copy_from_slice(&bytes[..4]);
                    parts[8..12].copy_from_slice(&out.buffer.to_le_bytes());
                    let base = match self.fault {
                        Fault::WrongViews => 0,
                        _ => out.base,
                    };
                    parts[12..].copy_from_slice(&(base + start as u32).to_le_bytes());
                }
            }
            *view = u128::from_le_bytes(parts);
            start = end as usize;
        }
        Ok(written)
    }
}

impl Encoding for Toy {
    fn id(&self) -> &'static str {
        self.id
    }

    fn version(&self) -> Version {
        V
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        if self.fault == Fault::PanicsOnParams && node.params.len() > 3 {
            panic!("toy panic");
        }
        match node.params {
            [] => Ok(NodeSpec::LEAF),
            [first, ..] => Err(Error::corrupt("params", 0, *first, "none")),
        }
    }

    fn init(&self, node: &Node<'_>, _: Children, _: &[SharedBuffer]) -> Result<Box<dyn Decoder>> {
        self.check(node)?;
        Ok(Box::new(ToyDecoder {
            value_type: node.value_type,
            fault: self.fault,
        }))
    }
}

struct ToyEncoder {
    fault: Fault,
    n_values: usize,
    place: usize,
}

impl PageEncoder for ToyEncoder {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        if self.fault == Fault::ClearsOutput {
            out.clear();
        }
        out.push(0x5a);
        match block.values() {
            Values::Bits(bits) => bits.append_to(out),
            Values::Fixed(fixed) => out.extend_from_slice(fixed.bytes()),
            Values::Bytes(strings) => {
                for i in 0..strings.len() {
                    out.extend_from_slice(&strings.value_bytes(i).to_le_bytes());
                    out.extend_from_slice(strings.get(i));
                }
            }
        }
        match self.fault {
            Fault::Varies => {
                out.push(out.as_ptr() as u8 ^ std::time::Instant::now().elapsed().as_nanos() as u8)
            }
            Fault::DependsOnPlace => out.push(self.place as u8),
            Fault::PromisesToFit if self.n_values < 20 => out.extend([0; 500]),
            _ => {}
        }
        Ok(())
    }
}

impl EncodingWriter for Toy {
    fn propose<'v>(&self, _: &Statistics<'v>, _: &mut Proposals<'v>) -> Result<()> {
        Ok(())
    }

    fn prepare(
        &self,
        _: &Node<'_>,
        values: Values<'_>,
        _: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        Ok(Box::new(ToyEncoder {
            fault: self.fault,
            n_values: values.len(),
            place: match values {
                Values::Fixed(fixed) => fixed.bytes().as_ptr() as usize,
                _ => 0,
            },
        }))
    }

    fn encoded_bytes_max(
        &self,
        _: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        _: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        match self.fault {
            Fault::UnderstatesBound => decoded_bytes,
            _ => 1000 + n_values * 4 + decoded_bytes,
        }
    }

    fn erase_fit(&self, _: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn samples(&self) -> Vec<Sample> {
        let types = [ValueType::Bits, ValueType::Fixed(4), ValueType::Bytes];
        types.map(|it| Sample::any(it, &[])).to_vec()
    }
}

/// Codes of a byte into a page's dictionary of numbers.
struct Codes {
    fault: Fault,
}

const NUMBERS: ValueType = ValueType::Fixed(4);

impl Encoding for Codes {
    fn id(&self) -> &'static str {
        "toy.codes"
    }

    fn version(&self) -> Version {
        V
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        node.without_params("params")?;
        node.only(NUMBERS, "other values than numbers")?;
        Ok(NodeSpec::LEAF.with_shared(&[SharedSpec {
            kind: SharedKind::Dictionary,
            value_type: NUMBERS,
        }]))
    }

    fn init(&self, _: &Node<'_>, _: Children, shared: &[SharedBuffer]) -> Result<Box<dyn Decoder>> {
        let dictionary = shared[0].clone();
        let fault = self.fault;
        Ok(Box::new(CodesDecoder { dictionary, fault }))
    }
}

struct CodesDecoder {
    dictionary: SharedBuffer,
    fault: Fault,
}

impl Decoder for CodesDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let Selection::All = selection else {
            return decode_by_gather(self, NUMBERS, unit, selection, scratch, out);
        };
        let n = unit.len as usize;
        let to = out.into_fixed(4, n)?;
        match unit.bytes.len() {
            have if have < n => return Err(Error::truncated("codes", n, have)),
            have if have > n => return Err(Error::corrupt("codes", n, have, "a byte each")),
            _ => {}
        }
        let entries = self.dictionary.values().as_values()?.as_fixed()?;
        for (i, (code, to)) in unit.bytes.iter().zip(to.chunks_exact_mut(4)).enumerate() {
            let code = usize::from(*code);
            if code >= entries.len() {
                return Err(Error::corrupt("codes", i, code, "an entry's number"));
            }
            to.copy_from_slice(entries.get(code));
            if let Some(used) = self.dictionary.used()
                && !(self.fault == Fault::ForgetsEntries && code == 3)
            {
                used.insert(code);
            }
        }
        Ok(0)
    }
}

struct CodesPage(std::sync::Arc<OwnedValues>);

impl PageEncoder for CodesPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let codes = tarsia_codec::toolbox::find_codes(self.0.as_values()?, block.values(), 256);
        let codes = codes.ok_or_else(|| Error::invalid("another value"))?;
        out.extend(codes.iter().map(|code| *code as u8));
        Ok(())
    }
}

impl EncodingWriter for Codes {
    fn propose<'v>(&self, _: &Statistics<'v>, _: &mut Proposals<'v>) -> Result<()> {
        Ok(())
    }

    fn prepare(
        &self,
        _: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let entries = match page.shared(0)? {
            Some(entries) => entries,
            None => {
                let distinct = Distinct::of(values, 256);
                let distinct = distinct.ok_or_else(|| Error::invalid("too many values"))?;
                page.make_shared(0, distinct.entries(values))?
            }
        };
        Ok(Box::new(CodesPage(entries)))
    }

    fn encoded_bytes_max(
        &self,
        _: &Node<'_>,
        n_values: u64,
        _: u64,
        _: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        n_values
    }

    fn erase_fit(&self, _: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn samples(&self) -> Vec<Sample> {
        vec![Sample::any(NUMBERS, &[])]
    }
}

fn registry(fault: Fault) -> (Registry, Tree) {
    let id: &'static str = Box::leak(format!("toy.{fault:?}").into_boxed_str());
    let toy: &'static Toy = Box::leak(Box::new(Toy { id, fault }));
    let mut registry = Registry::new();
    registry.add_writer(toy, DecodeCost::default());
    (registry, Tree::leaf(id, V, &[]))
}

#[test]
fn an_honest_encoding_obeys_all_laws() {
    let (registry, tree) = registry(Fault::None);
    check_cases(&registry, &tree, &bits_cases());
    for width in [0, 1, 8, 1000] {
        check_cases(&registry, &tree, &fixed_cases(width));
    }
    check_cases(&registry, &tree, &bytes_cases());
}

fn message(fault: Fault, case: Case) -> String {
    let (registry, tree) = registry(fault);
    let got = catch_unwind(AssertUnwindSafe(|| check_cases(&registry, &tree, &[case])));
    match got {
        Ok(()) => "no broken law found".to_owned(),
        Err(panic) => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
    }
}

#[test]
fn every_broken_law_is_found() {
    let fixed = || Case::numbers("numbers", 4, &(0..100).collect::<Vec<u128>>());
    let bits = || {
        Case::bits(
            "bits",
            &[true, false, true, true, false, false, true, true, true],
        )
    };
    let strings = || Case::strings("strings", &["a", "bcd", "", "efghij", "klm"]);
    let long = || Case::strings("long strings", &["a string that does not fit its view"; 9]);
    for (fault, case, expected) in [
        (Fault::None, fixed(), "no broken law found"),
        (Fault::None, bits(), "no broken law found"),
        (Fault::None, strings(), "no broken law found"),
        (
            Fault::PanicsOnShort,
            fixed(),
            "decoding panicked: toy panic",
        ),
        (Fault::IgnoresSuffix, fixed(), "appended was not refused"),
        (Fault::AcceptsPrefix, fixed(), "were not refused"),
        (
            Fault::BlamesCaller,
            fixed(),
            "the caller is blamed for bad bytes",
        ),
        (Fault::TouchesNeighbours, bits(), "changed"),
        (Fault::IgnoresBase, strings(), "end 0"),
        (
            Fault::Allocates,
            fixed(),
            "decoding with a warm scratch allocates",
        ),
        (Fault::TrustsLength, strings(), "is more than"),
        (Fault::UnderstatesBound, fixed(), "exceed encoded_bytes_max"),
        (Fault::Varies, fixed(), "differ"),
        (
            Fault::ClearsOutput,
            fixed(),
            "changed what was in the output",
        ),
        (Fault::WrongRange, fixed(), "byte 9 of"),
        (Fault::PanicsOnParams, fixed(), "init panicked: toy panic"),
        (Fault::PromisesToFit, fixed(), "EraseFit::Always"),
        (Fault::DependsOnPlace, fixed(), "encode differently"),
        (
            Fault::IgnoresDecodedBytes,
            strings(),
            "do not add up to `decoded_bytes`",
        ),
        (Fault::WrongViews, long(), "a place behind the base"),
        (Fault::WrongFilter, fixed(), "value 7"),
        (Fault::FiltersNothing, fixed(), "yet bits changed"),
        (Fault::WrongAggregates, fixed(), "is not the smallest"),
        (
            Fault::UnderstatesDecoded,
            strings(),
            "exceed decoded_bytes_max",
        ),
    ] {
        let message = message(fault, case);
        assert!(message.contains(expected), "{fault:?}: {message}");
        let found = message != "no broken law found";
        assert_eq!(found, fault != Fault::None, "{fault:?}: {message}");
    }
}

#[test]
fn entries_that_are_not_noted_are_found() {
    let case = || {
        Case::numbers(
            "codes",
            4,
            &(0..300).map(|i| i * i % 31).collect::<Vec<_>>(),
        )
    };
    for (fault, expected) in [
        (Fault::None, None),
        (Fault::ForgetsEntries, Some("that were not noted are wiped")),
    ] {
        let codes: &'static Codes = Box::leak(Box::new(Codes { fault }));
        let mut registry = Registry::new();
        registry.add_writer(codes, DecodeCost::default());
        let tree = Tree::leaf("toy.codes", V, &[]).with_shared(&[0]);
        let got = catch_unwind(AssertUnwindSafe(|| {
            check_cases(&registry, &tree, &[case()])
        }));
        let text = got.map_err(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default());
        match expected {
            None => assert_eq!(text, Ok(())),
            Some(expected) => assert!(
                text.as_ref().is_err_and(|it| it.contains(expected)),
                "{text:?}"
            ),
        }
    }
}

#[test]
fn leaving_out_every_case_is_an_error() {
    let (registry, _) = registry(Fault::None);
    let got = catch_unwind(AssertUnwindSafe(|| {
        check_cases_with(&registry, &bits_cases(), |_| None);
    }));
    assert!(got.is_err());
}
