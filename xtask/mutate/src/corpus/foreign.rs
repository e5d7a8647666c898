//! Tables as files of other formats.

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterVersion};

/// Ways to compress Arrow IPC, by name.
pub(super) const ARROW_CODECS: [(&str, Option<CompressionType>); 3] = [
    ("plain", None),
    ("lz4", Some(CompressionType::LZ4_FRAME)),
    ("zstd", Some(CompressionType::ZSTD)),
];

fn arrow_options(codec: Option<CompressionType>) -> IpcWriteOptions {
    IpcWriteOptions::default()
        .try_with_compression(codec)
        .expect("a codec that is built in")
}

/// The IPC file format, the table twice as two batches.
pub(super) fn arrow_file(batch: &RecordBatch, codec: Option<CompressionType>) -> Vec<u8> {
    let mut file = Vec::new();
    let writer =
        FileWriter::try_new_with_options(&mut file, batch.schema_ref(), arrow_options(codec));
    let mut writer = writer.expect("a schema");
    writer.write(batch).expect("a batch of the schema");
    writer.write(batch).expect("a batch of the schema");
    writer.finish().expect("a file in memory");
    file
}

/// The IPC stream format, the table twice as two batches.
pub(super) fn arrow_stream(batch: &RecordBatch, codec: Option<CompressionType>) -> Vec<u8> {
    let mut file = Vec::new();
    let writer =
        StreamWriter::try_new_with_options(&mut file, batch.schema_ref(), arrow_options(codec));
    let mut writer = writer.expect("a schema");
    writer.write(batch).expect("a batch of the schema");
    writer.write(batch).expect("a batch of the schema");
    writer.finish().expect("a file in memory");
    file
}

/// Kinds of Parquet files, by name: compressed and not, pages of both versions, with and without dictionaries.
pub(super) fn parquet_kinds() -> [(&'static str, WriterProperties); 4] {
    let builder = WriterProperties::builder;
    [
        ("plain", builder().set_dictionary_enabled(false).build()),
        (
            "snappy",
            builder().set_compression(Compression::SNAPPY).build(),
        ),
        (
            "v2",
            builder()
                .set_writer_version(WriterVersion::PARQUET_2_0)
                .set_max_row_group_row_count(Some(15))
                .build(),
        ),
        (
            "brotli",
            builder()
                .set_dictionary_enabled(false)
                .set_encoding(Encoding::PLAIN)
                .set_compression(Compression::BROTLI(Default::default()))
                .build(),
        ),
    ]
}

/// Makes a Parquet file of the columns that the writer of the `parquet` crate holds: exports hold more, since they
/// change some types.
pub(super) fn parquet(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let write = |batch: &RecordBatch| -> Result<Vec<u8>, ParquetError> {
        let mut file = Vec::new();
        let schema = batch.schema();
        let mut writer = ArrowWriter::try_new(&mut file, schema, Some(properties.clone()))?;
        writer.write(batch)?;
        writer.close()?;
        Ok(file)
    };
    let alone = |i: &usize| write(&batch.project(&[*i]).expect("a column of its own")).is_ok();
    let held: Vec<usize> = (0..batch.num_columns()).filter(alone).collect();
    let held = batch.project(&held).expect("its own columns");
    write(&held).expect("columns that were written alone")
}

/// CSV by hand: what the command does not write itself.
pub(super) const CSV: [(&str, &str, u64); 4] = [
    (
        "crlf",
        "a,b,c\r\n1,\"x\"\"y\",\r\n2,\"line\r\nbreak\",true\r\n",
        2,
    ),
    (
        "mark",
        "\u{feff}id,when,day\n1,2024-02-29T12:00:00.5+02:00,2024-02-29\n2,2024-03-01T00:00:00Z,\n",
        2,
    ),
    (
        "open",
        "n,x,text\n9007199254740993,1.5e300,é\n-1,-0.0,\"\"\n,NaN,'\n18446744073709551615,1,z",
        4,
    ),
    ("numbers", "i,u,f\n-5,18446744073709551615,1\n7,3,2.25\n", 2),
];

/// JSON lines by hand: what the command does not write itself.
pub(super) const JSON: [(&str, &str, u64); 3] = [
    (
        "nested",
        "{\"a\": {\"b\": [1, 2.5, null], \"c\": \"x\"}, \"d\": [[true], []]}\n{\"a\": null, \"d\": null}\n",
        2,
    ),
    (
        "texts",
        "{\"t\":\"\\u00e9\\ud834\\udd1e\\n\",\"n\":-1e-5,\"b\":true}\r\n\r\n{\"n\":12345678901234567890,\"t\":null}",
        2,
    ),
    (
        "objects",
        "{\"o\":{},\"l\":[],\"i\":9007199254740993}\n{\"i\":-1}\n",
        2,
    ),
];
