//! The tests of this crate, linked as one program.

mod corrupt;
mod golden;
mod laws;
mod mutated;
mod propose;

use tarsia_testkit::rng::Rng;

/// `n` bytes of words that text is made of, some of them frequent.
fn text(n: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let word = |rng: &mut Rng| {
        let len = rng.between(1, 9);
        rng.bytes(len).iter().map(|it| b'a' + it % 26).collect()
    };
    let words: Vec<Vec<u8>> = (0..400).map(|_| word(&mut rng)).collect();
    let mut text = Vec::with_capacity(n + 10);
    while text.len() < n {
        let i = rng.below(words.len()) * rng.below(words.len()) / words.len();
        text.extend_from_slice(&words[i]);
        text.push(b' ');
    }
    text.truncate(n);
    text
}
