//! Pages cut, encoded and decoded again: every kind of value and validity, whole, by range and by index, and hostile
//! bytes.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, Int64Array, StringArray,
};
use tarsia_arrow::{LeafBuffer, Pool, array_from_raw};
use tarsia_codec::{
    AlignedBuf, DecodeCost, LogicalType, Registry, Result, Scratch, Selection, Statistics, Values,
};
use tarsia_page_writer::{BlockRows, Choice, Choose, EncodeContext, EncodedPage, encode_page};
use tarsia_structure::{Block, PageDecoder, RawColumn};
use tarsia_testkit::units::checksum;

struct Plain {
    uniform_strings: bool,
}

impl Choose for Plain {
    fn choose(&self, values: &Statistics<'_>) -> Result<Choice> {
        let logical_type = values.facts().logical_type;
        let values = values.values();
        Ok(match (values, logical_type) {
            (_, LogicalType::Validity) => Choice {
                trees: vec![tarsia_bitmap::tree()],
                bytes: values.decoded_bytes(),
                uniform: true,
                block_bytes: tarsia_page_writer::BLOCK_PAYLOAD_BYTES_TARGET,
            },
            (Values::Bytes(_), _) => Choice {
                trees: vec![tarsia_bytes::tree(tarsia_plain::tree())],
                bytes: values.decoded_bytes() + 4 * values.len() as u64,
                uniform: self.uniform_strings,
                block_bytes: tarsia_page_writer::BLOCK_PAYLOAD_BYTES_TARGET,
            },
            _ => Choice {
                trees: vec![tarsia_plain::tree()],
                bytes: values.decoded_bytes(),
                uniform: true,
                block_bytes: tarsia_page_writer::BLOCK_PAYLOAD_BYTES_TARGET,
            },
        })
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default())
        .add_writer(&tarsia_bytes::BYTES, DecodeCost::default())
        .add_writer(&tarsia_bitmap::BITMAP, DecodeCost::default());
    registry
}

fn encode(array: &dyn Array, uniform_strings: bool) -> EncodedPage {
    let mut leaf = LeafBuffer::flat(array.data_type()).unwrap();
    // In two pieces, so that appending at odd offsets is seen.
    let half = array.len() / 3;
    leaf.push(&array.slice(0, half)).unwrap();
    leaf.push(&array.slice(half, array.len() - half)).unwrap();
    let registry = registry();
    let context = EncodeContext {
        registry: &registry,
        memory: None,
        chooser: &Plain { uniform_strings },
        checksum,
        erasable: false,
    };
    let page = leaf.page(0..array.len()).unwrap().unwrap();
    encode_page(page, &context).unwrap()
}

/// Rows of each block.
fn block_rows(page: &EncodedPage) -> Vec<u32> {
    match &page.block_rows {
        BlockRows::Table(rows) => rows.clone(),
        BlockRows::Uniform(log2) => {
            let n = page.starts.len() as u64;
            (0..n)
                .map(|i| (page.rows - (i << log2)).min(1 << log2) as u32)
                .collect()
        }
    }
}

/// Decodes rows `wanted(block) -> selection` of every block.
fn decode<'a>(
    page: &EncodedPage,
    array: &dyn Array,
    rows_max: usize,
    data_max: usize,
    wanted: impl Fn(usize, u32) -> Selection<'a>,
) -> Result<ArrayRef> {
    let decoder = PageDecoder::new(&registry(), &page.meta, &[])?;
    let pool = Pool::new(1 << 20);
    let mut take = |len| {
        let mut buf: AlignedBuf = pool.take(len);
        buf.fill(0xee);
        buf
    };
    let mut raw = RawColumn::new(decoder.value_type(), rows_max, data_max, &mut take)?;
    let mut scratch = Scratch::new();
    for (i, rows) in block_rows(page).into_iter().enumerate() {
        let block = Block::parse(page.block(i), &decoder.expect(rows))?;
        raw.push(&decoder, &block, wanted(i, rows), &mut scratch, &mut take)?;
    }
    let mut parts = array_from_raw(array.data_type(), raw.finish(), &pool)?.parts;
    assert_eq!(parts.len(), 1);
    Ok(parts.remove(0))
}

fn arrays() -> Vec<(&'static str, ArrayRef)> {
    let rows = 10_000usize;
    let null = |i: usize, one_in: usize| one_in > 0 && (i * 7919).is_multiple_of(one_in);
    let mut arrays: Vec<(&'static str, ArrayRef)> = Vec::new();
    for (name, one_in) in [
        ("no nulls", 0),
        ("few nulls", 50),
        ("many nulls", 2),
        ("all null", 1),
    ] {
        arrays.push((
            name,
            Arc::new(Int64Array::from_iter(
                (0..rows).map(|i| (!null(i, one_in)).then_some(i as i64 * 3 - 5)),
            )),
        ));
        arrays.push((
            name,
            Arc::new(BooleanArray::from_iter(
                (0..rows).map(|i| (!null(i, one_in)).then_some(i % 3 == 0)),
            )),
        ));
        arrays.push((
            name,
            Arc::new(StringArray::from_iter((0..rows).map(|i| {
                (!null(i, one_in)).then(|| format!("{}{}", "é".repeat(i % 7), i))
            }))),
        ));
    }
    // Long runs of nulls, so that whole blocks are all valid or all null.
    arrays.push((
        "runs of nulls",
        Arc::new(Int64Array::from_iter(
            (0..rows).map(|i| (i / 2500 % 2 == 0).then_some(i as i64)),
        )),
    ));
    arrays.push((
        "wide",
        Arc::new(
            FixedSizeBinaryArray::try_from_sparse_iter_with_size(
                (0..3000usize).map(|i| (i % 5 != 0).then(|| vec![i as u8; 100])),
                100,
            )
            .unwrap(),
        ),
    ));
    arrays.push((
        "one giant among empty ones",
        Arc::new(BinaryArray::from_iter_values(
            (0..2000).map(|i| if i == 777 { vec![9u8; 100_000] } else { vec![] }),
        )),
    ));
    arrays.push(("one row", Arc::new(Int64Array::from(vec![Some(5)]))));
    arrays.push(("one null", Arc::new(StringArray::from(vec![None::<&str>]))));
    arrays
}

#[test]
fn whole_pages_come_back() {
    for (name, array) in arrays() {
        for uniform in [false, true] {
            let page = encode(array.as_ref(), uniform);
            assert_eq!(
                block_rows(&page)
                    .iter()
                    .map(|rows| u64::from(*rows))
                    .sum::<u64>(),
                page.rows
            );
            assert_eq!(page.null_count as usize, array.null_count(), "{name}");
            let back = decode(&page, array.as_ref(), array.len(), 1 << 20, |_, _| {
                Selection::All
            })
            .unwrap();
            assert_eq!(&back, &array, "{name}");
        }
    }
}

#[test]
fn ranges_and_indices_of_every_block_come_back() {
    for (name, array) in arrays() {
        let page = encode(array.as_ref(), false);
        let rows = block_rows(&page);
        let mut first = 0;
        let starts: Vec<usize> = rows
            .iter()
            .map(|rows| {
                first += *rows as usize;
                first - *rows as usize
            })
            .collect();
        // The middle third of every block.
        let range = |rows: u32| (rows / 3, rows / 3 + rows.div_ceil(3).min(rows - rows / 3));
        let back = decode(&page, array.as_ref(), array.len(), 1 << 20, |_, rows| {
            let (start, end) = range(rows);
            Selection::Range {
                start,
                len: end - start,
            }
        })
        .unwrap();
        let parts: Vec<ArrayRef> = rows
            .iter()
            .zip(&starts)
            .map(|(rows, at)| {
                let (start, end) = range(*rows);
                array.slice(at + start as usize, (end - start) as usize)
            })
            .collect();
        let refs: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
        let want = arrow_select::concat::concat(&refs).unwrap();
        assert_eq!(&back, &want, "{name}");

        let picked: Vec<Vec<u32>> = rows
            .iter()
            .map(|rows| {
                let mut picked: Vec<u32> = (0..40u32)
                    .map(|i| (i * i * 31) % rows)
                    .chain([0, rows - 1, rows - 1])
                    .collect();
                picked.sort_unstable();
                picked
            })
            .collect();
        let total = picked.iter().map(Vec::len).sum();
        let back = decode(&page, array.as_ref(), total, 16 << 20, |i, _| {
            Selection::Indices(&picked[i])
        })
        .unwrap();
        let places: arrow_array::UInt64Array = picked
            .iter()
            .zip(&starts)
            .flat_map(|(picked, at)| picked.iter().map(move |i| (*at + *i as usize) as u64))
            .collect();
        let want = arrow_select::take::take(array.as_ref(), &places, None).unwrap();
        assert_eq!(&back, &want, "{name}");
    }
}

#[test]
fn the_same_rows_give_the_same_bytes_however_they_arrived() {
    for (name, array) in arrays() {
        let longer = arrow_select::concat::concat(&[
            array.slice(0, 1.min(array.len())).as_ref(),
            array.as_ref(),
        ])
        .unwrap();
        let sliced = longer.slice(1.min(array.len()), array.len());
        let (a, b) = (
            encode(array.as_ref(), false),
            encode(sliced.as_ref(), false),
        );
        assert_eq!(a.bytes, b.bytes, "{name}");
        assert_eq!(a.meta, b.meta, "{name}");
    }
}

#[test]
fn blocks_stay_within_the_target() {
    for (name, array) in arrays() {
        let page = encode(array.as_ref(), false);
        for (i, rows) in block_rows(&page).into_iter().enumerate() {
            let bytes = page.block(i).len();
            assert!(
                bytes <= 32 * 1024 + 40 || rows == 1,
                "{name}: block {i} of {rows} rows has {bytes} bytes"
            );
            assert_eq!(bytes % 8, 0);
        }
    }
}

#[test]
fn mutated_blocks_are_refused_or_decode_to_something() {
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed as usize
    };
    for (_, array) in arrays() {
        let page = encode(array.as_ref(), false);
        for _ in 0..300 {
            let mut bad = page.clone();
            for _ in 0..1 + next() % 3 {
                // Mostly headers, since the values of these encodings may be anything.
                let block = next() % bad.starts.len();
                let at = bad.starts[block] as usize + next() % 48;
                if let Some(byte) = bad.bytes.get_mut(at) {
                    *byte = next() as u8;
                }
            }
            let _ = decode(&bad, array.as_ref(), array.len(), 1 << 20, |_, _| {
                Selection::All
            });
            let _ = decode(&bad, array.as_ref(), array.len(), 1 << 20, |_, rows| {
                Selection::Range {
                    start: rows / 2,
                    len: rows - rows / 2,
                }
            });
        }
    }
}

#[test]
fn draining_keeps_the_rest() {
    for (name, array) in arrays() {
        let mut leaf = LeafBuffer::flat(array.data_type()).unwrap();
        leaf.push(array.as_ref()).unwrap();
        let cut = array.len() * 5 / 11;
        leaf.drain(cut).unwrap();
        assert_eq!(leaf.rows(), array.len() - cut);
        let mut fresh = LeafBuffer::flat(array.data_type()).unwrap();
        fresh.push(&array.slice(cut, array.len() - cut)).unwrap();
        assert_eq!(leaf.logical_bytes(), fresh.logical_bytes(), "{name}");
        let rest = array.slice(cut, array.len() - cut);
        let page = encode(rest.as_ref(), false);
        let registry = registry();
        let context = EncodeContext {
            registry: &registry,
            memory: None,
            chooser: &Plain {
                uniform_strings: false,
            },
            checksum,
            erasable: false,
        };
        let drained = encode_page(leaf.page(0..leaf.rows()).unwrap().unwrap(), &context).unwrap();
        assert_eq!(drained.bytes, page.bytes, "{name}");
        assert!(leaf.drain(array.len()).is_err() || cut == 0);
    }
}
