//! `tarsia compact`.

use crate::args::Compact;
use crate::destination::Destination;
use crate::failure::Failure;
use crate::place::Places;
use crate::progress::Bar;

use super::open::{open_with, trusting};
use super::output::summarise;

pub(super) fn compact(args: &Compact, places: &dyn Places) -> Result<(), Failure> {
    let (input, output) = (args.input.name(), args.output.name());
    let file = open_with(places, &args.input, trusting(&args.trust))?;
    let failed = |error: tarsia::Error| Failure::of_tarsia(input, &error);
    let schema = file.schema().map_err(failed)?;
    let audit = file.audit().map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let mut options = tarsia::WriteOptions::new()
        .with_layout(file.capture_layout().map_err(failed)?)
        .with_embed_kernels(match metadata.kernels {
            0 => tarsia::EmbedKernels::Omit,
            _ => tarsia::EmbedKernels::Embed,
        });
    if let Some(order) = &args.column_order {
        options = options.with_column_order(order.0.iter());
    }
    for column in &audit.columns {
        let own = tarsia::ColumnOptions::new();
        let own = match column.strict {
            true => own.with_strict_erasure(),
            false => own.with_erasure(column.level),
        };
        let own = match column.blooms {
            true => own.with_blooms(true),
            false => own,
        };
        options = options.with_column(&column.name, own);
    }
    let destination = Destination::open(places, &args.output, &args.input)?;
    let refused = |error: tarsia::Error| match error.kind() {
        tarsia::ErrorKind::Io => Failure::bad(output, error),
        _ => Failure::of_tarsia(input, &error),
    };
    let mut writer = tarsia::Writer::new(destination, schema, options).map_err(refused)?;
    let bar = Bar::new("compacting");
    let total = file.live_rows();
    let mut rows = 0;
    for batch in file.scan().build().map_err(failed)? {
        let batch = batch.map_err(|error| failed(error.into()))?;
        writer.write(&batch).map_err(refused)?;
        rows += batch.num_rows() as u64;
        bar.set(rows, total, rows);
    }
    let summary = writer.finish().map_err(refused)?;
    drop(bar);
    summarise(
        output,
        &[
            ("rows", summary.rows.to_string()),
            ("rows dropped", audit.deleted_rows.to_string()),
            ("bytes in", metadata.file_bytes.to_string()),
            ("bytes out", summary.file_bytes.to_string()),
        ],
    )
}
