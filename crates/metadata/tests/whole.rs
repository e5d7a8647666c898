//! All parts together: a file's metadata written and read back as the facade does it, and what it costs.

use arrow_schema::{DataType, Field, Schema};
use tarsia_codec::{Tree, Version};
use tarsia_metadata::limits::{HEADER_BYTES, POSTSCRIPT_BYTES};
use tarsia_metadata::{
    Bucket, Buckets, ColumnMeta, ColumnRecord, EncodingUse, Footer, Header, NodeRecord,
    PageDescription, PageDescriptor, PageMeta, Postscript, encode_path, path_hash, read_schema,
    unique_record, write_schema,
};

static COMMON: PageDescription = PageDescription {
    meta: PageMeta::Common(0),
    shared: Vec::new(),
};

const META: &[u8] = b"a META blob, opaque here";
const PAGE_BYTES: u64 = 48;
const ROWS: u64 = 5;

/// A file with pages of zeros; what the metadata says about it is real.
fn write_file(schema: &Schema) -> Vec<u8> {
    let header = Header::new([7; 16]);
    let mut file = header.to_bytes().unwrap().to_vec();
    let mut columns = Vec::new();
    for i in 0..schema.fields().len() {
        let page = PageDescriptor {
            first_row: 0,
            place: file.len() as u64,
            side_place: 0,
            epoch: 1,
            length: PAGE_BYTES as u32,
            rows: ROWS as u32,
            n_blocks: 1,
            side_length: 0,
            null_count: 0,
            description: 0,
            digest: [i as u8; 32],
        };
        file.resize(file.len() + PAGE_BYTES as usize, 0);
        columns.push(ColumnRecord::of_page(&page, &COMMON).unwrap());
    }
    let meta_place = file.len() as u64;
    let encoded = write_schema(schema, &columns, meta_place).unwrap();
    file.extend_from_slice(&encoded.records);
    let bucket_place = file.len() as u64;
    let (buckets_log2, buckets) = Buckets::build(encoded.entries).unwrap();
    file.extend_from_slice(&buckets);
    let tree_place = file.len() as u64;

    let version = Version::new(1, 0);
    let plain = Tree::leaf("tarsia.plain", version, &[]);
    let tree = Tree::node("tarsia.bytes", version, &[], vec![plain]);
    let footer = Footer {
        encodings: EncodingUse::of_trees([&tree]),
        metas: vec![tarsia_metadata::MetaBlob {
            bytes: META.to_vec(),
            kernel: None,
        }],
        meta_place,
        tree_place,
        n_nodes: encoded.n_nodes,
        n_leaves: encoded.n_leaves,
        n_columns: schema.fields().len() as u32,
        root_place: meta_place,
        root_bytes: encoded.root_bytes,
        created_by: "tarsia 0.1.0".into(),
        ..Footer::default()
    };
    let footer_bytes = footer.to_bytes().unwrap();
    let postscript = Postscript {
        committed_bytes: tree_place + (footer_bytes.len() + POSTSCRIPT_BYTES) as u64,
        rows: ROWS,
        buckets_log2,
        bucket_place,
        footer_bytes: footer_bytes.len() as u32,
        root_digest: [9; 32],
    };
    footer.check(&postscript).unwrap();
    file.extend_from_slice(&footer_bytes);
    file.extend_from_slice(&postscript.to_bytes(&footer_bytes).unwrap());
    let header = header.with_first_slot(file.len() as u64);
    file[..HEADER_BYTES].copy_from_slice(&header.to_bytes().unwrap());
    file
}

fn at(file: &[u8], range: std::ops::Range<u64>) -> &[u8] {
    &file[range.start as usize..range.end as usize]
}

fn open(file: &[u8]) -> (Postscript, Footer) {
    let header = Header::parse(file).unwrap();
    let end = header.committed(file.len() as u64).unwrap().bytes;
    let tail = at(file, end - POSTSCRIPT_BYTES as u64..end);
    let footer_bytes = at(file, Postscript::footer_range(tail, end).unwrap());
    let postscript = Postscript::parse(tail, end, footer_bytes).unwrap();
    let footer = Footer::parse(footer_bytes, &postscript, &[]).unwrap();
    footer.check_header(&header).unwrap();
    (postscript, footer)
}

/// Ordinal of the field and offset of its page, read as a projection of one column reads.
fn find(file: &[u8], name: &str) -> Option<(u32, u64)> {
    let (postscript, footer) = open(file);
    let path = encode_path([name]).unwrap();
    let hash = path_hash(&path);
    let buckets = footer.buckets(&postscript).unwrap();
    let bucket = at(file, buckets.range(hash));
    let bucket = Bucket::parse(bucket, &buckets, buckets.index(hash)).unwrap();
    let records = bucket.lookup(hash).map(|entry| {
        let bytes = u64::from(entry.range_bytes.unwrap());
        NodeRecord::parse(at(file, entry.place..entry.place + bytes)).unwrap()
    });
    let record = unique_record(&path, records).unwrap()?;
    let bounds = footer.bounds(&postscript);
    let column = ColumnMeta::load(&record.column.unwrap(), &bounds, |range| {
        Ok::<_, tarsia_metadata::Error>(at(file, range))
    });
    Some((record.ordinal, column.unwrap().pages[0].place))
}

fn schema(n_columns: usize) -> Schema {
    let field = |i| Field::new(format!("f{i:05}"), DataType::Float32, true);
    Schema::new((0..n_columns).map(field).collect::<Vec<_>>())
}

#[test]
fn a_file_of_one_column_costs_little() {
    let file = write_file(&schema(1));
    assert_eq!(find(&file, "f00000"), Some((1, HEADER_BYTES as u64)));
    assert_eq!(find(&file, "f00001"), None);
    let overhead = file.len() as u64 - PAGE_BYTES;
    println!("one column: {overhead} bytes of metadata");
    assert!(overhead < 1200, "{overhead}");
}

#[test]
fn twenty_thousand_columns_cost_less_than_160_bytes_each() {
    let n_columns = 20_000;
    let file = write_file(&schema(n_columns));
    let (postscript, footer) = open(&file);
    let records = footer.records_range(&postscript);
    let table = read_schema(at(&file, records.clone()), records.start, footer.n_nodes).unwrap();
    assert_eq!(table.schema, schema(n_columns));
    for i in [0, 1, 9_999, 19_999] {
        let place = HEADER_BYTES as u64 + i as u64 * PAGE_BYTES;
        assert_eq!(find(&file, &format!("f{i:05}")), Some((i + 1, place)));
    }
    let names = 6 * n_columns as u64;
    let share = (footer.tree_place - footer.root_place - names) as f64 / n_columns as f64;
    println!("{n_columns} columns: {share:.1} bytes of record and bucket each, name apart");
    assert!(share < 160.0, "{share}");
    let fixed = file.len() as u64 - (footer.tree_place - HEADER_BYTES as u64);
    assert!(
        fixed < 1024,
        "{fixed} bytes do not depend on the number of columns"
    );
}

#[test]
fn whatever_is_cut_or_flipped_opening_never_panics() {
    let file = write_file(&schema(3));
    let attempt = |file: &[u8]| -> tarsia_metadata::Result<()> {
        let end = Header::parse(file)?.committed(file.len() as u64)?.bytes;
        let part = |range: std::ops::Range<u64>| {
            file.get(range.start as usize..range.end as usize)
                .unwrap_or_default()
        };
        let tail = part(end - POSTSCRIPT_BYTES as u64..end);
        let footer_bytes = part(Postscript::footer_range(tail, end)?);
        let postscript = Postscript::parse(tail, end, footer_bytes)?;
        let footer = Footer::parse(footer_bytes, &postscript, &[])?;
        let records = footer.records_range(&postscript);
        let table = read_schema(part(records.clone()), records.start, footer.n_nodes)?;
        let bounds = footer.bounds(&postscript);
        for column in &table.columns {
            ColumnMeta::load(column, &bounds, |range| {
                Ok::<_, tarsia_metadata::Error>(part(range))
            })?;
        }
        let buckets = footer.buckets(&postscript)?;
        for index in 0..buckets.count() {
            Bucket::parse(part(buckets.bucket_range(index)), &buckets, index)?;
        }
        Ok(())
    };
    attempt(&file).unwrap();
    for len in 0..file.len() {
        assert!(attempt(&file[..len]).is_err(), "{len}");
    }
    // Pages have checksums of their own, and slot B is zero: a flip there is a torn write that does not count.
    let pages_end = HEADER_BYTES + 3 * PAGE_BYTES as usize;
    for bit in (0..128 * 8).chain(pages_end * 8..file.len() * 8) {
        let mut bad = file.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(attempt(&bad).is_err(), "bit {bit}");
    }
}
