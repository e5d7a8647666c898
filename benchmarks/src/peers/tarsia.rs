//! Tarsia: a column written with the default options, read back and compared, and its two sizes.
//!
//! The sizes have a type even where the feature `tarsia` is off; then nothing makes one.

#[cfg(feature = "tarsia")]
pub(crate) mod speed;

use serde::Serialize;

/// The bytes of a one-column Tarsia file that belong to the column.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TarsiaSize {
    /// Encoded blocks.
    pub(crate) encoded_bytes: u64,
    /// Block tables, page descriptors and whatever else the column needs to be read.
    pub(crate) metadata_bytes: u64,
    /// Trees of encodings with the number of blocks that have them.
    pub(crate) trees: Vec<(String, u64)>,
}

impl TarsiaSize {
    /// Returns the bytes that are compared with the peers.
    pub(crate) fn bytes(&self) -> u64 {
        self.encoded_bytes + self.metadata_bytes
    }
}

/// The options of every Tarsia file that is measured: the defaults, but no kernel, since the peers' files carry no
/// decoders. `speed` says how many bytes a kernel would add.
#[cfg(feature = "tarsia")]
pub(crate) fn write_options(threads: tarsia::Threads) -> tarsia::WriteOptions {
    tarsia::WriteOptions::new()
        .with_threads(threads)
        .with_embed_kernels(tarsia::EmbedKernels::Omit)
}

#[cfg(feature = "tarsia")]
mod measuring {
    use anyhow::{Context, Result, anyhow, ensure};
    use arrow_array::{Array, RecordBatch};
    use arrow_select::concat::concat_batches;
    use tarsia::{File, Writer};

    use super::{TarsiaSize, write_options};

    /// Writes batches of one column to a temporary file. A file that does not give the same values
    /// back has no size. A panic costs one column, not the run: this is a library under development.
    pub(crate) fn measure(batches: &[RecordBatch]) -> Result<TarsiaSize> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("column.tarsia");
        let result = crate::peers::without_panic(|| write_and_inspect(&path, batches));
        // The name of a temporary file says nothing and differs from run to run.
        let name = format!("{}: ", path.display());
        result.map_err(|error| anyhow!("{}", error.to_string().replace(&name, "")))
    }

    fn write_and_inspect(path: &std::path::Path, batches: &[RecordBatch]) -> Result<TarsiaSize> {
        let schema = batches.first().context("no batch")?.schema();
        let name = schema.field(0).name();
        let mut writer = Writer::create(path, schema.clone(), write_options(tarsia::Threads::All))?;
        for batch in batches {
            writer.write(batch)?;
        }
        writer.finish()?;

        let file = File::open(path)?;
        let read = file.scan().columns(&[name]).build()?.read_all()?;
        let expected = concat_batches(&schema, batches)?;
        let found = concat_batches(&schema, &read)?;
        // Arrow compares floats by their bytes, so NaN payloads and −0.0 count too.
        ensure!(
            expected.column(0).to_data() == found.column(0).to_data(),
            "the values read back differ from those written"
        );

        let inspection = file.inspect_columns(name)?.remove(0);
        Ok(TarsiaSize {
            encoded_bytes: inspection.encoded_bytes,
            metadata_bytes: inspection.metadata_bytes,
            trees: inspection.trees,
        })
    }
}
#[cfg(feature = "tarsia")]
pub(crate) use measuring::measure;
