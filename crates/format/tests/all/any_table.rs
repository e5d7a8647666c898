//! Property: any flat table, cut into any batches and pages, comes back bit for bit from any scan.

use std::sync::Arc;

use crate::common::{assert_rows, open, write};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;
use tarsia::{EmbedKernels, Preset, Threads, WriteOptions};
use tarsia_testkit::arrays::{DISTRIBUTIONS, NULLS, Profile, array, flat_types};
#[cfg(feature = "kernels")]
use {
    crate::common::open_with,
    tarsia::{Kernels, OpenOptions},
};

#[derive(Debug, Clone)]
struct Plan {
    columns: Vec<(DataType, Profile)>,
    rows: usize,
    cuts: Vec<usize>,
    options: WriteOptions,
    batch_rows: usize,
    range: (usize, usize),
}

fn plans() -> impl Strategy<Value = Plan> {
    let column = (
        prop::sample::select(flat_types()),
        prop::sample::select(NULLS.to_vec()),
        prop::sample::select(DISTRIBUTIONS.to_vec()),
        any::<u64>(),
    )
        .prop_map(|(data_type, nulls, values, seed)| {
            (data_type, Profile::new(nulls, values, seed))
        });
    let presets = [Preset::Fast, Preset::Balanced, Preset::Compact];
    (
        prop::collection::vec(column, 1..5),
        prop_oneof![0..5usize, 1020..1030usize, 0..6000usize],
        prop::collection::vec(0..6000usize, 0..4),
        (
            prop::sample::select(presets.to_vec()),
            500..60_000u64,
            1_000..100_000u64,
            any::<bool>(),
        ),
        1..5000usize,
        (0..6000usize, 0..6000usize),
    )
        .prop_map(
            |(
                columns,
                rows,
                mut cuts,
                (preset, page_bytes, memory_budget_bytes, one),
                batch_rows,
                range,
            )| {
                cuts.iter_mut().for_each(|cut| *cut = (*cut).min(rows));
                cuts.sort_unstable();
                let (a, b) = (range.0.min(rows), range.1.min(rows));
                Plan {
                    columns,
                    rows,
                    cuts,
                    options: WriteOptions::new()
                        .with_preset(preset)
                        .with_page_bytes(page_bytes)
                        .with_memory_budget_bytes(memory_budget_bytes)
                        .with_threads(if one { Threads::One } else { Threads::All })
                        .with_deterministic(true)
                        .with_embed_kernels(EmbedKernels::Embed),
                    batch_rows,
                    range: (a.min(b), a.max(b)),
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn comes_back(plan in plans()) {
        let columns: Vec<_> = plan.columns.iter().map(|(data_type, profile)| array(data_type, plan.rows, *profile)).collect();
        let fields: Vec<_> = columns
            .iter()
            .enumerate()
            .map(|(i, column)| Field::new(format!("c{i}"), column.data_type().clone(), true))
            .collect();
        let whole = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
        let mut batches = Vec::new();
        let mut start = 0;
        for end in plan.cuts.iter().copied().chain([plan.rows]) {
            batches.push(whole.slice(start, end - start));
            start = end;
        }
        let bytes = write(whole.schema(), &batches, plan.options.clone());
        let file = open(&bytes).unwrap();
        let (start, end) = plan.range;
        let scan = file.scan().rows(start as u64..end as u64).batch_rows(plan.batch_rows).build().unwrap();
        let parts: Vec<_> = scan.map(Result::unwrap).collect();
        assert_rows(&parts, &whole.slice(start, end - start));
        file.verify().unwrap();
        #[cfg(feature = "kernels")]
        {
            let options = OpenOptions::new().with_kernels(Kernels::Forced);
            let file = open_with(&bytes, options).unwrap();
            let scan = file.scan().rows(start as u64..end as u64).batch_rows(plan.batch_rows).build().unwrap();
            let parts: Vec<_> = scan.map(Result::unwrap).collect();
            assert_rows(&parts, &whole.slice(start, end - start));
            assert_eq!(file.decoder_counts().native, 0);
        }
    }
}
