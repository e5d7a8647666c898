//! Arrow files and streams that hold more than their batches, or say other things of them than expected.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UnionArray,
};
use arrow_buffer::ScalarBuffer;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_ipc::{
    Block, Buffer, FieldNode, KeyValue, KeyValueArgs, Message, MessageBuilder, MessageHeader,
    MetadataVersion, RecordBatchBuilder, root_as_footer, root_as_message,
};
use arrow_schema::{DataType, Field, UnionFields};
use flatbuffers::FlatBufferBuilder;
use tarsia_convert::source::{Options, Source};
use tarsia_testkit::memory::measure;

use crate::run::{Folder, assert_same_table, read_table, refused};

fn batch(values: Vec<i64>) -> RecordBatch {
    let texts: Vec<String> = values.iter().map(|value| format!("text {value}")).collect();
    let columns: [(&str, ArrayRef); 2] = [
        ("a", Arc::new(Int64Array::from(values))),
        ("t", Arc::new(StringArray::from(texts))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &batches[0].schema()).unwrap();
    batches
        .iter()
        .for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    drop(writer);
    bytes
}

fn file(batches: &[RecordBatch], options: IpcWriteOptions, metadata: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer =
        FileWriter::try_new_with_options(&mut bytes, &batches[0].schema(), options).unwrap();
    batches
        .iter()
        .for_each(|batch| writer.write(batch).unwrap());
    for (key, value) in metadata {
        writer.write_metadata(*key, *value);
    }
    writer.finish().unwrap();
    drop(writer);
    bytes
}

fn notes(folder: &Folder, name: &str) -> Vec<String> {
    let mut source = Source::open(&folder.path(name), &Options::default()).unwrap();
    source.by_ref().for_each(|batch| drop(batch.unwrap()));
    source.notes().iter().map(ToString::to_string).collect()
}

/// The message of a record batch, without mark and length, with metadata of its own.
fn with_metadata(message: &Message<'_>, pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut fb = FlatBufferBuilder::new();
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(key, value)| {
            let (key, value) = (fb.create_string(key), fb.create_string(value));
            KeyValue::create(
                &mut fb,
                &KeyValueArgs {
                    key: Some(key),
                    value: Some(value),
                },
            )
        })
        .collect();
    let pairs = fb.create_vector(&pairs);
    let old = message.header_as_record_batch().unwrap();
    let nodes: Vec<FieldNode> = old.nodes().unwrap().iter().copied().collect();
    let buffers: Vec<Buffer> = old.buffers().unwrap().iter().copied().collect();
    let (nodes, buffers) = (fb.create_vector(&nodes), fb.create_vector(&buffers));
    let mut batch = RecordBatchBuilder::new(&mut fb);
    batch.add_length(old.length());
    batch.add_nodes(nodes);
    batch.add_buffers(buffers);
    let batch = batch.finish().as_union_value();
    let mut made = MessageBuilder::new(&mut fb);
    made.add_version(message.version());
    made.add_header_type(MessageHeader::RecordBatch);
    made.add_bodyLength(message.bodyLength());
    made.add_header(batch);
    made.add_custom_metadata(pairs);
    let root = made.finish();
    fb.finish(root, None);
    fb.finished_data().to_vec()
}

/// A stream whose only batch has metadata of its own.
fn stream_with_metadata(batch: &RecordBatch, pairs: &[(&str, &str)]) -> Vec<u8> {
    let old = stream(std::slice::from_ref(batch));
    let length = |at: usize| u32::from_le_bytes(old[at..at + 4].try_into().unwrap()) as usize;
    let schema_end = 8 + length(4);
    let body_start = schema_end + 8 + length(schema_end + 4);
    let message = root_as_message(&old[schema_end + 8..body_start]).unwrap();
    let mut changed = with_metadata(&message, pairs);
    changed.resize(changed.len().next_multiple_of(8), 0);
    let mut made = old[..schema_end + 4].to_vec();
    made.extend_from_slice(&u32::try_from(changed.len()).unwrap().to_le_bytes());
    made.extend_from_slice(&changed);
    made.extend_from_slice(&old[body_start..]);
    made
}

#[test]
fn metadata_of_footers_are_kept_and_those_of_batches_noted() {
    let folder = Folder::default();
    let batch = batch(vec![1, 2]);
    let options = IpcWriteOptions::default;
    folder.write(
        "x.arrow",
        file(
            std::slice::from_ref(&batch),
            options(),
            &[("note", "kept"), ("b", "2")],
        ),
    );
    let (schema, _) = read_table(&folder.path("x.arrow"));
    assert_eq!(schema.metadata()["note"], "kept");
    assert_eq!(schema.metadata()["b"], "2");
    assert_eq!(notes(&folder, "x.arrow"), Vec::<String>::new());
    // The schema has the key, too.
    let own = batch
        .schema()
        .as_ref()
        .clone()
        .with_metadata([("note".into(), "own".into())].into());
    let same = RecordBatch::try_new(Arc::new(own), batch.columns().to_vec()).unwrap();
    folder.write("x.arrow", file(&[same], options(), &[("note", "other")]));
    assert_eq!(
        read_table(&folder.path("x.arrow")).0.metadata()["note"],
        "own"
    );
    let what = "metadata of the footer are left out, since the schema has other values: `note`";
    assert_eq!(notes(&folder, "x.arrow"), [what]);

    let pairs = [("note", "1"), ("more", "2")];
    folder.write("s.arrow", stream_with_metadata(&batch, &pairs));
    assert_same_table(
        &read_table(&folder.path("s.arrow")),
        &(batch.schema(), vec![batch.clone()]),
    );
    let what = "metadata of single batches are left out: `more`, `note`";
    assert_eq!(notes(&folder, "s.arrow"), [what]);
}

#[test]
fn the_compression_of_arrow_0_17_is_named() {
    let folder = Folder::default();
    let numbers: ArrayRef = Arc::new(Float64Array::from(vec![0.5; 100]));
    let batch = RecordBatch::try_from_iter([("a", numbers)]).unwrap();
    for codec in ["LZ4", "ZSTD"] {
        let pairs = [("ARROW:experimental_compression", codec)];
        folder.write("x.feather", stream_with_metadata(&batch, &pairs));
        let line = refused(&folder, "x.feather").to_string();
        assert!(
            line.contains(&format!("compressed with {codec} as by Arrow 0.17")),
            "{line}"
        );
    }
}

#[test]
fn what_follows_a_stream_is_an_error_with_its_byte() {
    let folder = Folder::default();
    let (first, second) = (stream(&[batch(vec![1, 2])]), stream(&[batch(vec![3])]));
    for rest in [second.as_slice(), b"x", &[0; 8]] {
        folder.write("x.arrow", [first.as_slice(), rest].concat());
        let line = refused(&folder, "x.arrow").to_string();
        let what = format!("byte {}: more follows the end of the stream", first.len());
        assert!(line.contains(&what), "{line}");
    }
    // A stream may end without a mark.
    folder.write("x.arrow", &first[..first.len() - 8]);
    assert_eq!(read_table(&folder.path("x.arrow")).1.len(), 1);
}

/// The blocks of a file's batches, and where its footer starts.
fn blocks(file: &[u8]) -> (Vec<Block>, usize) {
    let tail = file.len() - 10;
    let length = u32::from_le_bytes(file[tail..tail + 4].try_into().unwrap()) as usize;
    let footer = root_as_footer(&file[tail - length..tail]).unwrap();
    let blocks = footer.recordBatches().unwrap().iter().copied().collect();
    (blocks, tail - length)
}

#[test]
fn batches_that_a_footer_misses_are_an_error_with_their_byte() {
    let folder = Folder::default();
    let batches = [batch(vec![1, 2]), batch(vec![3, 4]), batch(vec![5])];
    let whole = file(&batches, IpcWriteOptions::default(), &[]);
    folder.write("x.arrow", &whole);
    assert_eq!(read_table(&folder.path("x.arrow")).1.len(), 3);
    let (of_whole, footer_start) = blocks(&whole);
    // Of two batches, which are as long as those of three: the footer of a shorter file, behind all three batches.
    let shorter = file(&batches[..2], IpcWriteOptions::default(), &[]);
    let (_, shorter_start) = blocks(&shorter);
    let mixed = [&whole[..footer_start], &shorter[shorter_start..]].concat();
    folder.write("x.arrow", mixed);
    let line = refused(&folder, "x.arrow").to_string();
    let what = format!("byte {}: a batch of ", of_whole[2].offset());
    assert!(
        line.contains(&what) && line.contains("the footer does not list"),
        "{line}"
    );
    // Two files, of which the second one's footer counts from its own start.
    folder.write("x.arrow", [shorter.as_slice(), &shorter].concat());
    let line = refused(&folder, "x.arrow").to_string();
    assert!(line.contains("that the footer does not list"), "{line}");
    folder.write("x.arrow", [whole.as_slice(), &shorter].concat());
    assert!(
        refused(&folder, "x.arrow")
            .to_string()
            .contains("the footer does not list")
    );
    // Padding is none of them.
    let mut padded = whole[..footer_start].to_vec();
    padded.extend_from_slice(&[0; 56]);
    padded.extend_from_slice(&whole[footer_start..]);
    folder.write("x.arrow", padded);
    assert_eq!(read_table(&folder.path("x.arrow")).1.len(), 3);
}

#[test]
fn schemas_without_mark_and_length_are_read_past() {
    let folder = Folder::default();
    let batches = [batch(vec![1, 2]), batch(vec![3])];
    let whole = file(&batches, IpcWriteOptions::default(), &[]);
    let first = blocks(&whole).0[0].offset() as usize;
    let mut bare = whole.clone();
    bare.copy_within(16..first, 8);
    bare[first - 8..first].fill(0);
    folder.write("x.arrow", &bare);
    let table = (batches[0].schema(), batches.to_vec());
    assert_same_table(&read_table(&folder.path("x.arrow")), &table);
    // Neither other bytes nor messages are taken for one.
    let mut changed = bare.clone();
    changed[8] = 0xff;
    folder.write("x.arrow", changed);
    let line = refused(&folder, "x.arrow").to_string();
    assert!(line.contains("the footer does not list"), "{line}");
    // A footer that lists the second batch alone.
    let (listed, footer_start) = blocks(&bare);
    let first = listed[0].offset().to_le_bytes();
    let at = footer_start
        + bare[footer_start..]
            .windows(8)
            .position(|word| word == first)
            .unwrap();
    bare[at - 4] = 1;
    bare.copy_within(at + 24..at + 48, at);
    assert_eq!(blocks(&bare).0, listed[1..]);
    folder.write("x.arrow", bare);
    let line = refused(&folder, "x.arrow").to_string();
    assert!(line.contains("the footer does not list"), "{line}");
}

/// The version that the file's footer states.
fn with_footer_version(mut file: Vec<u8>, version: MetadataVersion) -> Vec<u8> {
    let (_, start) = blocks(&file);
    let word = |file: &[u8], at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let root = start + word(&file, start) as usize;
    let vtable = root
        .checked_add_signed(-(word(&file, root).cast_signed() as isize))
        .unwrap();
    let field = u16::from_le_bytes(file[vtable + 4..vtable + 6].try_into().unwrap());
    let at = root + usize::from(field);
    file[at..at + 2].copy_from_slice(&version.0.to_le_bytes());
    file
}

#[test]
fn messages_say_their_version_whatever_the_footer_says() {
    let folder = Folder::default();
    let fields = UnionFields::try_new(
        [0, 1],
        [
            Field::new("i", DataType::Int64, true),
            Field::new("s", DataType::Utf8, true),
        ],
    );
    let children: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![1, 2])),
        Arc::new(StringArray::from(vec!["x"])),
    ];
    let ids = ScalarBuffer::from(vec![0_i8, 1, 0]);
    let offsets = ScalarBuffer::from(vec![0, 0, 1]);
    let union = UnionArray::try_new(fields.unwrap(), ids, Some(offsets), children).unwrap();
    let union: ArrayRef = Arc::new(union);
    let union = RecordBatch::try_from_iter([("u", union)]).unwrap();
    for batch in [batch(vec![1, 2, 3]), union] {
        for (of_messages, of_footer) in [
            (MetadataVersion::V4, MetadataVersion::V5),
            (MetadataVersion::V4, MetadataVersion::V4),
            (MetadataVersion::V5, MetadataVersion::V4),
        ] {
            let options = IpcWriteOptions::try_new(8, false, of_messages).unwrap();
            let made = file(std::slice::from_ref(&batch), options, &[]);
            folder.write("x.arrow", with_footer_version(made, of_footer));
            let (schema, batches) = read_table(&folder.path("x.arrow"));
            assert_eq!(schema, batch.schema());
            assert_eq!(batches[0].column(0).to_data(), batch.column(0).to_data());
        }
    }
}

/// Makes a stream of one batch of the columns of [`batch`], with so many rows of zeros and empty texts. Its bytes are
/// those before the body, which has only zeros.
fn stream_of_zeros(rows: i64) -> (Vec<u8>, i64) {
    let mut bytes = stream(&[batch(Vec::new())]);
    bytes.truncate(8 + u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize);
    let (numbers, offsets) = (8 * rows, 4 * (rows + 1));
    let body = (numbers + offsets + 7) / 8 * 8;
    let mut fb = FlatBufferBuilder::new();
    let nodes = fb.create_vector(&[FieldNode::new(rows, 0); 2]);
    let buffers = fb.create_vector(&[
        Buffer::new(0, 0),
        Buffer::new(0, numbers),
        Buffer::new(0, 0),
        Buffer::new(numbers, offsets),
        Buffer::new(body, 0),
    ]);
    let mut batch = RecordBatchBuilder::new(&mut fb);
    batch.add_length(rows);
    batch.add_nodes(nodes);
    batch.add_buffers(buffers);
    let batch = batch.finish().as_union_value();
    let mut message = MessageBuilder::new(&mut fb);
    message.add_version(MetadataVersion::V5);
    message.add_header_type(MessageHeader::RecordBatch);
    message.add_bodyLength(body);
    message.add_header(batch);
    let root = message.finish();
    fb.finish(root, None);
    let metadata = fb.finished_data();
    bytes.extend_from_slice(&[0xff; 4]);
    bytes.extend_from_slice(&u32::try_from(metadata.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(metadata);
    (bytes, body)
}

#[test]
fn reading_a_large_batch_takes_little_memory() {
    let folder = Folder::default();
    let rows = 25 << 20;
    let (bytes, body) = stream_of_zeros(rows);
    assert!(body >= 300 << 20);
    folder.write("x.arrow", &bytes);
    let path = folder.path("x.arrow");
    // The body takes no space on disk.
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(bytes.len() as u64 + body.unsigned_abs())
        .unwrap();
    let (read, allocated) = measure(|| {
        let mut source = Source::open(&path, &Options::default()).unwrap();
        let batches = source.by_ref().map(Result::unwrap);
        batches
            .map(|batch| (1, batch.num_rows()))
            .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    });
    assert_eq!(read, (10, rows as usize));
    let peak = allocated.peak_bytes >> 20;
    assert!(peak < 48, "{peak} MiB");
}
