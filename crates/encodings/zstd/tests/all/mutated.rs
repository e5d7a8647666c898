//! Frames with random changes: an error or values, never a panic, and no other values than the C library decodes.

use tarsia_testkit::mutate::mutate;
use tarsia_testkit::rng::Rng;
use zstd::zstd_safe::CParameter;

use crate::shapes::{Ours, decode_by_c, frame, shapes, small_offsets, text};

/// Frames of each size that are changed, each this many times.
const ROUNDS: usize = 1200;

#[test]
fn changed_frames_decode_as_by_c_or_not_at_all() {
    let mut ours = Ours::new();
    let mut rng = Rng::new(23);
    let mut all = shapes(700);
    all.extend(shapes(3000));
    all.push(("text".into(), text(20_000, 9)));
    all.push(("small offsets".into(), small_offsets()[..6000].to_vec()));
    let (mut n, mut n_accepted) = (0, 0);
    for (name, bytes) in &all {
        for (level, rounds) in [(1, ROUNDS / 2), (19, ROUNDS / 2)] {
            let whole = frame(bytes, &[CParameter::CompressionLevel(level)]);
            for round in 0..rounds {
                let mut frame = whole.clone();
                for _ in 0..1 + round % 3 {
                    mutate(&mut rng, &mut frame);
                }
                n += 1;
                let Ok(found) = ours.decode(&frame, bytes.len()) else {
                    continue;
                };
                n_accepted += 1;
                if let Some(by_c) = decode_by_c(&frame) {
                    assert!(found == by_c, "{name}, level {level}: {frame:x?}");
                }
            }
        }
    }
    assert!(n >= 20_000, "{n}");
    // Changes of literals alone are not noticed.
    assert!(n_accepted > n / 50, "{n_accepted} of {n}");
}
