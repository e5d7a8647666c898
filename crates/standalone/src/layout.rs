//! The fields in front of a unit, written and parsed.

use alloc::sync::Arc;
use alloc::vec::Vec;

use tarsia_codec::toolbox::{ByteReader, check_zero};
use tarsia_codec::{
    AlignedBuf, BitSlice, BytesSlice, Error, FixedSlice, OwnedValues, Result, SharedBuffer,
    SharedKind, SharedSpec, Tree, Unit, ValueType, Values, limits,
};

/// The first bytes; the last of them is the version of the layout.
pub(crate) const MAGIC: [u8; 4] = *b"TSA\x01";

/// Bytes of a head.
#[cfg(test)]
pub(crate) const HEAD_BYTES: usize = 16;

const BITS: u8 = 0;
const FIXED: u8 = 1;
const BYTES: u8 = 2;

/// The type and number of values, in front of the array and in front of each shared buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    value_type: ValueType,
    /// `None` for the array itself.
    shared_kind: Option<SharedKind>,
    n_values: u32,
    data_bytes: u32,
}

impl Head {
    fn of(values: &Values<'_>, shared_kind: Option<SharedKind>) -> Result<Self> {
        let (n, n_max) = (values.len() as u64, u64::from(limits::UNIT_VALUES_MAX));
        if n > n_max {
            return Err(Error::limit("UNIT_VALUES_MAX", n, n_max));
        }
        let data_bytes = match values {
            Values::Bytes(strings) => strings.data_bytes(),
            Values::Bits(_) | Values::Fixed(_) => 0,
        };
        Ok(Self {
            value_type: values.value_type().validate()?,
            shared_kind,
            n_values: n as u32,
            data_bytes,
        })
    }

    fn write_to(&self, out: &mut Vec<u8>) {
        let (values, width) = match self.value_type {
            ValueType::Bits => (BITS, 0),
            ValueType::Fixed(width) => (FIXED, width),
            ValueType::Bytes => (BYTES, 0),
        };
        let shared_kind = self.shared_kind.map_or(0, SharedKind::code);
        out.extend_from_slice(&[values, shared_kind, 0, 0]);
        for field in [width, self.n_values, self.data_bytes] {
            out.extend_from_slice(&field.to_le_bytes());
        }
    }

    fn parse(reader: &mut ByteReader<'_>, is_shared: bool) -> Result<Self> {
        let at = reader.position();
        let values = reader.u8("standalone.values")?;
        let kind = reader.u8("standalone.shared_kind")?;
        let reserved = reader.take(2, "standalone.reserved")?;
        check_zero(reserved, "standalone.reserved", at + 2)?;
        let width = reader.u32("standalone.width")?;
        let n_values = reader.u32("standalone.n_values")?;
        let data_bytes = reader.u32("standalone.data_bytes")?;
        let value_type = match (values, width) {
            (BITS, 0) => ValueType::Bits,
            (FIXED, width) => ValueType::Fixed(width).validate()?,
            (BYTES, 0) => ValueType::Bytes,
            (BITS | BYTES, _) => {
                let allowed = "0 for values without a fixed width";
                return Err(Error::corrupt("standalone.width", at + 4, width, allowed));
            }
            _ => return Err(Error::corrupt("standalone.values", at, values, "0 ..= 2")),
        };
        let shared_kind = SharedKind::of_code(kind);
        if shared_kind.is_some() != is_shared || !is_shared && kind != 0 {
            let allowed = "0 for the array, a kind of shared buffers for the others";
            return Err(Error::corrupt(
                "standalone.shared_kind",
                at + 1,
                kind,
                allowed,
            ));
        }
        if n_values > limits::UNIT_VALUES_MAX {
            let max = limits::UNIT_VALUES_MAX.into();
            return Err(Error::limit("UNIT_VALUES_MAX", n_values.into(), max));
        }
        if value_type != ValueType::Bytes && data_bytes != 0 {
            let allowed = "0 for values that are no byte strings";
            return Err(Error::corrupt(
                "standalone.data_bytes",
                at + 12,
                data_bytes,
                allowed,
            ));
        }
        if u64::from(data_bytes) > limits::UNIT_DECODED_BYTES_MAX {
            let max = limits::UNIT_DECODED_BYTES_MAX;
            return Err(Error::limit(
                "UNIT_DECODED_BYTES_MAX",
                data_bytes.into(),
                max,
            ));
        }
        Ok(Self {
            value_type,
            shared_kind,
            n_values,
            data_bytes,
        })
    }

    /// Memory for all values: packed bits, values, or the strings and an end of 4 bytes each.
    fn decoded_bytes(&self) -> u64 {
        let n_values = u64::from(self.n_values);
        match self.value_type {
            ValueType::Bits => n_values.div_ceil(8),
            // Both are below 2^32.
            ValueType::Fixed(width) => n_values * u64::from(width),
            ValueType::Bytes => u64::from(self.data_bytes) + 4 * n_values,
        }
    }
}

/// Appends everything in front of the unit.
pub(crate) fn write_front(
    values: &Values<'_>,
    tree: &Tree,
    shared: &[(SharedSpec, Arc<OwnedValues>)],
    out: &mut Vec<u8>,
) -> Result<()> {
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&(shared.len() as u32).to_le_bytes());
    Head::of(values, None)?.write_to(out);
    tree.write_to(out)?;
    for (spec, values) in shared {
        let values = values.as_values()?;
        Head::of(&values, Some(spec.kind))?.write_to(out);
        match values {
            Values::Bits(bits) => bits.append_to(out),
            Values::Fixed(fixed) => out.extend_from_slice(fixed.bytes()),
            Values::Bytes(strings) => {
                let mut end = 0;
                for i in 0..strings.len() {
                    end += strings.value_bytes(i);
                    out.extend_from_slice(&end.to_le_bytes());
                }
                out.extend_from_slice(strings.value_data());
            }
        }
    }
    Ok(())
}

/// A buffer taken apart.
pub(crate) struct StandaloneParts<'a> {
    pub(crate) value_type: ValueType,
    pub(crate) tree: Tree,
    pub(crate) shared: Vec<SharedBuffer>,
    pub(crate) unit: Unit<'a>,
}

impl<'a> StandaloneParts<'a> {
    /// Parses all fields. Nothing is allocated that is larger than `bytes`.
    pub(crate) fn parse(bytes: &'a [u8], decoded_bytes_max: u64) -> Result<Self> {
        let mut reader = ByteReader::new(bytes);
        let magic = reader.take(MAGIC.len(), "standalone.magic")?;
        if magic != MAGIC {
            let found = magic
                .iter()
                .rev()
                .fold(0, |all, byte| all << 8 | u64::from(*byte));
            return Err(Error::corrupt(
                "standalone.magic",
                0,
                found,
                "TSA and the version 1",
            ));
        }
        let n_shared = reader.u32("standalone.n_shared")?;
        if n_shared as usize > limits::SHARED_BUFFERS_MAX {
            let max = limits::SHARED_BUFFERS_MAX as u64;
            return Err(Error::limit("SHARED_BUFFERS_MAX", n_shared.into(), max));
        }
        let head = Head::parse(&mut reader, false)?;
        let decoded_bytes = head.decoded_bytes();
        if decoded_bytes > decoded_bytes_max {
            return Err(Error::limit(
                "DECODED_BYTES_MAX",
                decoded_bytes,
                decoded_bytes_max,
            ));
        }
        let tree = Tree::parse(&mut reader)?;
        let shared = (0..n_shared)
            .map(|_| parse_shared(&mut reader))
            .collect::<Result<_>>()?;
        Ok(Self {
            value_type: head.value_type,
            tree,
            shared,
            unit: Unit {
                bytes: reader.rest(),
                len: head.n_values,
                decoded_bytes: head.data_bytes,
            },
        })
    }
}

fn parse_shared(reader: &mut ByteReader<'_>) -> Result<SharedBuffer> {
    let head = Head::parse(reader, true)?;
    let Some(kind) = head.shared_kind else {
        return Err(Error::invalid("a shared buffer without a kind"));
    };
    let n_values = usize::try_from(head.n_values).unwrap_or(usize::MAX);
    let field = "standalone.shared";
    // Taken from the bytes at hand before anything of their size is allocated.
    let mut take = |len: u64| reader.take(usize::try_from(len).unwrap_or(usize::MAX), field);
    let values = match head.value_type {
        ValueType::Bits => {
            let bytes = take(head.decoded_bytes())?;
            OwnedValues::copy_of(Values::Bits(BitSlice::new(bytes, 0, n_values)?))
        }
        ValueType::Fixed(width) => {
            let bytes = take(head.decoded_bytes())?;
            let fixed = FixedSlice::new(bytes, width as usize, n_values)?;
            OwnedValues::copy_of(Values::Fixed(fixed))
        }
        ValueType::Bytes => {
            let ends = take(u64::from(head.n_values) * 4)?;
            let data = take(head.data_bytes.into())?;
            let (ends, _) = ends.as_chunks::<4>();
            let mut offsets = Vec::with_capacity(ends.len() + 1);
            offsets.push(0);
            offsets.extend(ends.iter().map(|end| u32::from_le_bytes(*end)));
            let last = offsets.last().copied().unwrap_or_default();
            if last != head.data_bytes || BytesSlice::new(&offsets, data).is_err() {
                let allowed = "ends that rise to the bytes of data";
                return Err(Error::corrupt(field, 0, last, allowed));
            }
            OwnedValues::Bytes {
                offsets,
                data: AlignedBuf::copy_of(data),
            }
        }
    };
    Ok(SharedBuffer::new(kind, Arc::new(values)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn head(bytes: [u8; HEAD_BYTES], is_shared: bool) -> Result<Head> {
        Head::parse(&mut ByteReader::new(&bytes), is_shared)
    }

    #[test]
    fn heads_are_written_as_they_are_parsed() {
        for value_type in [ValueType::Bits, ValueType::Fixed(9), ValueType::Bytes] {
            for shared_kind in [None, Some(SharedKind::SymbolTable)] {
                let written = Head {
                    value_type,
                    shared_kind,
                    n_values: 70,
                    data_bytes: if value_type == ValueType::Bytes {
                        11
                    } else {
                        0
                    },
                };
                let mut bytes = vec![];
                written.write_to(&mut bytes);
                assert_eq!(bytes.len(), HEAD_BYTES);
                let mut reader = ByteReader::new(&bytes);
                assert_eq!(Head::parse(&mut reader, shared_kind.is_some()), Ok(written));
            }
        }
    }

    #[test]
    fn every_field_of_a_head_is_checked() {
        let good = [1, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];
        let with = |at: usize, byte: u8| {
            let mut bytes = good;
            bytes[at] = byte;
            head(bytes, false)
        };
        assert!(head(good, false).is_ok());
        assert!(head(good, true).is_err());
        let corrupt =
            |field, at: usize, found: u8, allowed| Err(Error::corrupt(field, at, found, allowed));
        assert_eq!(with(0, 3), corrupt("standalone.values", 0, 3, "0 ..= 2"));
        let allowed = "0 for values without a fixed width";
        assert_eq!(with(0, 2), corrupt("standalone.width", 4, 4, allowed));
        let allowed = "0 for the array, a kind of shared buffers for the others";
        assert_eq!(with(1, 1), corrupt("standalone.shared_kind", 1, 1, allowed));
        assert_eq!(with(1, 9), corrupt("standalone.shared_kind", 1, 9, allowed));
        let allowed = "zero (padding or reserved)";
        assert_eq!(with(3, 5), corrupt("standalone.reserved", 3, 5, allowed));
        let allowed = "0 for values that are no byte strings";
        assert_eq!(
            with(12, 1),
            corrupt("standalone.data_bytes", 12, 1, allowed)
        );
        assert!(with(7, 0xff).is_err());
        assert!(with(11, 0x81).is_err());
    }
}
