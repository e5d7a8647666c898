//! Blocks with random changes: an error or values, never a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tarsia_codec::{
    DecodeCost, Output, Registry, Scratch, Selection, Unit, ValueType, build_decoder,
};
use tarsia_lz4::{LZ4, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::memory;
use tarsia_testkit::mutate::mutate;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

use crate::text;

#[test]
fn changed_blocks_decode_or_are_refused() {
    let mut registry = Registry::new();
    registry.add_writer(&LZ4, DecodeCost::default());
    let decoder = build_decoder(&registry, &tree(), ValueType::Fixed(1), &[]).unwrap();
    let mut rng = Rng::new(23);
    let runs = (0..3000).map(|i| (i / 37) as u8).collect();
    let all = [
        text(60, 1),
        text(700, 2),
        text(9000, 3),
        runs,
        rng.bytes(500),
        vec![7; 5000],
    ];
    let (mut n_accepted, mut n_refused) = (0, 0);
    for bytes in all {
        let n = bytes.len();
        let case = Case::fixed("", 1, n, bytes);
        let (whole, _) = units::encode(&registry, &tree(), case.values()).unwrap();
        for round in 0..4000 {
            let mut block = whole.clone();
            for _ in 0..1 + round % 3 {
                mutate(&mut rng, &mut block);
            }
            let unit = Unit {
                bytes: &block,
                len: n as u32,
                decoded_bytes: 0,
            };
            let mut out = vec![0; n];
            let to = Output::Fixed(&mut out);
            let mut scratch = Scratch::new();
            let (done, allocated) = memory::measure(|| {
                let decode = || decoder.decode(unit, Selection::All, &mut scratch, to);
                catch_unwind(AssertUnwindSafe(decode))
            });
            match done {
                Ok(Ok(_)) => n_accepted += 1,
                Ok(Err(_)) => n_refused += 1,
                Err(_) => panic!("{block:x?}"),
            }
            // An error at most.
            assert!(allocated.bytes < 200, "{allocated:?}");
        }
    }
    // Changes of literals alone are not noticed.
    assert!(
        n_accepted > 1000 && n_refused > 1000,
        "{n_accepted}, {n_refused}"
    );
}
