//! The worked examples of `docs/spec/page.md`: what they say of each byte is what the encoders write, and the document
//! shows those bytes.
//!
//! Where the format changes, the examples here change by hand, and `TARSIA_BLESS=1 cargo test -p tarsia-arrow spec`
//! renews the document.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, FixedSizeListArray, Float64Array, Int32Array,
    ListArray, StringArray, StructArray,
};
use arrow_schema::{DataType, Field};
use tarsia_arrow::{LeafBuffer, Packing, leaf_paths};
use tarsia_codec::{DecodeCost, LogicalType, Registry, Result, Statistics, Values};
use tarsia_page_writer::{Choice, Choose, EncodeContext, EncodedPage, encode_page};

/// The simplest trees, and from how many bytes on rows lie one by one.
struct Plain(u32);

impl Choose for Plain {
    fn choose(&self, values: &Statistics<'_>) -> Result<Choice> {
        let tree = match (values.values(), values.facts().logical_type) {
            (_, LogicalType::Validity) => tarsia_bitmap::tree(),
            (Values::Bytes(_), _) => tarsia_bytes::tree(tarsia_plain::tree()),
            _ => tarsia_plain::tree(),
        };
        Ok(Choice {
            trees: vec![tree],
            bytes: 4 * values.len() as u64,
            uniform: true,
            block_bytes: tarsia_page_writer::BLOCK_PAYLOAD_BYTES_TARGET,
        })
    }

    fn full_zip_bytes_min(&self) -> u32 {
        // The examples' vectors are of 8 bytes, and their strings are shorter.
        self.0
    }
}

/// CRC-32C bit by bit, so that the examples hold what a reader must find.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 }
        })
    })
}

fn encode(array: &dyn Array) -> EncodedPage {
    encode_with(array, 8)
}

fn encode_with(array: &dyn Array, full_zip_bytes_min: u32) -> EncodedPage {
    let path = leaf_paths(array.data_type(), true).unwrap().remove(0);
    let mut leaf = LeafBuffer::new(array.data_type(), path);
    leaf.push(array).unwrap();
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default())
        .add_writer(&tarsia_bytes::BYTES, DecodeCost::default())
        .add_writer(&tarsia_bitmap::BITMAP, DecodeCost::default());
    let context = EncodeContext {
        registry: &registry,
        memory: None,
        chooser: &Plain(full_zip_bytes_min),
        checksum: crc32c,
        erasable: false,
    };
    let page = leaf.page(0..array.len()).unwrap().unwrap();
    encode_page(page, &context).unwrap()
}

/// Bytes with what each of them is. What is said is checked against what is there.
struct Dump<'a> {
    bytes: &'a [u8],
    at: usize,
    text: String,
}

impl<'a> Dump<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            text: "offset  bytes                    field              meaning\n".to_owned(),
        }
    }

    fn bytes(&mut self, want: &[u8], field: &str, meaning: &str) {
        let found = &self.bytes[self.at..][..want.len()];
        assert_eq!(found, want, "{field} at {}", self.at);
        for (line, bytes) in want.chunks(8).enumerate() {
            let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let (at, hex) = (self.at + 8 * line, hex.join(" "));
            let (field, meaning) = if line == 0 {
                (field, meaning)
            } else {
                ("", "")
            };
            let text = format!("{at:>6}  {hex:<23}  {field:<17}  {meaning}");
            writeln!(self.text, "{}", text.trim_end()).unwrap();
        }
        self.at += want.len();
    }

    fn u8(&mut self, want: u8, field: &str, meaning: &str) {
        self.bytes(&[want], field, meaning);
    }

    fn u16(&mut self, want: u16, field: &str, meaning: &str) {
        self.bytes(&want.to_le_bytes(), field, meaning);
    }

    fn u32(&mut self, want: u32, field: &str, meaning: &str) {
        self.bytes(&want.to_le_bytes(), field, meaning);
    }

    fn zeros(&mut self, n: usize, field: &str, meaning: &str) {
        self.bytes(&vec![0; n], field, meaning);
    }

    /// The header but for what differs: present rows are all rows.
    fn block_header(&mut self, rows: u32, values: (u32, &str), payload: u32, nulls: u32) {
        let end = 32 + payload as usize;
        let crc = crc32c(&self.bytes[4..end]);
        let covered = format!("of bytes 4 .. {end}");
        self.u32(crc, "CRC-32C", &covered);
        self.u8(0, "tree", "the first of the page's value trees");
        self.u8(0, "flags", "no salt");
        self.u16(0, "reserved", "");
        self.u32(rows, "logical rows", &rows.to_string());
        self.u32(rows, "present rows", &rows.to_string());
        self.u32(values.0, "values", values.1);
        let decoded = format!("{} values x 4", values.0);
        self.u32(4 * values.0, "decoded bytes", &decoded);
        self.u32(
            payload,
            "payload length",
            &format!("{payload}: up to {end}"),
        );
        self.u32(nulls, "null count", &nulls.to_string());
    }

    fn item_validity(&mut self, bits: u8, meaning: &str) {
        self.u8(0, "item validity", "tree 0");
        self.zeros(3, "reserved", "");
        self.u32(1, "length", "1 byte");
        self.u8(bits, "bits", meaning);
        self.zeros(7, "padding", "to 8");
    }

    /// A tree of one node.
    fn tree(&mut self, id: &str) {
        self.u8(id.len() as u8, "tree: id length", &id.len().to_string());
        self.bytes(id.as_bytes(), "id", &format!("\"{id}\""));
        self.bytes(&[1, 0, 0, 0], "version", "major 1, minor 0");
        let rest = "no parameters, shared buffers or children";
        self.bytes(&[0, 0, 0], "three counts", rest);
    }

    fn finish(self) -> String {
        assert_eq!(self.at, self.bytes.len(), "bytes that no field is said of");
        assert!(self.text.lines().count() <= 40, "too long to be read");
        self.text
    }
}

fn ints(values: &[i32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// `[[1, null, 3], null, [], [4, 5]]`
fn lists() -> ListArray {
    ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), None, Some(3)]),
        None,
        Some(vec![]),
        Some(vec![Some(4), Some(5)]),
    ])
}

#[test]
fn the_checksum_is_the_one_the_document_names() {
    // The check value of the catalogue of parametrised CRC algorithms.
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
}

#[test]
fn a_flat_block() {
    let page = encode(&Int32Array::from(vec![Some(7), None, Some(-1)]));
    let mut dump = Dump::new(page.block(0));
    dump.block_header(3, (2, "of 3 items 1 is null, the page is compact"), 24, 1);
    dump.item_validity(0b101, "rows 0 and 2 are valid");
    dump.bytes(&ints(&[7, -1]), "unit", "7, -1");
    compare("A flat block", &dump.finish());
}

#[test]
fn a_nested_block() {
    let page = encode(&lists());
    let mut dump = Dump::new(page.block(0));
    dump.block_header(4, (4, "of 5 items 1 is null, the page is compact"), 96, 1);
    dump.u32(
        0,
        "padding length",
        "no row decodes to much more than its payload",
    );
    dump.u32(0, "reserved", "");
    dump.u8(
        0,
        "validity level",
        "tree 0: of the lists, a slot for each row",
    );
    dump.zeros(3, "reserved", "");
    dump.u32(1, "length", "1 byte");
    dump.u32(3, "slots below", "3 lists are valid");
    dump.u32(0, "reserved", "");
    dump.u8(0b1101, "bits", "list 1 is null");
    dump.zeros(7, "padding", "to 8");
    dump.u8(0, "lengths level", "tree 0: a slot for each valid list");
    dump.zeros(3, "reserved", "");
    dump.u32(12, "length", "3 slots x 4 bytes");
    dump.u32(5, "slots below", "5 items");
    dump.u32(0, "reserved", "");
    dump.bytes(&ints(&[3, 0, 2]), "lengths", "3, 0 (the empty list), 2");
    dump.zeros(4, "padding", "to 8");
    dump.item_validity(0b11101, "item 1 is null");
    dump.bytes(&ints(&[1, 3, 4, 5]), "unit", "1, 3, 4, 5");
    compare("A nested block", &dump.finish());
}

/// `[1, 2], null, [5, 6], ...`: one in nine is null.
fn vectors() -> FixedSizeListArray {
    let rows = (0..9).map(|row| (row != 1).then(|| [2 * row + 1, 2 * row + 2].map(Some)));
    FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(rows, 2)
}

#[test]
fn a_full_zip_block() {
    let page = encode(&vectors());
    let mut dump = Dump::new(page.block(0));
    dump.block_header(9, (18, "9 rows x 2, null or not"), 117, 0);
    let mut row = |control: u8, values: &[i32], what: &str, meaning: &str| {
        let covered = [&[control][..], &ints(values)].concat();
        let stride = dump.at;
        dump.u8(control, "control", what);
        dump.bytes(&ints(values), "values", meaning);
        dump.u32(
            crc32c(&covered),
            "CRC-32C",
            &format!("of bytes {stride} .. {}", stride + 9),
        );
    };
    row(
        1,
        &[1, 2],
        "row 0: the one level that stores validity is valid",
        "1, 2",
    );
    row(0, &[0, 0], "row 1 is null", "zeros");
    row(1, &[5, 6], "row 2, at 32 + 2 x 13", "5, 6");
    for i in 3..9 {
        row(
            1,
            &[2 * i + 1, 2 * i + 2],
            &format!("row {i}"),
            &format!("{}, {}", 2 * i + 1, 2 * i + 2),
        );
    }
    dump.zeros(3, "padding", "to 8, not part of the payload");
    compare("A full-zip block", &dump.finish());
}

#[test]
fn a_full_zip_block_of_byte_strings() {
    let rows: [Option<&[u8]>; 4] = [Some(b"tarsia"), None, Some(b""), Some(b"of rows")];
    let page = encode_with(&BinaryArray::from_iter(rows), 0);
    let mut dump = Dump::new(page.block(0));
    let crc = crc32c(&page.block(0)[4..64]);
    dump.u32(crc, "CRC-32C", "of bytes 4 .. 64: header and index");
    dump.u8(0, "tree", "the page's one tree");
    dump.u8(4, "flags", "indexed, no salt");
    dump.u16(0, "reserved", "");
    dump.u32(4, "logical rows", "4");
    dump.u32(4, "present rows", "4");
    dump.u32(4, "values", "as many, null or not");
    dump.u32(13, "decoded bytes", "6 + 7");
    dump.u32(13, "payload length", "13: from 64 up to 77");
    dump.u32(1, "null count", "1");
    let mut entry = |end: u8, control: u8, value: &[u8], end_is: &str, control_is: &str| {
        dump.bytes(&[end, 0, 0], "end", end_is);
        dump.u8(control, "control", control_is);
        dump.u32(crc32c(value), "CRC-32C", "of the string");
    };
    entry(
        6,
        1,
        b"tarsia",
        "row 0: bytes 64 .. 70",
        "its item validity is valid",
    );
    entry(6, 0, b"", "row 1: no bytes", "null");
    entry(6, 1, b"", "row 2: no bytes", "valid");
    entry(13, 1, b"of rows", "row 3: bytes 70 .. 77", "valid");
    dump.bytes(b"tarsiaof rows", "strings", "\"tarsia\", \"\", \"of rows\"");
    dump.zeros(3, "padding", "to 8, not part of the payload");
    compare("A full-zip block of byte strings", &dump.finish());
}

#[test]
fn a_meta_blob() {
    let mut bytes = vec![];
    encode(&lists()).meta.write_to(&mut bytes).unwrap();
    let mut dump = Dump::new(&bytes);
    dump.u8(2, "version", "2");
    dump.u8(1, "layout", "nested mini-block");
    dump.u8(1, "flags", "compact");
    dump.u8(2, "value type", "fixed width");
    dump.u32(4, "fixed width", "4 bytes");
    dump.u8(3, "n_layers", "two levels and item validity");
    dump.u8(1, "n_trees", "1");
    dump.u8(0, "n_shared", "no shared buffers");
    dump.u8(0, "reserved", "");
    dump.bytes(&[3, 1], "kind, n_trees", "validity level of 1 tree");
    dump.tree("tarsia.bitmap");
    dump.bytes(&[4, 1], "kind, n_trees", "lengths level of 1 tree");
    dump.tree("tarsia.plain");
    dump.bytes(&[1, 1], "kind, n_trees", "item validity of 1 tree");
    dump.tree("tarsia.bitmap");
    dump.tree("tarsia.plain");
    compare("Its META", &dump.finish());
}

#[test]
fn a_packed_row() {
    let field = |name, data_type, nullable| Arc::new(Field::new(name, data_type, nullable));
    let columns: [(_, ArrayRef); 4] = [
        (
            field("id", DataType::Int32, false),
            Arc::new(Int32Array::from(vec![7])),
        ),
        (
            field("name", DataType::Utf8, true),
            Arc::new(StringArray::from(vec!["Ada"])),
        ),
        (
            field("flag", DataType::Boolean, true),
            Arc::new(BooleanArray::from(vec![true])),
        ),
        (
            field("score", DataType::Float64, true),
            Arc::new(Float64Array::from(vec![None])),
        ),
    ];
    let array = StructArray::from(columns.to_vec());
    let packing = Packing::of(array.data_type()).unwrap();
    let rows = packing.pack(&array).unwrap();
    let mut dump = Dump::new(rows.as_binary::<i64>().value(0));
    dump.u8(
        0b0111,
        "bits",
        "name valid, flag valid, its value, score null",
    );
    dump.u32(7, "id", "7");
    dump.u32(3, "name", "its length");
    dump.bytes(&[0; 8], "score", "null");
    dump.bytes(b"Ada", "name", "its bytes");
    compare("A packed row", &dump.finish());
}

/// The first block of text below the heading in the document is `text`.
fn compare(heading: &str, text: &str) {
    // Tests run beside each other, and each renews its own part of the document.
    static DOCUMENT: Mutex<()> = Mutex::new(());
    let _alone = DOCUMENT.lock().unwrap_or_else(PoisonError::into_inner);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/spec/page.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let marks = (format!("\n### {heading}\n"), "\n```text\n", "```\n");
    let (before, rest) = document
        .split_once(&marks.0)
        .unwrap_or_else(|| panic!("page.md has no heading `{heading}`"));
    let (prose, rest) = rest
        .split_once(marks.1)
        .unwrap_or_else(|| panic!("page.md has no block of text below `{heading}`"));
    let (shown, after) = rest.split_once(marks.2).unwrap();
    if std::env::var_os("TARSIA_BLESS").is_some() && shown != text {
        let document = [before, &marks.0, prose, marks.1, text, marks.2, after].concat();
        std::fs::write(&path, document).unwrap();
        return;
    }
    let lines = shown.lines().zip(text.lines());
    let different = lines.filter(|(shown, written)| shown != written);
    for (shown, written) in different {
        eprintln!("shown:   {shown}\nwritten: {written}");
    }
    assert!(
        shown == text,
        "page.md, `{heading}`: TARSIA_BLESS=1 renews the example"
    );
}
