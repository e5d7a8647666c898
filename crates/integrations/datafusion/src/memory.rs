//! Memory of batches, in the engine's pool.

use std::collections::HashSet;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use datafusion::arrow::array::ArrayData;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};

/// A reservation for batches that were decoded and that nobody has taken yet. A scan has no way to do with less, so it
/// is never refused; operators that can spill see that there is less for them.
pub(crate) fn reservation(pool: &Arc<dyn MemoryPool>) -> MemoryReservation {
    MemoryConsumer::new("TarsiaScan").register(pool)
}

/// Bytes of the buffers of batches. Buffers that several of them share count once.
pub(crate) fn bytes_of<'b>(batches: impl IntoIterator<Item = &'b RecordBatch>) -> usize {
    let mut seen = HashSet::new();
    let columns = batches.into_iter().flat_map(RecordBatch::columns);
    columns
        .map(|column| bytes_of_array(&column.to_data(), &mut seen))
        .sum()
}

fn bytes_of_array(array: &ArrayData, seen: &mut HashSet<NonNull<u8>>) -> usize {
    let nulls = array.nulls().map(|nulls| nulls.buffer());
    let buffers = array.buffers().iter().chain(nulls);
    let new = buffers.filter(|buffer| seen.insert(buffer.data_ptr()));
    let own: usize = new.map(|buffer| buffer.capacity()).sum();
    let children = array.child_data().iter();
    own + children
        .map(|child| bytes_of_array(child, seen))
        .sum::<usize>()
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    #[test]
    fn parts_of_a_batch_have_its_bytes_once() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
        let text: ArrayRef = Arc::new(StringArray::from_iter(
            (0..1000).map(|i| (i % 3 > 0).then(|| i.to_string())),
        ));
        let batch = RecordBatch::try_from_iter([("n", numbers), ("t", text)]).unwrap();
        let whole = bytes_of([&batch]);
        assert!((8000 + 4000 + 125..40_000).contains(&whole), "{whole}");
        let parts: Vec<_> = (0..10).map(|i| batch.slice(i * 100, 100)).collect();
        assert_eq!(bytes_of(&parts), whole);
        let other = batch.project(&[0]).unwrap();
        assert_eq!(bytes_of([&batch, &other]), whole);
        assert_eq!(bytes_of([]), 0);
    }
}
