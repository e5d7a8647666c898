//! Arrays of unusual types: what is stored of them, and how they are reordered.

use tarsia_codec::{
    AlignedBuf, DecodeCost, LogicalType, Registry, Result, Scratch, Selection, Statistics,
};
use tarsia_page_writer::{Choice, Choose, EncodeContext, encode_page};
use tarsia_structure::{Block, Budget, Level, PageDecoder, RawLevels};

struct Plain;

impl Choose for Plain {
    fn choose(&self, values: &Statistics<'_>) -> Result<Choice> {
        let tree = match values.facts().logical_type {
            LogicalType::Validity => tarsia_bitmap::tree(),
            _ => tarsia_plain::tree(),
        };
        Ok(Choice {
            trees: vec![tree],
            bytes: values.values().decoded_bytes(),
            uniform: true,
            block_bytes: tarsia_page_writer::BLOCK_PAYLOAD_BYTES_TARGET,
        })
    }
}

/// Unions have no nulls of their own: those of keys are stored above them, also where runs stand above the keys.
#[test]
fn null_keys_of_unions_inside_runs_are_stored() {
    use arrow_array::{
        Array, ArrayRef, DictionaryArray, Int32Array, RunArray, UnionArray, types::Int8Type,
    };
    use arrow_schema::{DataType, Field, UnionFields};
    use std::sync::Arc;
    use tarsia_arrow::{LeafBuffer, leaf_paths};

    let arms = [Field::new("number", DataType::Int32, false)];
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![7, 8]));
    let fields = UnionFields::from_fields(arms);
    let union = UnionArray::try_new(
        fields,
        vec![0i8, 0].into(),
        Some(vec![0, 1].into()),
        vec![numbers],
    );
    let keys = arrow_array::Int8Array::from(vec![None, Some(1), None, Some(0)]);
    let coded = DictionaryArray::<Int8Type>::new(keys, Arc::new(union.unwrap()));
    let ends = Int32Array::from(vec![2, 3, 6, 7]);
    let runs: ArrayRef = Arc::new(RunArray::try_new(&ends, &coded).unwrap());
    const N: bool = false;
    const V: bool = true;
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default())
        .add_writer(&tarsia_bitmap::BITMAP, DecodeCost::default());
    let context = EncodeContext {
        registry: &registry,
        memory: None,
        chooser: &Plain,
        checksum: |bytes| bytes.len() as u32,
        erasable: false,
    };
    for (name, array, valid) in [
        ("runs of keys", runs.clone(), vec![N, N, V, N, N, N, V]),
        ("a slice of them", runs.slice(1, 3), vec![N, V, N]),
        ("keys", Arc::new(coded.clone()), vec![N, V, N, V]),
    ] {
        for path in leaf_paths(array.data_type(), true).unwrap() {
            let what = format!("{name}, {:?}", path.names());
            let mut leaf = LeafBuffer::new(array.data_type(), path);
            leaf.push(array.as_ref())
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            let page = leaf.page(0..array.len()).unwrap().unwrap();
            let page = encode_page(page, &context).unwrap();
            let decoder = PageDecoder::new(&registry, &page.meta, &[]).unwrap();
            let rows = array.len() as u32;
            let block = Block::parse(page.block(0), &decoder.expect(rows)).unwrap();
            let budget = Budget::new(u64::MAX);
            let mut levels = RawLevels::new(page.meta.levels.iter().map(Level::form), &budget);
            let (mut scratch, mut ranges) = (Scratch::new(), Vec::new());
            let mut take = |bytes| AlignedBuf::zeroed(bytes);
            levels
                .push(
                    &decoder,
                    &block,
                    Selection::All,
                    &mut scratch,
                    &mut take,
                    &mut ranges,
                )
                .unwrap();
            let levels = levels.into_levels();
            let bits = levels[0].validity().unwrap();
            let stored: Vec<_> = (0..array.len()).map(|row| bits.get(row)).collect();
            assert_eq!(stored, valid, "{what}");
        }
    }
}

/// Arrow's own `take` forgets how many values of width 0 there are, and with that the length of runs of them.
#[test]
fn runs_of_values_without_bytes_are_reordered() {
    use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, Int32Array, RunArray, UInt64Array};
    use arrow_data::ArrayData;
    use arrow_schema::DataType;
    use std::sync::Arc;
    use tarsia_arrow::reorder;

    let empty = ArrayData::builder(DataType::FixedSizeBinary(0)).len(2);
    let empty = FixedSizeBinaryArray::from(empty.add_buffer(vec![0u8; 0].into()).build().unwrap());
    let ends = Int32Array::from(vec![2, 5]);
    let runs: ArrayRef = Arc::new(RunArray::try_new(&ends, &empty).unwrap());
    let numbers = Int32Array::from(vec![Some(7), None]);
    let numbers: ArrayRef = Arc::new(RunArray::try_new(&ends, &numbers).unwrap());
    let outer = Int32Array::from(vec![1, 3, 9, 10, 12]);
    let of_runs: ArrayRef = Arc::new(RunArray::try_new(&outer, runs.as_ref()).unwrap());
    for places in [vec![4], vec![0, 1, 4, 4], vec![3, 0], vec![]] {
        for array in [&runs, &runs.slice(0, 5), &numbers, &of_runs] {
            let picked = reorder(array.as_ref(), &UInt64Array::from(places.clone())).unwrap();
            assert_eq!(
                picked.len(),
                places.len(),
                "{places:?} of {}",
                array.data_type()
            );
            assert_eq!(picked.data_type(), array.data_type());
            picked.to_data().validate_full().unwrap();
            let (now, before) = (picked.logical_nulls(), array.logical_nulls());
            for (row, place) in places.iter().enumerate() {
                let null = |nulls: &Option<arrow_buffer::NullBuffer>, i| {
                    nulls.as_ref().is_some_and(|nulls| nulls.is_null(i))
                };
                assert_eq!(
                    null(&now, row),
                    null(&before, *place as usize),
                    "{places:?}"
                );
            }
        }
    }
    let sliced = reorder(
        numbers.slice(1, 3).as_ref(),
        &UInt64Array::from(vec![Some(2), None, Some(0)]),
    );
    let nulls = sliced.unwrap().logical_nulls().unwrap();
    assert_eq!(
        (0..3).map(|i| nulls.is_valid(i)).collect::<Vec<_>>(),
        [false, false, true]
    );
    assert!(reorder(runs.as_ref(), &UInt64Array::from(vec![5])).is_err());
}
