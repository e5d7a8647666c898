//! Integers times a scale.

use crate::small::Small;

/// Values that integers stand for.
pub(crate) trait Product {
    /// `q` times `scale`, rounded to the nearest value, of two to the even one.
    fn of(q: i8, scale: f64) -> Self;
}

/// The bits of a binary16 number.
impl Product for u16 {
    #[inline(always)]
    fn of(q: i8, scale: f64) -> Self {
        Small::F16.of_f32(f32::of(q, scale).to_bits()) as u16
    }
}

impl Product for f32 {
    #[inline(always)]
    fn of(q: i8, scale: f64) -> Self {
        f32::from(q) * scale as f32
    }
}

impl Product for f64 {
    #[inline(always)]
    fn of(q: i8, scale: f64) -> Self {
        f64::from(q) * scale
    }
}

/// Integers per iteration of the loop below, so that all of its values are in registers. Kernels must be small.
const RUN: usize = if cfg!(feature = "kernel") { 1 } else { 16 };

/// Writes an integer of each byte of `from`, times `scale`, as a value of `value_bytes`.
pub(crate) fn multiply(from: &[u8], scale: f64, value_bytes: usize, to: &mut [u8]) {
    macro_rules! multiply {
        ($value:ty) => {{
            let to = to.as_chunks_mut().0;
            let (runs, rest) = from.as_chunks::<RUN>();
            let (to_runs, to_rest) = to.as_chunks_mut::<RUN>();
            for (to, from) in to_runs.iter_mut().zip(runs) {
                *to = from.map(|q| <$value>::of(q as i8, scale).to_le_bytes());
            }
            for (to, q) in to_rest.iter_mut().zip(rest) {
                *to = <$value>::of(*q as i8, scale).to_le_bytes();
            }
        }};
    }
    match value_bytes {
        2 => multiply!(u16),
        4 => multiply!(f32),
        _ => multiply!(f64),
    }
}

/// A byte that is no integer of 4 bits with its sign in all higher bits, if there is one.
pub(crate) fn too_wide(from: &[u8]) -> Option<u8> {
    let is_wide = |q: &u8| q.wrapping_add(8) & 0xf0;
    match from.iter().fold(0, |odd, q| odd | is_wide(q)) {
        0 => None,
        _ => from.iter().find(|q| is_wide(q) != 0).copied(),
    }
}
