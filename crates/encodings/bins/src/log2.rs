//! Logarithms without floating-point numbers: the same on all machines, and at hand without the standard library.

/// The number 1 among the numbers of this module, which count parts of 2^-16.
pub(crate) const ONE: u64 = 1 << 16;

/// Parts of the range from 1 to 2.
const N_PARTS: usize = 256;

/// The logarithm at the start of each part, and that of 2.
static LOGS: [u32; N_PARTS + 1] = logs();

const fn logs() -> [u32; N_PARTS + 1] {
    let mut logs = [0; N_PARTS + 1];
    let mut i = 0;
    while i < N_PARTS {
        // A number from 1 to 2 in parts of 2^-31. Each square of it tells one bit of its logarithm.
        let mut number = ((N_PARTS + i) as u64) << (31 - N_PARTS.ilog2());
        let mut log = 0;
        let mut bit = ONE as u32;
        while bit > 0 {
            number = (number * number) >> 31;
            bit /= 2;
            if number >> 32 > 0 {
                number /= 2;
                log |= bit;
            }
        }
        logs[i] = log;
        i += 1;
    }
    logs[N_PARTS] = ONE as u32;
    logs
}

/// The logarithm to base 2, in parts of 2^-16, less than 3 parts off; 0 for 0.
#[inline]
pub(crate) fn log2(n: u64) -> u64 {
    let Some(whole) = n.checked_ilog2() else {
        return 0;
    };
    // Behind the highest bit: 8 bits that name the part, then the place in it.
    let rest = n << (63 - whole) << 1;
    let part = (rest >> 56) as usize;
    let (at, next) = (u64::from(LOGS[part]), u64::from(LOGS[part + 1]));
    let place = rest >> 40 & 0xffff;
    u64::from(whole) * ONE + at + (((next - at) * place) >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_the_standard_library() {
        let numbers = (1..3000).chain((1..2000).map(|i| i * i * i * 1009));
        for n in numbers.chain((0..64).map(|bit| 1 << bit)).chain([u64::MAX]) {
            let expected = (n as f64).log2() * ONE as f64;
            let found = log2(n) as f64;
            assert!((found - expected).abs() < 3.0, "{n}: {found}, {expected}");
        }
        assert_eq!((log2(0), log2(1), log2(1 << 63)), (0, 0, 63 * ONE));
    }
}
