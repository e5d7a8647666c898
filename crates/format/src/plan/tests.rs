//! Plans made, asked for their ranges and fed by hand: there is no file.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::DataType;
use tarsia_arrow::leaf_paths;
use tarsia_codec::ValueType;
use tarsia_metadata::{ErasureLevel, MetaBlob, PageDescriptor, Rows, build_block_table};

use super::{Need, PageNumber, Plan, Planned, Planner, Selected};
use crate::error::ErrorKind;
use crate::options::OpenOptions;
use crate::session::Session;
use crate::table::{Column, Description, Page, PageKind};

const BLOCK_ROWS: u32 = 1024;
const BLOCK_BYTES: u64 = 4096;
/// Where the block table of the first page lies.
const TABLE_PLACE: u64 = 900_000;

/// A page of so many blocks of [`BLOCK_ROWS`] from `first_row` on, its blocks from `place` on.
fn page(first_row: u64, place: u64, n_blocks: u32) -> Page {
    let digest_bytes = 16 * n_blocks;
    let table_bytes = table(n_blocks).len() as u32;
    Page::new(
        PageDescriptor {
            first_row,
            place,
            side_place: match n_blocks {
                1 => 0,
                _ => TABLE_PLACE + first_row,
            },
            epoch: 0,
            length: n_blocks * BLOCK_BYTES as u32,
            rows: n_blocks * BLOCK_ROWS,
            n_blocks,
            side_length: match n_blocks {
                1 => 0,
                _ => table_bytes + digest_bytes,
            },
            null_count: 0,
            description: 0,
            digest: [0; 32],
        },
        &PageKind {
            description: Arc::new(Description::new(MetaBlob::default())),
            shared: None,
        },
        Vec::new(),
    )
}

fn table(n_blocks: u32) -> Vec<u8> {
    match n_blocks {
        1 => Vec::new(),
        _ => {
            let words = BLOCK_BYTES as u32 / 8;
            let starts: Vec<u32> = (0..n_blocks).map(|block| block * words).collect();
            build_block_table(&starts, Rows::Uniform(10)).unwrap()
        }
    }
}

/// An `int32` column of a page of four blocks and one of a single block.
fn column() -> Column {
    let [path] = leaf_paths(&DataType::Int32, false)
        .unwrap()
        .try_into()
        .unwrap();
    Column {
        leaf: 0,
        name: String::from("a"),
        path,
        data_type: DataType::Int32,
        packing: None,
        value_type: Some(ValueType::Fixed(4)),
        level: ErasureLevel::Hide,
        erased: None,
        pages: vec![page(0, 256, 4), page(4096, 65_536, 1)],
        shared_pages: Vec::new(),
        zones: None,
        blooms: None,
        digest: [0; 32],
        metadata_bytes: 0,
    }
}

/// Plans with a planner that knows nothing yet, and feeds it by hand.
fn with_planner(test: impl FnOnce(&Planner<'_>, &Column)) {
    let session = Session::new(&OpenOptions::default());
    let planner = Planner {
        mapped: None,
        session: &session,
    };
    test(&planner, &column());
}

fn needs(planned: Planned) -> Vec<Need> {
    match planned {
        Planned::Needs(needs) => needs,
        Planned::Ready(plan) => panic!("ready: {plan:?}"),
    }
}

fn ready(planned: Planned) -> Plan {
    match planned {
        Planned::Ready(plan) => plan,
        Planned::Needs(needs) => panic!("needs: {needs:?}"),
    }
}

fn places(plan: &Plan) -> Vec<Range<u64>> {
    plan.parts.iter().map(|part| part.place.clone()).collect()
}

#[test]
fn a_plan_says_what_it_needs_and_is_ready_once_it_was_fed() {
    with_planner(|planner, column| {
        let rows = 1000..4100;
        let needed = needs(planner.rows(column, rows.clone()).unwrap());
        let table = table(4);
        // The second page has one block, whose place is in its descriptor.
        let [need] = needed.as_slice() else {
            panic!("{needed:?}");
        };
        let end = TABLE_PLACE + table.len() as u64;
        assert_eq!(need.range, TABLE_PLACE..end);
        planner.supply(column, need, &table).unwrap();
        let plan = ready(planner.rows(column, rows).unwrap());
        assert_eq!(plan.rows, 3100);
        let expected = [
            256..4352,
            4352..8448,
            8448..12_544,
            12_544..16_640,
            65_536..69_632,
        ];
        assert_eq!(places(&plan), expected);
        let rows: Vec<u64> = plan
            .parts
            .iter()
            .map(|part| part.selected.n_rows())
            .collect();
        assert_eq!(rows, [24, 1024, 1024, 1024, 4]);
        assert_eq!(plan.page_indexes().collect::<Vec<_>>(), [0, 1]);
        // What was fed is kept.
        let other = ready(planner.rows(column, 0..1).unwrap());
        assert_eq!(
            places(&other).as_slice(),
            std::slice::from_ref(&(256..4352))
        );
    });
}

#[test]
fn rows_in_any_block_are_planned_by_their_index() {
    with_planner(|planner, column| {
        let sorted = [5, 6, 7, 1030, 1032, 5000];
        let needed = needs(planner.indices(column, &sorted).unwrap());
        for need in &needed {
            planner.supply(column, need, &table(4)).unwrap();
        }
        let plan = ready(planner.indices(column, &sorted).unwrap());
        assert_eq!(places(&plan), [256..4352, 4352..8448, 65_536..69_632]);
        assert!(matches!(
            plan.parts[0].selected,
            Selected::Range { start: 5, len: 3 }
        ));
        assert!(matches!(plan.parts[1].selected, Selected::Indices(_)));
        assert_eq!(plan.indices, [6, 8]);
        // In the caller's order each run is a part of its own.
        let in_order = ready(planner.in_order(column, &[5000, 5, 6]).unwrap());
        assert_eq!(places(&in_order), [65_536..69_632, 256..4352]);
        assert_eq!(in_order.rows, 3);
    });
}

#[test]
fn what_several_runs_of_rows_need_is_asked_for_once() {
    with_planner(|planner, column| {
        let rows = [3000, 7, 5000, 1, 2000];
        let needed = needs(planner.in_order(column, &rows).unwrap());
        assert_eq!(
            needed,
            planner.block_table(column, PageNumber::Data(0)).unwrap()
        );
        assert_eq!(needed.len(), 1);
    });
}

#[test]
fn bytes_that_are_no_block_table_are_refused_with_their_place() {
    with_planner(|planner, column| {
        let [need] = needs(planner.rows(column, 0..1).unwrap())
            .try_into()
            .unwrap();
        let mut damaged = table(4);
        damaged[0] ^= 1;
        for bytes in [&damaged[..], &[], &table(3)] {
            let error = planner.supply(column, &need, bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            assert_eq!((error.column(), error.page()), (Some("a"), Some(0)));
        }
        // It is still needed.
        assert_eq!(needs(planner.rows(column, 0..1).unwrap()), [need]);
    });
}

#[test]
fn rows_that_no_page_holds_are_refused() {
    with_planner(|planner, column| {
        let error = planner.rows(column, 5119..5121).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
        let error = planner.indices(column, &[5120]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    });
}

#[test]
fn no_rows_need_nothing() {
    with_planner(|planner, column| {
        let plan = ready(planner.rows(column, 7..7).unwrap());
        assert!(plan.parts.is_empty() && plan.rows == 0);
        let plan = ready(planner.indices(column, &[]).unwrap());
        assert!(plan.parts.is_empty() && plan.rows == 0);
        assert!(
            planner
                .block_table(column, PageNumber::Data(1))
                .unwrap()
                .is_empty()
        );
        assert_eq!(
            planner
                .block_table(column, PageNumber::Data(0))
                .unwrap()
                .len(),
            1
        );
    });
}
