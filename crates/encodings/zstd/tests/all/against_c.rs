//! Frames that the C library makes with all kinds of parameters decode to what they were made of.

use tarsia_testkit::rng::Rng;
use zstd::zstd_safe::{CParameter, Strategy};

use crate::shapes::{BLOCK, Ours, frame, shapes, small_offsets, text};

fn check(ours: &mut Ours, name: &str, bytes: &[u8], parameters: &[CParameter]) {
    let frame = frame(bytes, parameters);
    let found = ours.decode(&frame, bytes.len());
    match found {
        Ok(found) => assert!(found == bytes, "{name}, {parameters:?}: other bytes"),
        Err(error) => panic!("{name}, {parameters:?}: {error}"),
    }
}

/// Levels below 1 store literals as they are.
#[test]
fn all_levels() {
    let mut ours = Ours::new();
    let mut all = shapes(20_000);
    all.push(("small offsets".into(), small_offsets()));
    all.push(("text of some blocks".into(), text(3 * BLOCK + 17, 3)));
    for (name, bytes) in &all {
        for level in -5..=19 {
            // Slow levels are left to short bytes.
            if level < 10 || level % 3 == 1 || bytes.len() < 30_000 {
                check(
                    &mut ours,
                    name,
                    bytes,
                    &[CParameter::CompressionLevel(level)],
                );
            }
        }
    }
}

#[test]
fn all_sizes_up_to_a_few_chunks() {
    let mut ours = Ours::new();
    let long = [text(200, 2), vec![b'x'; 100], text(100, 2)].concat();
    for n in 0..=400 {
        for level in [1, 19] {
            check(
                &mut ours,
                &format!("{n} bytes"),
                &long[..n],
                &[CParameter::CompressionLevel(level)],
            );
        }
    }
    for n in 1..=40 {
        for (name, bytes) in shapes(n) {
            check(
                &mut ours,
                &name,
                &bytes,
                &[CParameter::CompressionLevel(17)],
            );
        }
    }
}

#[test]
fn sizes_around_blocks() {
    let mut ours = Ours::new();
    for n in [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 5] {
        for (name, bytes) in shapes(n) {
            for level in [-3, 3, 7] {
                check(
                    &mut ours,
                    &name,
                    &bytes,
                    &[CParameter::CompressionLevel(level)],
                );
            }
        }
    }
}

#[test]
fn windows_strategies_and_block_sizes() {
    let mut ours = Ours::new();
    let strategies = [
        Strategy::ZSTD_fast,
        Strategy::ZSTD_dfast,
        Strategy::ZSTD_greedy,
        Strategy::ZSTD_lazy,
        Strategy::ZSTD_lazy2,
        Strategy::ZSTD_btlazy2,
        Strategy::ZSTD_btopt,
        Strategy::ZSTD_btultra,
        Strategy::ZSTD_btultra2,
    ];
    let mut rng = Rng::new(11);
    let mut all = shapes(40_000);
    all.push(("small offsets".into(), small_offsets()));
    for (name, bytes) in &all {
        for strategy in strategies {
            let parameters = [
                CParameter::Strategy(strategy),
                CParameter::WindowLog(rng.between(10, 18) as u32),
                CParameter::MinMatch(rng.between(3, 7) as u32),
                CParameter::ContentSizeFlag(rng.flip()),
                CParameter::TargetCBlockSize(*rng.pick(&[0, 1340, 4000])),
            ];
            check(&mut ours, name, bytes, &parameters);
        }
    }
}

/// Offsets and lengths that take more bits than are loaded at once.
#[test]
fn far_offsets_and_long_lengths() {
    let mut ours = Ours::new();
    let mut rng = Rng::new(3);
    let far = rng.bytes(3 << 20);
    let mut bytes = far.clone();
    for _ in 0..40 {
        let (from, len) = (rng.below(far.len() - 20_000), rng.between(5, 20_000));
        bytes.extend(rng.bytes(len / 2));
        bytes.extend_from_slice(&far[from..from + len]);
    }
    for level in [1, 9] {
        check(
            &mut ours,
            "far",
            &bytes,
            &[
                CParameter::CompressionLevel(level),
                CParameter::WindowLog(23),
            ],
        );
    }
    let long = [
        rng.bytes(70_000),
        vec![7; 66_000],
        text(30, 1),
        vec![7; 131_000],
    ]
    .concat();
    for level in [1, 9, 19] {
        check(
            &mut ours,
            "long",
            &long,
            &[CParameter::CompressionLevel(level)],
        );
    }
}
