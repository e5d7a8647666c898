//! Blocks decoded by the inside of a kernel.

use tarsia_codec::{AlignedBuf, ValueType};
use tarsia_kernel_guest::Guest;
use tarsia_kernel_guest::abi::{
    BatchDescription, LAYOUT_ENDS, LAYOUT_VALIDITY, RequestWriter, tag,
};
use tarsia_kernel_guest::memory::Memory;
use tarsia_structure::{
    Budget, DecodedForm, DecodedRows, DecodedSlots, LevelForm, Meta, RawColumn, RawLevels,
};

use super::rows::{Decoded, rows_of};

/// All rows of a block as a kernel's host has them in the end; `None` where the kernel refuses.
pub(super) fn decode_by_kernel(
    meta: &Meta,
    forms: &[LevelForm],
    place: &[u8],
    value_type: ValueType,
) -> Option<Decoded> {
    let mut meta_bytes = Vec::new();
    meta.write_to(&mut meta_bytes).expect("a description");
    let mut guest = Guest::new(tarsia_kernel_core::registry());
    let mut request = RequestWriter::default();
    assert!(request.entry(tag::META, &[&meta_bytes]));
    request.input(KERNEL_BASE, place.len() as u32, 0);
    request.wide(tag::LIMITS, u64::MAX);
    request.word(tag::BATCH_ROWS, u32::MAX);
    let memory = KernelMemory(place);
    let reader = guest.init(&memory, request.bytes()).ok()?;
    // No rows are no batch.
    let token = guest.decode(&memory, reader).ok()??;
    let batch = guest.batch(token).expect("a batch");
    let description = BatchDescription::parse(batch.description()).expect("a description");
    let (leaf, above) = description.nodes.split_last().expect("items");
    let mut buffers = batch.buffers().into_iter();
    let mut levels = Vec::new();
    for node in above {
        let form = match node.layout {
            LAYOUT_VALIDITY => DecodedForm::Validity(buffers.next().expect("bits")),
            LAYOUT_ENDS => DecodedForm::Ends(buffers.next().expect("ends").as_chunks().0),
            _ => DecodedForm::ConstantLength,
        };
        let n_slots = node.length as usize;
        levels.push(DecodedSlots { n_slots, form });
    }
    let n_items = leaf.length as usize;
    let validity = buffers.next().expect("validity");
    let offsets = match value_type {
        ValueType::Bytes => buffers.next().expect("offsets"),
        _ => &[],
    };
    let items = DecodedRows {
        rows: n_items,
        validity,
        offsets,
        values: buffers.next().expect("values"),
    };
    let budget = Budget::new(u64::MAX);
    let mut take = AlignedBuf::zeroed;
    let mut raw_levels = RawLevels::new(forms.iter().copied(), &budget);
    let n_rows = description.rows as usize;
    raw_levels
        .push_decoded(n_rows, &levels, value_type, n_items, &mut take)
        .expect("levels that fit");
    let mut raw = RawColumn::new(value_type, 0, 0, &mut take).expect("no room");
    raw.reserve(n_items, items.values.len(), &mut take)
        .expect("room");
    raw.push_decoded(&items, &mut take).expect("items that fit");
    Some(rows_of(n_rows, raw_levels, &raw.finish(), value_type))
}

/// A kernel's memory, from this address on.
struct KernelMemory<'a>(&'a [u8]);

const KERNEL_BASE: u32 = 4096;

impl Memory for KernelMemory<'_> {
    fn bytes(&self, address: u32, len: u32) -> Option<&[u8]> {
        let start = address.checked_sub(KERNEL_BASE)? as usize;
        self.0.get(start..start.checked_add(len as usize)?)
    }
}
