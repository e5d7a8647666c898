//! Parsers of metadata. Each gets either the input's bytes or a changed copy of what a writer wrote, with the checksum
//! made right: else nothing behind it would ever be tried. What parses must be what its writer writes.

use std::ops::Range;
use std::sync::OnceLock;

use tarsia_codec::Tree;
use tarsia_codec::toolbox::ByteReader;
use tarsia_compliance::{Change, FileState, JOURNAL_FIRST_PLACE, Journal, RowSet};
use tarsia_metadata::{
    BlockTable, Bucket, Buckets, ColumnMeta, ColumnSource, FileBounds, Footer, Header, MovedBlock,
    NodeRecord, PageDescriptor, PageMeta, Postscript, Records, SlotView, crc32c, limits,
    moved_blocks, moved_to_bytes, n_leaves, read_field, read_schema, write_schema,
};
use tarsia_structure::Meta;
use tarsia_testkit::fuzzing::{Input, accepted};
use tarsia_testkit::memory::measure;

use crate::file::bases;

/// Bytes that parsers may allocate: this, and this many times the bytes they were given.
const ALLOCATED_BYTES_MAX: u64 = 1 << 16;
const ALLOCATED_TIMES_MAX: u64 = 64;

/// The metadata of one well-formed file, cut up.
struct MetadataParts {
    header: Vec<u8>,
    postscript_bytes: Vec<u8>,
    postscript: Postscript,
    footer: Vec<u8>,
    bounds: FileBounds,
    n_nodes: u32,
    records: Vec<u8>,
    records_place: u64,
    record_ranges: Vec<Range<usize>>,
    buckets: Buckets,
    bucket: Vec<u8>,
    columns: Vec<Vec<u8>>,
    tables: Vec<(Vec<u8>, PageDescriptor)>,
    metas: Vec<Vec<u8>>,
}

impl MetadataParts {
    fn of(bytes: &[u8]) -> Self {
        let cut = |range: Range<u64>| bytes[range.start as usize..range.end as usize].to_vec();
        let end = bytes.len() as u64;
        let postscript_bytes = cut(end - limits::POSTSCRIPT_BYTES as u64..end);
        let footer = cut(Postscript::footer_range(&postscript_bytes, end).expect("postscript"));
        let postscript = Postscript::parse(&postscript_bytes, end, &footer).expect("postscript");
        let parsed = Footer::parse(&footer, &postscript, &[]).expect("footer");
        let bounds = parsed.bounds(&postscript);
        let records_range = parsed.records_range(&postscript);
        let records = cut(records_range.clone());
        let mut walk = Records::new(&records, parsed.n_nodes);
        let mut record_ranges = Vec::new();
        let mut at = 0;
        while let Some(record) = walk.next() {
            record.expect("record");
            record_ranges.push(at..walk.position());
            at = walk.position();
        }
        let schema = read_schema(&records, records_range.start, parsed.n_nodes).expect("schema");
        let (mut columns, mut tables) = (Vec::new(), Vec::new());
        let mut metas: Vec<_> = parsed.metas.iter().map(|meta| meta.bytes.clone()).collect();
        for record in &schema.columns {
            match record.source {
                ColumnSource::Meta { place, length, .. } => {
                    columns.push(cut(place..place + u64::from(length)));
                }
                ColumnSource::Inside { bytes } => columns.push(bytes.to_vec()),
                ColumnSource::Page { .. } | ColumnSource::Empty => {}
            }
            let read = |range| Ok::<_, tarsia_metadata::Error>(cut(range));
            let meta = ColumnMeta::load(record, &bounds, read).expect("column");
            for description in &meta.descriptions {
                if let PageMeta::Own(blob) = &description.meta {
                    metas.push(blob.bytes.clone());
                }
            }
            for page in meta.pages.iter().chain(&meta.shared_pages) {
                tables.push((page.table_range().map(cut).unwrap_or_default(), *page));
            }
        }
        let buckets = parsed.buckets(&postscript).expect("buckets");
        Self {
            header: bytes[..limits::HEADER_BYTES].to_vec(),
            records_place: records_range.start,
            bucket: cut(buckets.bucket_range(0)),
            metas,
            n_nodes: parsed.n_nodes,
            postscript_bytes,
            postscript,
            footer,
            bounds,
            records,
            record_ranges,
            buckets,
            columns,
            tables,
        }
    }
}

/// The parts of one of the base files.
fn parts(input: &mut Input<'_>) -> &'static MetadataParts {
    static PARTS: OnceLock<Vec<MetadataParts>> = OnceLock::new();
    let all = PARTS.get_or_init(|| {
        bases()
            .iter()
            .map(|base| MetadataParts::of(&base.bytes))
            .collect()
    });
    input.pick(all)
}

/// Either the input's own bytes or a changed copy of `written`.
pub(crate) fn bytes_of(input: &mut Input<'_>, written: &[u8]) -> Vec<u8> {
    match input.below(4) {
        0 => input.rest().to_vec(),
        1 => {
            // The beginning of what was written, then anything.
            let kept = input.below(written.len() + 1);
            [&written[..kept], input.rest()].concat()
        }
        _ => {
            let mut bytes = written.to_vec();
            input.edit(&mut bytes);
            bytes
        }
    }
}

/// Stores at `at` the checksum of `parts` of `bytes`, as far as they exist.
pub(crate) fn seal(bytes: &mut [u8], at: usize, parts: &[Range<usize>]) {
    let covered: Vec<&[u8]> = parts
        .iter()
        .map(|part| {
            bytes
                .get(part.start..part.end.min(bytes.len()))
                .unwrap_or_default()
        })
        .collect();
    let crc = crc32c(&covered);
    if let Some(field) = bytes.get_mut(at..at + 4) {
        field.copy_from_slice(&crc.to_le_bytes());
    }
}

/// Parses and holds the parser to its memory.
pub(crate) fn parse<T>(n_bytes: usize, parse: impl FnOnce() -> T) -> T {
    let (parsed, allocated) = measure(parse);
    let bound = ALLOCATED_BYTES_MAX + ALLOCATED_TIMES_MAX * n_bytes as u64;
    assert!(
        allocated.bytes <= bound,
        "parsing {n_bytes} bytes allocates {allocated:?}"
    );
    parsed
}

/// Journals of modifications.
pub fn journal(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut place = JOURNAL_FIRST_PLACE;
    let mut changes = Vec::new();
    for _ in 0..input.below(5) {
        place += input.below(1000) as u64;
        let length = 1 + input.below(40);
        changes.push(match input.one_in(2) {
            true => Change::Write {
                place,
                bytes: vec![input.u8(); length],
            },
            false => Change::Zero {
                place,
                length: length as u64,
            },
        });
        place += length as u64;
    }
    let before = FileState {
        file_id: [input.u8(); 16],
        epoch: 1 + input.below(9) as u64,
        file_bytes: 256 + input.below(9000) as u64,
        postscript: [input.u8(); 64],
    };
    let record = vec![input.u8(); input.below(20)];
    let written = Journal::new(before, changes, place, record).expect("changes that rise");
    let bytes = bytes_of(&mut input, &written.to_bytes());
    if let Ok(journal) = parse(bytes.len(), || Journal::parse(&bytes)) {
        accepted();
        assert_eq!(journal.to_bytes(), bytes, "a journal has one form");
    }
}

/// Lists of blocks that moved.
pub fn moved(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let late = 192..1 << 20;
    let mut start = late.start;
    let blocks: Vec<MovedBlock> = (0..input.below(5) as u32)
        .map(|block| {
            start += 8 * input.below(100) as u64;
            let range = start..start + 32 + 8 * input.below(100) as u64;
            start = range.end;
            let (leaf, page) = (0, 1 << 31);
            MovedBlock {
                leaf,
                page,
                block,
                range,
            }
        })
        .collect();
    let written = moved_to_bytes(&blocks, late.clone()).expect("blocks in order");
    let bytes = bytes_of(&mut input, &written);
    if let Ok(blocks) = parse(bytes.len(), || moved_blocks(&bytes, late.clone())) {
        accepted();
        let again = moved_to_bytes(&blocks, late).expect("blocks that were read");
        assert_eq!(again, bytes, "a list has one form");
    }
}

/// Sets of rows.
pub fn row_set(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let rows = 1 << 33;
    let mut set = RowSet::new();
    for _ in 0..input.below(6) {
        let start = input.number() % rows;
        let end = (start + input.number() % 100_000).min(rows);
        set.insert_range(start..end);
    }
    let bytes = bytes_of(&mut input, &set.to_bytes());
    if let Ok(set) = parse(bytes.len(), || RowSet::parse(&bytes, rows)) {
        accepted();
        assert!(set.last().is_none_or(|last| last < rows));
        let again = RowSet::parse(&set.to_bytes(), rows).expect("a set that was read");
        assert_eq!(again, set);
    }
}

/// The header with its slots.
pub fn header(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let file_bytes = input.number();
    let keep_crcs = input.u8();
    let mut bytes = bytes_of(&mut input, &parts(&mut Input::new(&[])).header);
    for (i, start) in [0, 64, 128].into_iter().enumerate() {
        // A slot of zeros was never written; and a torn one is worth seeing.
        let end = start + 60;
        let is_empty = start > 0
            && bytes
                .get(start..end)
                .is_some_and(|slot| slot.iter().all(|byte| *byte == 0));
        if keep_crcs >> i & 1 == 0 && !is_empty {
            seal(&mut bytes, end, std::slice::from_ref(&(start..end)));
        }
    }
    let Ok(header) = parse(bytes.len(), || Header::parse(&bytes)) else {
        return;
    };
    accepted();
    if let Ok(committed) = header.committed(file_bytes) {
        assert!(
            committed.bytes <= file_bytes && committed.bytes <= limits::U48_MAX,
            "{committed:?} of {file_bytes}"
        );
    }
    let is_torn = header
        .slots
        .iter()
        .any(|slot| matches!(slot, SlotView::Torn { .. }));
    if !is_torn {
        assert_eq!(
            header.to_bytes().expect("what was parsed")[..],
            bytes[..limits::HEADER_BYTES]
        );
    }
}

/// The postscript, with any footer in front of it.
pub fn postscript(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let parts = parts(&mut input);
    let footer = match input.below(3) {
        0 => vec![0; input.below(40)],
        _ => parts.footer.clone(),
    };
    let mut end = match input.below(4) {
        0 => input.number(),
        _ => parts.postscript.committed_bytes,
    };
    let mut bytes = bytes_of(&mut input, &parts.postscript_bytes);
    let keep = input.u8();
    if keep & 3 != 3 && bytes.len() >= limits::POSTSCRIPT_BYTES {
        if keep & 4 == 0 {
            bytes[60..64].copy_from_slice(b"TRSA");
            bytes[22..24].copy_from_slice(&((footer.len() / 8) as u16).to_le_bytes());
            // Any length that the field itself states, so that files of any size are tried.
            end = ByteReader::new(&bytes).uint(6, "length").expect("6 bytes");
        }
        let crc = crc32c(&[&footer, &bytes[..56]]);
        bytes[56..60].copy_from_slice(&crc.to_le_bytes());
    }
    if let Ok(range) = Postscript::footer_range(&bytes, end) {
        assert!(
            range.start <= range.end && range.end <= end,
            "a footer at {range:?} of {end}"
        );
    }
    let Ok(parsed) = parse(bytes.len() + footer.len(), || {
        Postscript::parse(&bytes, end, &footer)
    }) else {
        return;
    };
    accepted();
    assert_eq!(
        parsed.to_bytes(&footer).expect("what was parsed")[..],
        bytes[..limits::POSTSCRIPT_BYTES]
    );
    parsed
        .bytes_for_root_digest(&footer)
        .expect("what was parsed");
}

/// The footer's FlatBuffer.
pub fn footer(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let parts = parts(&mut input);
    let mut postscript = parts.postscript;
    if input.one_in(8) {
        postscript.bucket_place = input.number();
        postscript.buckets_log2 = input.u8();
    }
    let bytes = bytes_of(&mut input, &parts.footer);
    postscript.footer_bytes = bytes.len() as u32;
    let Ok(footer) = parse(bytes.len(), || Footer::parse(&bytes, &postscript, &[])) else {
        return;
    };
    accepted();
    let records = footer.records_range(&postscript);
    assert!(
        footer.meta_place <= records.start && records.end <= footer.tree_place,
        "records at {records:?}"
    );
    for section in &footer.sections {
        assert!(section.range.start <= section.range.end && section.range.end <= footer.tree_place);
    }
    if let Ok(buckets) = footer.buckets(&postscript) {
        for index in [0, 1, buckets.count() - 1] {
            let range = buckets.bucket_range(index);
            assert!(
                range.start <= range.end && range.end <= footer.tree_place,
                "bucket {index} at {range:?}"
            );
        }
    }
    // FlatBuffers have many spellings; what they say has one.
    let again = footer
        .to_bytes()
        .expect("a footer that was parsed can be written");
    assert_eq!(Footer::parse(&again, &postscript, &[]), Ok(footer));
}

/// A bucket of paths.
pub fn bucket(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let parts = parts(&mut input);
    let mut buckets = parts.buckets;
    let mut bytes = bytes_of(&mut input, &parts.bucket);
    let index = match input.below(3) {
        0 => input.u32(),
        _ => 0,
    };
    if input.one_in(3) {
        // Buckets of any number and size.
        let log2 = input.u8() % 26;
        let size = match log2 {
            0 => bytes.len() as u64,
            log2 => 4096 << log2,
        };
        match Buckets::new(
            log2,
            parts.postscript.bucket_place,
            parts.postscript.bucket_place + size,
        ) {
            Ok(other) => buckets = other,
            Err(_) => return,
        }
        if log2 > 0 {
            bytes.resize(limits::BUCKET_BYTES, 0);
        }
    }
    let n_entries = ByteReader::new(&bytes).u32("entries").unwrap_or_default() as usize;
    let entries = 16..16 + n_entries.min(bytes.len()) * 16;
    seal(&mut bytes, 4, &[0..4, entries]);
    let Ok(bucket) = parse(bytes.len(), || Bucket::parse(&bytes, &buckets, index)) else {
        return;
    };
    accepted();
    let mut n = 0;
    for entry in bucket.entries() {
        n += 1;
        assert!(
            entry.place < buckets.bucket_range(0).start,
            "{entry:?} lies behind the records"
        );
        assert!(
            bucket.lookup(entry.hash).any(|found| found == entry),
            "{entry:?} is not found"
        );
        assert_eq!(buckets.index(entry.hash), index);
    }
    assert_eq!(n, n_entries);
}

fn seal_record(bytes: &mut [u8]) {
    let length = ByteReader::new(bytes).u32("length").unwrap_or_default() as usize;
    seal(bytes, 4, std::slice::from_ref(&(8..length.max(8))));
}

/// Seals records back to back, as far as they have lengths.
fn seal_records(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(rest) = bytes.get_mut(at..).filter(|rest| rest.len() >= 8) {
        seal_record(rest);
        match NodeRecord::length(rest) {
            Ok(length) => at += length as usize,
            Err(_) => break,
        }
    }
}

/// One node record.
pub fn record(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let parts = parts(&mut input);
    let range = input.pick(&parts.record_ranges).clone();
    let mut bytes = bytes_of(&mut input, &parts.records[range]);
    seal_record(&mut bytes);
    let Ok(record) = parse(bytes.len(), || NodeRecord::parse(&bytes)) else {
        return;
    };
    accepted();
    let length = NodeRecord::length(&bytes).expect("a record's length") as usize;
    let mut again = Vec::new();
    record
        .write_to(&mut again)
        .expect("a record that was parsed can be written");
    assert_eq!(again, bytes[..length]);
    let _ = (record.name(), record.display_path(), record.metadata_map());
    let _ = record.to_field();
    if let Some(column) = &record.column {
        let read = |range: Range<u64>| -> Result<Vec<u8>, tarsia_metadata::Error> {
            let end = parts.bounds.tree_place;
            assert!(
                range.start <= range.end && range.end <= end,
                "{range:?} is read of {end}"
            );
            // What lies there is not the column's, so its checksum will not hold.
            Ok(vec![0; (range.end - range.start) as usize])
        };
        if let Ok(meta) = ColumnMeta::load(column, &parts.bounds, read) {
            check_pages(&meta, &parts.bounds);
        }
    }
}

/// All records of a table.
pub fn schema(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let parts = parts(&mut input);
    let n_nodes = match input.below(8) {
        0 => input.number() as u32,
        _ => parts.n_nodes,
    };
    let mut bytes = bytes_of(&mut input, &parts.records);
    if let Some(range) = parts
        .record_ranges
        .get(input.below(parts.record_ranges.len()))
        && input.one_in(2)
        && let Some(record) = bytes.get_mut(range.clone())
    {
        // Any record's own header, not the root's alone.
        input.overwrite(record);
    }
    seal_records(&mut bytes);
    let Ok(table) = parse(bytes.len(), || {
        read_schema(&bytes, parts.records_place, n_nodes)
    }) else {
        return;
    };
    accepted();
    let again = write_schema(&table.schema, &table.columns, parts.records_place)
        .expect("a schema that was read can be written");
    assert!(
        again.records == bytes,
        "the records of {:?} differ",
        table.schema
    );
    assert_eq!(again.n_nodes, n_nodes);
}

/// A field with all its descendants, as one that was looked up by its name is read.
pub fn field(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let parts = parts(&mut input);
    let index = input.below(parts.record_ranges.len());
    let start = parts.record_ranges[index].start;
    let own = parts.record_ranges[index].clone();
    let written = NodeRecord::parse(&parts.records[own.clone()]).expect("a record");
    let below = written
        .descendants_range()
        .map_or(0, |range| range.end - range.start);
    let mut own_bytes = parts.records[own.clone()].to_vec();
    let mut descendants = parts.records[own.end..own.end + below as usize].to_vec();
    for _ in 0..input.below(3) {
        let record = match input.below(3) {
            0 => &mut own_bytes[..],
            // Any of the records below, so that its own header is hit too.
            _ => {
                let at = parts.record_ranges[index..]
                    .iter()
                    .take_while(|range| range.end <= own.end + below as usize)
                    .count();
                let hit = parts.record_ranges[index + input.below(at)].clone();
                match hit.start == start {
                    true => &mut own_bytes[..],
                    false => &mut descendants[hit.start - own.end..hit.end - own.end],
                }
            }
        };
        input.overwrite(record);
    }
    seal_record(&mut own_bytes);
    seal_records(&mut descendants);
    let Ok(record) = NodeRecord::parse(&own_bytes) else {
        return;
    };
    let place = match input.below(8) {
        0 => input.number(),
        _ => record.descendants_range().map_or(0, |range| range.start),
    };
    if input.one_in(8) {
        input.edit(&mut descendants);
    }
    let n_bytes = own_bytes.len() + descendants.len();
    let Ok(found) = parse(n_bytes, || read_field(&record, &descendants, place)) else {
        return;
    };
    accepted();
    let n_columns = found.columns.len() as u32;
    // The ends of runs and the fields of packed structs have no column.
    let below = record.children.map_or(0, |children| children.n_leaves);
    if record.column.is_none() && below == 0 {
        assert_eq!(n_columns, 0, "columns of what stores none");
        return;
    }
    let mut field = found.field;
    // Only at the top level are structs packed.
    if record.components().count() > 1 {
        field = field.with_metadata(Default::default());
    }
    assert_eq!(n_columns, n_leaves(&field), "columns");
    let schema = arrow_schema::Schema::new(vec![field]);
    let again = write_schema(&schema, &found.columns, 4096).expect("a field that was read");
    let table = read_schema(&again.records, 4096, again.n_nodes).expect("what was written");
    assert_eq!((table.schema, table.columns), (schema, found.columns));
}

/// Every page lies where pages may, and the rows are covered once.
fn check_pages(meta: &ColumnMeta, bounds: &FileBounds) {
    let mut row = 0;
    for page in &meta.pages {
        assert_eq!(page.first_row, row, "pages follow each other");
        row += u64::from(page.rows);
        let description = meta.description_of(page).expect("a description");
        let n_shared = meta.shared_pages.len();
        let mut shared = description.shared.iter();
        assert!(shared.all(|it| (*it as usize) < n_shared));
        if let PageMeta::Common(index) = description.meta {
            assert!(u32::from(index) < bounds.n_metas);
        }
    }
    assert!(
        meta.pages.is_empty() || row == bounds.rows,
        "{row} of {} rows",
        bounds.rows
    );
    for page in meta.pages.iter().chain(&meta.shared_pages) {
        let range = page.range();
        assert!(
            range.start >= limits::HEADER_BYTES as u64 && range.end <= bounds.meta_place,
            "a page at {range:?}"
        );
        if let (Some(table), Some(digests)) = (page.table_range(), page.digests_range()) {
            assert!(
                table.start >= bounds.meta_place
                    && table.end <= digests.start
                    && digests.end <= bounds.tree_place
            );
        }
    }
    for row in [0, bounds.rows / 2, bounds.rows.wrapping_sub(1), bounds.rows] {
        let page = meta.page_of_row(row);
        assert_eq!(
            page.is_some(),
            row < bounds.rows && !meta.pages.is_empty(),
            "row {row} of {}",
            bounds.rows
        );
    }
}

/// A column's FlatBuffer.
pub fn column(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut parts = parts(&mut input);
    if parts.columns.is_empty() {
        parts = self::parts(&mut Input::new(&[]));
    }
    let written = input.pick(&parts.columns);
    let bytes = bytes_of(&mut input, written);
    let Ok(meta) = parse(bytes.len(), || {
        ColumnMeta::parse(&bytes, crc32c(&[&bytes]), &parts.bounds)
    }) else {
        return;
    };
    accepted();
    check_pages(&meta, &parts.bounds);
    let again = meta
        .to_bytes(&parts.bounds)
        .expect("a column that was parsed can be written");
    assert_eq!(
        ColumnMeta::parse(&again, crc32c(&[&again]), &parts.bounds),
        Ok(meta)
    );
}

/// A block table.
pub fn block_table(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let parts = parts(&mut input);
    let Some((written, page)) = parts.tables.get(input.below(parts.tables.len())) else {
        return;
    };
    let mut page = *page;
    if input.one_in(4) {
        page.rows = input.number() as u32;
        page.n_blocks = input.number() as u32;
        page.length = input.number() as u32;
    }
    let mut bytes = bytes_of(&mut input, written);
    let end = bytes.len();
    if end >= 16 {
        if input.one_in(2) {
            bytes[..4].copy_from_slice(&page.n_blocks.to_le_bytes());
        }
        seal(&mut bytes, 8, &[0..8, 16..end]);
    }
    let Ok(table) = parse(bytes.len(), || BlockTable::parse(&bytes[..], &page)) else {
        return;
    };
    accepted();
    assert_eq!(
        (table.n_blocks(), table.n_rows()),
        (page.n_blocks, page.rows)
    );
    let last = page.n_blocks - 1;
    let some = [last / 2, last, page.n_blocks, input.u32()];
    for block in (0..page.n_blocks.min(130)).chain(some) {
        if let Ok(range) = table.block_range(block) {
            let inside = range.end <= page.length.into() && range.start.is_multiple_of(8);
            let large_enough = range.start + limits::BLOCK_BYTES_MIN <= range.end;
            assert!(
                block <= last && inside && large_enough,
                "block {block} at {range:?}"
            );
        }
        if let Ok(rows) = table.rows_of(block) {
            let n_rows = rows.end - rows.start;
            let inside = rows.end <= page.rows;
            assert!(
                block <= last && inside && (1..=limits::BLOCK_ROWS_MAX).contains(&n_rows),
                "block {block} has {rows:?}"
            );
        }
    }
    for row in [
        0,
        1,
        page.rows / 2,
        page.rows.wrapping_sub(1),
        page.rows,
        input.u32(),
    ] {
        if let Ok(block) = table.block_of_row(row) {
            assert!(
                block < page.n_blocks && row < page.rows,
                "row {row} in block {block}"
            );
            assert!(
                table.rows_of(block).is_ok_and(|rows| rows.contains(&row)),
                "row {row} is not in block {block}"
            );
        }
    }
}

/// A page description with its trees.
pub fn page(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let parts = parts(&mut input);
    let written = match parts.metas.get(input.below(parts.metas.len())) {
        Some(written) => written,
        None => &parts.header,
    };
    let bytes = bytes_of(&mut input, written);
    // A tree alone, wherever it starts.
    let mut reader = ByteReader::new(&bytes);
    let _ = reader.take(input.below(40), "skipped");
    let start = reader.position();
    if let Ok(tree) = parse(bytes.len(), || Tree::parse(&mut reader)) {
        let mut again = Vec::new();
        tree.write_to(&mut again)
            .expect("a tree that was parsed can be written");
        assert_eq!(again, bytes[start..reader.position()]);
    }
    let Ok(meta) = parse(bytes.len(), || Meta::parse(&bytes)) else {
        return;
    };
    accepted();
    let mut again = Vec::new();
    meta.write_to(&mut again)
        .expect("a description that was parsed can be written");
    assert_eq!(again, bytes);
    let _ = tarsia_structure::PageDecoder::new(tarsia::registry(), &meta, &[]);
}

/// A type's spelling.
pub fn data_type(bytes: &[u8]) {
    const SPELLINGS: [&str; 16] = [
        "n",
        "b",
        "l",
        "e",
        "u",
        "vz",
        "d:15,2",
        "d:9,2,32",
        "d:76,20,256",
        "w:16",
        "tsu:UTC",
        "tss:",
        "tDn",
        "tin",
        "Di,u",
        "DL,d:5,-3",
    ];
    let mut input = Input::new(bytes);
    let spelling = input.pick(&SPELLINGS).as_bytes();
    let spelling = bytes_of(&mut input, spelling);
    let Ok(spelling) = std::str::from_utf8(&spelling) else {
        return;
    };
    let Ok(data_type) = parse(spelling.len(), || tarsia_metadata::parse_type(spelling)) else {
        return;
    };
    accepted();
    assert_eq!(
        tarsia_metadata::format_string(&data_type).as_deref(),
        Ok(spelling)
    );
}
