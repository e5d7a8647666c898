//! The numbers of plain slices.

mod sealed {
    pub trait Sealed {}
}

/// A number that [`encode_slice`](crate::encode_slice) takes: integers of 8 to 128 bits and floats of 32 and 64 bits.
/// Sealed: units hold little-endian numbers, so every type must be one whose bytes can be reversed.
pub trait Number: bytemuck::Pod + sealed::Sealed {}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(
            impl sealed::Sealed for $number {}
            impl Number for $number {}
        )*
    };
}

numbers!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128, f32, f64);

/// Turns numbers of `width` bytes from the machine's byte order into little-endian order, or back.
pub(crate) fn swap_if_big_endian(bytes: &mut [u8], width: usize) {
    if cfg!(target_endian = "big") {
        reverse_each(bytes, width);
    }
}

fn reverse_each(bytes: &mut [u8], width: usize) {
    for number in bytes.chunks_exact_mut(width.max(1)) {
        number.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_reversed_per_number() {
        let mut bytes = [1, 2, 3, 4, 5, 6];
        reverse_each(&mut bytes, 2);
        assert_eq!(bytes, [2, 1, 4, 3, 6, 5]);
        reverse_each(&mut bytes, 0);
        assert_eq!(bytes, [2, 1, 4, 3, 6, 5]);
    }
}
