//! The encoder.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{
    AlignedBuf, BytesSlice, EncodeChildren, EncodingWriter, Error, ErrorKind, FixedSlice,
    NodeWriter, PageEncoder, Result, Shared, ValueType, Values, limits,
};

use crate::Bytes;
use crate::layout::{self, HEADER_BYTES, ID, LENGTH_BYTES, LENGTHS_TYPE};

impl EncodingWriter for Bytes {
    fn id(&self) -> &'static str {
        ID
    }

    fn prepare(
        &self,
        node: &NodeWriter<'_>,
        values: Values<'_>,
        children: &dyn EncodeChildren,
        _shared: Shared<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        layout::check_node(node)?;
        let lengths = Lengths::of(&values.as_bytes()?);
        let child = children.prepare(0, lengths.as_values()?)?;
        Ok(Box::new(BytesPage { lengths, child }))
    }

    fn encoded_bytes_max(
        &self,
        _node: &NodeWriter<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let lengths = child(
            0,
            LENGTHS_TYPE,
            n_values,
            n_values.saturating_mul(LENGTH_BYTES as u64),
        );
        (HEADER_BYTES as u64)
            .saturating_add(lengths)
            .saturating_add(decoded_bytes)
    }
}

/// The length of each string, as the child encodes them: little-endian.
struct Lengths {
    bytes: AlignedBuf,
    n: usize,
}

impl Lengths {
    fn of(values: &BytesSlice<'_>) -> Self {
        let n = values.len();
        let mut bytes = AlignedBuf::zeroed(n * LENGTH_BYTES);
        let (to, _) = bytes.as_chunks_mut::<LENGTH_BYTES>();
        for (to, pair) in to.iter_mut().zip(values.offsets().windows(2)) {
            *to = (pair[1] - pair[0]).to_le_bytes();
        }
        Self { bytes, n }
    }

    fn as_values(&self) -> Result<Values<'_>> {
        Ok(Values::Fixed(FixedSlice::new(
            &self.bytes,
            LENGTH_BYTES,
            self.n,
        )?))
    }

    /// Whether those of `range` are the lengths of `values`.
    fn are_those_of(&self, range: &Range<usize>, values: &BytesSlice<'_>) -> bool {
        let (all, _) = self.bytes.as_chunks::<LENGTH_BYTES>();
        match all.get(range.clone()) {
            Some(lengths) => lengths
                .iter()
                .zip(values.offsets().windows(2))
                .all(|(length, pair)| *length == (pair[1] - pair[0]).to_le_bytes()),
            None => false,
        }
    }
}

struct BytesPage {
    lengths: Lengths,
    child: Box<dyn PageEncoder>,
}

impl PageEncoder for BytesPage {
    fn encode(&self, values: Values<'_>, range: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        if range.start > range.end || range.end > values.len() {
            return Err(Error::invalid("a range reaches beyond the page"));
        }
        let values = values.slice(range.clone()).as_bytes()?;
        check_limits(&values)?;
        let start = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        if self.lengths.are_those_of(&range, &values) {
            self.child.encode(self.lengths.as_values()?, range, out)?;
        } else {
            // A parent whose values are made per block (the entries of a block's dictionary) hands in others than those
            // it prepared for. Lengths are never taken from there unseen.
            let lengths = Lengths::of(&values);
            self.child.encode(lengths.as_values()?, 0..lengths.n, out)?;
        }
        let lengths_len = u32::try_from(out.len() - start - HEADER_BYTES)
            .map_err(|_| Error::invalid("the lengths of a unit take 4 GiB"))?;
        if let Some(field) = out.get_mut(start..start + HEADER_BYTES) {
            field.copy_from_slice(&lengths_len.to_le_bytes());
        }
        out.extend_from_slice(values.value_data());
        Ok(())
    }
}

fn check_limits(values: &BytesSlice<'_>) -> Result<()> {
    let (n, n_max) = (values.len() as u64, u64::from(limits::UNIT_VALUES_MAX));
    let (bytes, bytes_max) = (
        u64::from(values.data_bytes()),
        limits::UNIT_DECODED_BYTES_MAX,
    );
    let exceeded =
        |limit, found, max| Err(Error::from(ErrorKind::LimitExceeded { limit, found, max }));
    if n > n_max {
        return exceeded("UNIT_VALUES_MAX", n, n_max);
    }
    if bytes > bytes_max {
        return exceeded("UNIT_DECODED_BYTES_MAX", bytes, bytes_max);
    }
    Ok(())
}
