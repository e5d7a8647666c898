//! How much the tests try that try everything.

/// The environment variable that asks for the long form of exhaustive tests; `scripts/ci --all` sets it to `all`.
const VARIABLE: &str = "TARSIA_CASES";

/// Returns `long` where the variable `TARSIA_CASES` is `all`, and else `short`: a number of cases, or one in how many.
/// The short form is a part of the long one, and the same in every run.
///
/// # Panics
/// If the variable has another value than `all` and `some`.
pub fn some_or_all<T>(short: T, long: T) -> T {
    let value = std::env::var(VARIABLE);
    match value.as_deref() {
        Err(_) | Ok("some") => short,
        Ok("all") => long,
        Ok(other) => panic!("{VARIABLE} is all or some, not {other:?}"),
    }
}

/// Whether case `number` is one of the `1 / one_in` that are tried; the first one is. Which ones are tried has no
/// period, so that they are of all kinds where kinds take turns.
pub fn is_tried(number: usize, one_in: usize) -> bool {
    // Fibonacci hashing (Knuth, The Art of Computer Programming, 6.4).
    let spread = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    spread.is_multiple_of(one_in.max(1) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_one_in_so_many_is_tried() {
        for one_in in [1, 2, 3, 5, 16] {
            let n = (0..1000).filter(|number| is_tried(*number, one_in)).count();
            assert!(
                n * one_in >= 800 && n * one_in <= 1200,
                "{n} of 1000, one in {one_in}"
            );
            assert!(is_tried(0, one_in));
        }
    }
}
