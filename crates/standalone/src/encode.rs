//! Values to one buffer.

use alloc::borrow::Cow;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    BitSlice, BlockValues, BytesSlice, DecodeCost, EncodingWriter, Error, FixedSlice, Registry,
    Result, SharedBuffers, Tree, Values, build_encoder, limits,
};

use crate::layout;
use crate::number::{Number, swap_if_big_endian};

/// A registry of these encodings, decoders and encoders. Their decode costs are zero: only a search for trees asks for
/// costs.
///
/// A program that only decodes needs no encoders: [`Registry::add`] takes encodings without them.
pub fn registry(encodings: &[&'static dyn EncodingWriter]) -> Registry {
    let mut registry = Registry::new();
    for encoding in encodings {
        registry.add_writer(*encoding, DecodeCost::default());
    }
    registry
}

/// Encodes values of any physical type under `tree`. The numbers of shared buffers in `tree` are ignored: this function
/// numbers them from 0 on.
///
/// # Errors
/// [`ErrorKind::Unsupported`](tarsia_codec::ErrorKind::Unsupported) for an encoding that is not in the registry or does
/// not hold values of this type, [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) for a tree whose nodes lack
/// children, [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for values that the encoding cannot
/// hold, [`ErrorKind::LimitExceeded`](tarsia_codec::ErrorKind::LimitExceeded) for more than 2^31 values or 2^31 bytes
/// of strings.
pub fn encode(registry: &Registry, tree: &Tree, values: Values<'_>) -> Result<Vec<u8>> {
    let block = BlockValues::all(values)?;
    let mut tree = tree.clone();
    registry.number_shared(&mut tree, values.value_type(), &mut 0)?;
    let mut shared = SharedBuffers::new();
    let encoder = build_encoder(registry, &tree, values, &mut shared)?;
    let mut out = Vec::new();
    layout::write_front(&values, &tree, &shared.to_vec()?, &mut out)?;
    encoder.encode(block, &mut out)?;
    Ok(out)
}

/// Encodes a slice of numbers as fixed-width values.
///
/// # Errors
/// As [`encode`].
pub fn encode_slice<T: Number>(registry: &Registry, tree: &Tree, values: &[T]) -> Result<Vec<u8>> {
    let mut bytes = Cow::Borrowed(bytemuck::cast_slice::<T, u8>(values));
    if cfg!(target_endian = "big") {
        swap_if_big_endian(bytes.to_mut(), size_of::<T>());
    }
    let fixed = FixedSlice::new(&bytes, size_of::<T>(), values.len())?;
    encode(registry, tree, Values::Fixed(fixed))
}

/// Encodes byte strings: `&[&str]`, `&[String]`, `&[&[u8]]`. They are copied back to back first.
///
/// # Errors
/// As [`encode`].
pub fn encode_strings<S: AsRef<[u8]>>(
    registry: &Registry,
    tree: &Tree,
    strings: &[S],
) -> Result<Vec<u8>> {
    let mut offsets = Vec::with_capacity(strings.len() + 1);
    offsets.push(0);
    let mut data = Vec::new();
    for string in strings {
        data.extend_from_slice(string.as_ref());
        let end = u32::try_from(data.len()).map_err(|_| {
            let max = limits::UNIT_DECODED_BYTES_MAX;
            Error::limit("UNIT_DECODED_BYTES_MAX", data.len() as u64, max)
        })?;
        offsets.push(end);
    }
    encode(
        registry,
        tree,
        Values::Bytes(BytesSlice::new(&offsets, &data)?),
    )
}

/// Encodes booleans as bits.
///
/// # Errors
/// As [`encode`].
pub fn encode_bits(registry: &Registry, tree: &Tree, bits: &[bool]) -> Result<Vec<u8>> {
    let mut bytes = vec![0u8; bits.len().div_ceil(8)];
    for (byte, bits) in bytes.iter_mut().zip(bits.chunks(8)) {
        for (i, bit) in bits.iter().enumerate() {
            *byte |= u8::from(*bit) << i;
        }
    }
    encode(
        registry,
        tree,
        Values::Bits(BitSlice::new(&bytes, 0, bits.len())?),
    )
}
