//! Tables and values that several tests use.

use std::f64::consts::TAU;
use std::sync::Arc;

use tarsia_codec::{AlignedBuf, DecodeCost, OwnedValues, Registry, SharedBuffer, SharedKind};
use tarsia_testkit::rng::Rng;

pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_bins::BINS, DecodeCost::default())
        .add_writer(&tarsia_bitpack::BITPACK, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    registry
}

/// The shared buffer of these bins, each a lower end of `width` bytes and the bits of an offset.
pub(crate) fn table(width: usize, bins: &[(u64, u8)]) -> SharedBuffer {
    let entry = |(lower, bits): &(u64, u8)| [&lower.to_le_bytes()[..width], &[*bits]].concat();
    let bytes: Vec<u8> = bins.iter().flat_map(entry).collect();
    let values = OwnedValues::Fixed {
        bytes: AlignedBuf::copy_of(&bytes),
        width: width + 1,
        len: bins.len(),
    };
    SharedBuffer::new(SharedKind::SymbolTable, Arc::new(values))
}

/// Draws a number of a normal distribution with the mean 0 and the deviation 1 (Box and Muller).
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    let mut share = || (rng.u64() as f64 + 1.0) / 2f64.powi(64);
    (-2.0 * share().ln()).sqrt() * (TAU * share()).cos()
}
