//! Blocks that a writer makes, then changed: by the native decoders, and by the inside of a kernel.

use tarsia_codec::Selection;
use tarsia_page_writer::EncodedPage;
use tarsia_structure::block::BLOCK_HEADER_BYTES;
use tarsia_structure::{Block, LevelForm};
use tarsia_testkit::fuzzing::{Input, accepted};

use super::decoded::{decode, decoder, exercise};
use super::kernel::decode_by_kernel;
use super::written::{ROWS_MAX, Written, block_rows, written};

/// Changed blocks: bytes anywhere, and the fields of the header made to fit now and then.
pub fn block(bytes: &[u8]) {
    let Some(ToChange {
        page,
        forms,
        mut input,
    }) = to_change(bytes)
    else {
        return;
    };
    let decoder = decoder(&page.meta);
    let (place, n_rows) = changed_block(&page, &mut input);
    exercise(&decoder, &forms, &place, n_rows, &mut input);
}

/// Decodes changed blocks by the inside of a kernel: the rows, or the refusal, of the decoders that it is made of.
pub fn kernel(bytes: &[u8]) {
    let Some(ToChange {
        page,
        forms,
        mut input,
    }) = to_change(bytes)
    else {
        return;
    };
    let decoder = decoder(&page.meta);
    let (place, n_rows) = match input.below(3) {
        0 => (page.block(0).to_vec(), block_rows(&page)[0]),
        _ => changed_block(&page, &mut input),
    };
    let by_kernel = decode_by_kernel(&page.meta, &forms, &place, decoder.value_type());
    // The kernel asks no block table how many rows there are to be.
    let Ok(block) = Block::parse(&place, &decoder.expect(n_rows)) else {
        return;
    };
    let native = decode(&decoder, &forms, &block, Selection::All);
    match (native, by_kernel) {
        (Ok(native), Some(decoded)) => {
            accepted();
            assert_eq!(native.n_slots, decoded.n_slots, "slots by the kernel");
            let (native, decoded) = (native.rows, decoded.rows);
            if native.n_slots() > 0 {
                let same = native.tokens(0..native.n) == decoded.tokens(0..decoded.n);
                assert!(same, "other rows by the kernel");
            }
        }
        (Err(_), None) => {}
        (Ok(_), None) => panic!("only the kernel refuses the block"),
        (Err(error), Some(_)) => panic!("only the kernel takes the block: {error}"),
    }
}

/// A page, and the input that says how it changes.
struct ToChange<'a> {
    page: EncodedPage,
    forms: Vec<LevelForm>,
    input: Input<'a>,
}

/// Makes a page to change. How it changes is chosen first, so that short inputs, too, change something else each.
fn to_change(bytes: &[u8]) -> Option<ToChange<'_>> {
    let mut input = Input::new(bytes);
    let changes = input.take(24);
    let Written { page, forms, .. } = written(&mut input)?;
    Some(ToChange {
        page,
        forms,
        input: Input::new(changes),
    })
}

/// A block of a page with some bytes changed, and the rows that a block table gives it.
fn changed_block(page: &EncodedPage, input: &mut Input<'_>) -> (Vec<u8>, u32) {
    let rows = block_rows(page);
    let number = input.below(rows.len());
    let mut place = page.block(number).to_vec();
    let mut n_rows = rows[number];
    for _ in 0..1 + input.below(3) {
        match input.below(7) {
            // The levels' own headers are at the front of the payload; and a window of it, wherever it is.
            0 | 1 => {
                let at = BLOCK_HEADER_BYTES.min(place.len());
                input.overwrite(&mut place[at..]);
            }
            5 | 6 => {
                let at = BLOCK_HEADER_BYTES.min(place.len());
                let at = at + input.below(place.len() - at);
                let end = place.len().min(at + 40);
                input.overwrite(&mut place[at..end]);
            }
            2 => input.overwrite(&mut place),
            3 => {
                let kept = BLOCK_HEADER_BYTES + input.below(place.len() - BLOCK_HEADER_BYTES + 1);
                place.truncate(kept);
            }
            _ => {
                n_rows = 1 + input.below(ROWS_MAX) as u32;
                place[8..12].copy_from_slice(&n_rows.to_le_bytes());
                place[12..16].copy_from_slice(&n_rows.to_le_bytes());
            }
        }
    }
    if input.one_in(4) && place.len() >= BLOCK_HEADER_BYTES {
        let payload = (place.len() - BLOCK_HEADER_BYTES) as u32;
        place[24..28].copy_from_slice(&payload.to_le_bytes());
    }
    (place, n_rows)
}
