//! `tarsia encodings`.

use serde::Serialize;

use crate::args::Encodings;
use crate::failure::Failure;

use super::output::{Out, new_table};

#[derive(Serialize)]
struct EncodingDocument {
    id: &'static str,
    version: String,
    /// Whether this program writes it, too.
    written: bool,
    /// When a writer tries it: `always`, or `when named` with `--encode`.
    tried: Option<&'static str>,
    /// The kernels of this program that decode it.
    kernels: Vec<String>,
}

pub(super) fn encodings(args: &Encodings) -> Result<(), Failure> {
    let registry = tarsia::registry();
    let writers = registry.writers();
    let mut documents: Vec<EncodingDocument> = registry
        .encodings()
        .iter()
        .map(|encoding| {
            let (id, version) = (encoding.id(), encoding.version());
            let kernels = tarsia::kernels().iter();
            let writer = writers.iter().find(|known| known.writer.id() == id);
            let decoding = kernels.filter(|it| it.decodes(id, version.major, version.minor));
            EncodingDocument {
                id,
                version: version.to_string(),
                written: writer.is_some(),
                tried: writer.map(|known| known.tried.name()),
                kernels: decoding.map(|it| it.name.to_string()).collect(),
            }
        })
        .collect();
    documents.sort_by_key(|document| document.id);
    let mut out = Out::new();
    if args.json {
        out.document(&documents)?;
        return out.finish();
    }
    let mut table = new_table(&["encoding", "version", "written", "tried", "kernels"]);
    for document in &documents {
        table.add_row([
            document.id.to_owned(),
            document.version.clone(),
            if document.written { "yes" } else { "no" }.to_owned(),
            document.tried.unwrap_or("-").to_owned(),
            document.kernels.join(", "),
        ]);
    }
    out.table(&table)?;
    out.finish()
}
