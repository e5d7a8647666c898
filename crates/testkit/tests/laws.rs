//! The laws accept an honest encoding and find each broken law in a dishonest one.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tarsia_codec::{
    ChildTypes, Children, Decoder, EncodeChildren, Encoding, EncodingWriter, EraseFit, Error,
    Features, Node, NodeWriter, Output, PageEncoder, Registry, Result, Scratch, Selection, Shared,
    Tree, Unit, ValueType, Values, Version, decode_by_gather,
};
use tarsia_testkit::cases::{Case, bits_cases, bytes_cases, fixed_cases};
use tarsia_testkit::laws::{check_cases, check_cases_with};

/// What a toy encoding does wrong.
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
    RangeBeyond,
    PromisesToFit,
    DependsOnPlace,
    IgnoresDecodedBytes,
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
            drop(vec![0u8; unit.bytes.len() + 1]);
        }
        if self.fault == Fault::TrustsLength && unit.bytes.first().is_some_and(|mark| *mark != 0x5a)
        {
            drop(Vec::<u8>::with_capacity(64 << 20));
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
                let (ends, base, data) = out.into_bytes(n)?;
                let mut reader = tarsia_codec::Reader::new(body);
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
}

impl Encoding for Toy {
    fn id(&self) -> &'static str {
        self.id
    }

    fn version(&self) -> Version {
        V
    }

    fn child_types(&self, node: &Node<'_>) -> Result<ChildTypes> {
        if self.fault == Fault::PanicsOnParams && node.params.len() > 3 {
            panic!("toy panic");
        }
        match node.params {
            [] => Ok(vec![]),
            [first, ..] => Err(Error::corrupt("params", 0, *first, "none")),
        }
    }

    fn check(&self, node: &Node<'_>) -> Result<Features> {
        self.child_types(node).map(|_| Features::NONE)
    }

    fn erase_fit(&self, _: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn init(&self, node: &Node<'_>, _: Children, _: Shared<'_>) -> Result<Box<dyn Decoder>> {
        self.child_types(node)?;
        Ok(Box::new(ToyDecoder {
            value_type: node.value_type,
            fault: self.fault,
        }))
    }
}

struct ToyEncoder {
    fault: Fault,
    place: usize,
}

impl PageEncoder for ToyEncoder {
    fn encode(&self, values: Values<'_>, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        if range.end > values.len() && self.fault != Fault::RangeBeyond {
            return Err(Error::invalid("a range beyond the page"));
        }
        if self.fault == Fault::ClearsOutput {
            out.clear();
        }
        out.push(0x5a);
        match values.slice(range) {
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
            Fault::PromisesToFit if values.len() < 20 => out.extend([0; 500]),
            _ => {}
        }
        Ok(())
    }
}

impl EncodingWriter for Toy {
    fn id(&self) -> &'static str {
        self.id
    }

    fn prepare(
        &self,
        _: &NodeWriter<'_>,
        values: Values<'_>,
        _: &dyn EncodeChildren,
        _: Shared<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        Ok(Box::new(ToyEncoder {
            fault: self.fault,
            place: match values {
                Values::Fixed(fixed) => fixed.bytes().as_ptr() as usize,
                _ => 0,
            },
        }))
    }

    fn encoded_bytes_max(
        &self,
        _: &NodeWriter<'_>,
        n_values: u64,
        decoded_bytes: u64,
        _: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        match self.fault {
            Fault::UnderstatesBound => decoded_bytes,
            _ => 1000 + n_values * 4 + decoded_bytes,
        }
    }
}

fn registry(fault: Fault) -> (Registry, Tree) {
    let id: &'static str = Box::leak(format!("toy.{fault:?}").into_boxed_str());
    let toy: &'static Toy = Box::leak(Box::new(Toy { id, fault }));
    let mut registry = Registry::new();
    registry.add(toy).add_writer(toy);
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
        (Fault::RangeBeyond, fixed(), "was not refused"),
        (Fault::PromisesToFit, fixed(), "EraseFit::Always"),
        (Fault::DependsOnPlace, fixed(), "encode differently"),
        (
            Fault::IgnoresDecodedBytes,
            strings(),
            "do not add up to `decoded_bytes`",
        ),
    ] {
        let message = message(fault, case);
        assert!(message.contains(expected), "{fault:?}: {message}");
        let found = message != "no broken law found";
        assert_eq!(found, fault != Fault::None, "{fault:?}: {message}");
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
