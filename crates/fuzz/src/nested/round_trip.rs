//! Pages that a writer makes decode to what they were made of.

use tarsia_testkit::fuzzing::Input;

use super::decoded::{decoder, exercise};
use super::rows::COMPARED_SLOTS_MAX;
use super::written::{Written, block_rows, written};

/// Levels and items that the input describes, encoded and decoded.
pub fn round_trip(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    if let Some(Written { page, forms, rows }) = written(&mut input) {
        let decoder = decoder(&page.meta);
        let mut at = 0;
        for (i, n) in block_rows(&page).into_iter().enumerate() {
            let decoded = exercise(&decoder, &forms, page.block(i), n, &mut input);
            let decoded = decoded.expect("what was written decodes");
            if rows.n_slots() <= COMPARED_SLOTS_MAX {
                let want = rows.tokens(at..at + n as usize);
                assert!(decoded.tokens(0..decoded.n) == want, "other rows");
            }
            at += n as usize;
        }
        assert_eq!(at, rows.n);
    }
}
