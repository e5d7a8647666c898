//! The promise of `verify`: where it finds nothing, everything else works. Files that tell one lie each, of a seed.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, UInt64Array};
use tarsia::{EmbedKernels, File, OpenOptions, Threads, WriteOptions};
use tarsia_arrow::reorder;
use tarsia_testkit::nested::batch_logical_difference;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::seal::Seals;

use crate::common::{open, open_with, write};
use crate::corrupt::{exercise, indexed_sample, nested_sample_with, sample};

/// How a file was read.
fn one_thread() -> OpenOptions {
    OpenOptions::new().with_threads(Threads::One)
}

/// The whole table in one batch.
fn whole(file: &File) -> Result<RecordBatch, String> {
    let scan = file.scan().build().map_err(|error| error.to_string())?;
    let schema = scan.schema();
    let batches = scan.collect::<Result<Vec<_>, _>>();
    let batches = batches.map_err(|error| error.to_string())?;
    arrow_select::concat::concat_batches(&schema, &batches).map_err(|error| error.to_string())
}

/// Everything that a command asks of a file; what comes agrees with itself.
fn check_promise(bytes: &[u8]) -> Result<(), String> {
    let file = open_with(bytes, one_thread()).map_err(|error| error.to_string())?;
    let text = |error: tarsia::Error| error.to_string();
    exercise(&file).map_err(text)?;
    file.capture_layout().map_err(text)?;
    let native = whole(&file)?;
    let schema = file.schema().map_err(text)?;
    for (field, column) in schema.fields().iter().zip(native.columns()) {
        let named = [field.name()];
        let scan = file.scan().columns(&named).build().map_err(text)?;
        let rows: usize = scan
            .map(|batch| batch.map(|batch| batch.num_rows()))
            .sum::<Result<usize, _>>()
            .map_err(|error| error.to_string())?;
        assert_eq!(rows, column.len());
        file.inspect_columns(field.name()).map_err(text)?;
        file.verify_column(field.name()).map_err(text)?;
    }
    let differs = |what: &str, other: &RecordBatch, than: &RecordBatch| {
        batch_logical_difference(other, than).map_err(|error| format!("{what}: {error}"))
    };
    let n_rows = native.num_rows() as u64;
    let rows: Vec<u64> = (0..n_rows.min(40)).map(|i| i * 977 % n_rows).collect();
    let taken = file.take(&rows).read().map_err(text)?;
    let places = UInt64Array::from(rows);
    for (i, (taken, column)) in taken.columns().iter().zip(native.columns()).enumerate() {
        let expected = reorder(column, &places).map_err(|error| error.to_string())?;
        let field = schema.field(i).clone();
        let one = |array| {
            let schema = arrow_schema::Schema::new(vec![field.clone()]);
            RecordBatch::try_new(Arc::new(schema), vec![array]).map_err(|error| error.to_string())
        };
        differs("take", &one(taken.clone())?, &one(expected)?)?;
    }
    let views = open_with(bytes, one_thread().with_views(true)).map_err(text)?;
    assert_eq!(whole(&views)?.num_rows(), native.num_rows());
    #[cfg(feature = "kernels")]
    {
        let forced = one_thread().with_kernels(tarsia::Kernels::Forced);
        let forced = open_with(bytes, forced).map_err(text)?;
        let by_kernel = whole(&forced).map_err(|error| format!("by kernels: {error}"))?;
        differs("by kernels", &by_kernel, &native)?;
    }
    Ok(())
}

/// Places at which files lie: headers of blocks, and everything that is not a page.
struct Places {
    headers: Vec<usize>,
    others: Vec<Range<usize>>,
    len: usize,
}

impl Places {
    fn of(bytes: &[u8]) -> Self {
        let inspection = open(bytes).unwrap().inspect().unwrap();
        let of = |name: &str| {
            let mut regions = inspection.layout.iter();
            let region = regions.find(|region| region.name == name).unwrap();
            region.place as usize..(region.place + region.bytes) as usize
        };
        let names = [
            "column metadata",
            "records",
            "buckets",
            "footer",
            "postscript",
        ];
        let mut others: Vec<_> = names.iter().map(|name| of(name)).collect();
        others.retain(|range| !range.is_empty());
        Self {
            headers: Seals::of(bytes).blocks().map(|block| block.start).collect(),
            others,
            len: bytes.len(),
        }
    }

    fn any(&self, rng: &mut Rng) -> usize {
        match rng.below(8) {
            0..4 => self.headers[rng.below(self.headers.len())] + 4 + rng.below(28),
            4..7 => {
                let range = &self.others[rng.below(self.others.len())];
                range.start + rng.below(range.len())
            }
            _ => rng.below(self.len),
        }
    }
}

fn check_lies(bytes: &[u8], n: u32, seed: u64) {
    let (seals, places) = (Seals::of(bytes), Places::of(bytes));
    check_promise(bytes).unwrap();
    let mut rng = Rng::new(seed);
    let (mut n_believed, mut n_refused) = (0, 0);
    for i in 0..n {
        let mut lied = bytes.to_vec();
        let at = places.any(&mut rng);
        lied[at] = match rng.below(4) {
            0 => rng.u8(),
            1 => lied[at].wrapping_add(1),
            2 => lied[at].wrapping_sub(1),
            _ => lied[at] ^ (1 << rng.below(8)),
        };
        seals.reseal(&mut lied);
        if lied == bytes {
            continue;
        }
        let verified = open_with(&lied, one_thread()).and_then(|file| file.verify());
        if verified.is_err() {
            n_refused += 1;
            continue;
        }
        n_believed += 1;
        if let Err(broken) = check_promise(&lied) {
            let from = bytes[at];
            let to = lied[at];
            panic!("lie {i}, byte {at} from {from} to {to}, is believed, and then: {broken}");
        }
    }
    assert!(
        n_believed > n / 200 && n_refused > n / 4,
        "{n_believed} believed, {n_refused} refused"
    );
}

fn with_kernels(batch: &RecordBatch, page_bytes: u64) -> Vec<u8> {
    let options = WriteOptions::new()
        .with_deterministic(true)
        .with_embed_kernels(EmbedKernels::Embed)
        .with_page_bytes(page_bytes);
    write(batch.schema(), std::slice::from_ref(batch), options)
}

#[test]
fn flat_columns() {
    check_lies(&with_kernels(&sample().0, 9000), 3_000, 1);
}

#[test]
fn nested_columns() {
    check_lies(&nested_sample_with(EmbedKernels::Embed).1, 2_000, 2);
}

#[test]
fn strings_row_by_row() {
    check_lies(&with_kernels(&indexed_sample().0, 6000), 1_500, 3);
}

#[test]
fn vectors_nulls_and_decimals() {
    check_lies(
        &with_kernels(&crate::lies::table_with_nulls(), 1 << 20),
        600,
        4,
    );
    check_lies(&with_kernels(&crate::lies::decimals(), 1 << 20), 1_500, 5);
}
