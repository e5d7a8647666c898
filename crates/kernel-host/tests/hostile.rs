//! Modules that are no kernels, and kernels that break their promises: an error each, never a panic, and the process
//! lives on.

use std::sync::Arc;

use tarsia_codec::ValueType;
use tarsia_kernel_host::{
    BorrowedColumn, Error, Kernel, KernelPage, MODULE_BYTES_MAX, Rows, Whole, decompress,
};

/// A kernel whose `t1_decode` says once that there is a batch, described at 1,024, with these bytes.
fn kernel(description: &[u8], decode: &str) -> String {
    let data: String = description
        .iter()
        .map(|byte| format!("\\{byte:02x}"))
        .collect();
    format!(
        r#"(module
  (memory (export "memory") 4)
  (global $called (mut i32) (i32.const 0))
  (data (i32.const 1024) "{data}")
  (data (i32.const 2048) "\2a\00\00\00")
  (func (export "t1_abi") (result i32) i32.const 0)
  (func (export "t1_alloc") (param i32 i32) (result i32) i32.const 65536)
  (func (export "t1_free") (param i32 i32 i32))
  (func (export "t1_check") (param i32 i32 i32) (result i32)
    (i64.store (local.get 2) (i64.const -1)) i32.const 0)
  (func (export "t1_init") (param i32 i32) (result i32)
    (global.set $called (i32.const 0)) i32.const 1)
  (func (export "t1_decode") (param $handle i32) (param $out i32) (result i32)
    {decode}
    (if (global.get $called) (then (return (i32.const 0))))
    (global.set $called (i32.const 1))
    (i32.store (local.get $out) (i32.const 1024))
    (i32.store offset=4 (local.get $out) (i32.const {len}))
    (i32.store offset=8 (local.get $out) (i32.const 7))
    i32.const 1)
  (func (export "t1_release") (param i32) (result i32) i32.const 0)
  (func (export "t1_close") (param i32) (result i32) i32.const 0)
  (func (export "t1_error") (param i32) (result i32)
    (i32.store (local.get 0) (i32.const 2048))
    (i32.store offset=4 (local.get 0) (i32.const 4)) i32.const 0))"#,
        len = description.len(),
    )
}

/// One array of `rows` rows, plain, with these buffers.
fn description(rows: u64, buffers: &[(u64, u64)]) -> Vec<u8> {
    let len = 48 + 32 + 16 * buffers.len() as u32;
    let mut out = Vec::new();
    for word in [len, 1, buffers.len() as u32, 0] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    for wide in [0, rows, 0, 0, rows, u64::MAX] {
        out.extend_from_slice(&wide.to_le_bytes());
    }
    out.extend_from_slice(&0u32.to_le_bytes());
    for half in [buffers.len() as u16, 0, 0, 0, 0, 0] {
        out.extend_from_slice(&half.to_le_bytes());
    }
    for (address, len) in buffers {
        out.extend_from_slice(&address.to_le_bytes());
        out.extend_from_slice(&len.to_le_bytes());
    }
    out
}

/// An array of a nested batch: length, buffers, children, layout.
type Node = (u64, &'static [(u64, u64)], u16, u16);

/// These arrays one below the other.
fn nested_description(rows: u64, nodes: &[Node]) -> Vec<u8> {
    let n_buffers: usize = nodes.iter().map(|(_, buffers, ..)| buffers.len()).sum();
    let len = 48 + 32 * nodes.len() + 16 * n_buffers;
    let mut out = Vec::new();
    for word in [len as u32, nodes.len() as u32, n_buffers as u32, 0] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    for wide in [0, rows, 0, 0] {
        out.extend_from_slice(&wide.to_le_bytes());
    }
    let mut first = 0u32;
    for (length, buffers, children, layout) in nodes {
        for wide in [*length, u64::MAX] {
            out.extend_from_slice(&wide.to_le_bytes());
        }
        out.extend_from_slice(&first.to_le_bytes());
        for half in [buffers.len() as u16, *children, *layout, 0, 0, 0] {
            out.extend_from_slice(&half.to_le_bytes());
        }
        first += buffers.len() as u32;
    }
    for (address, len) in nodes.iter().flat_map(|(_, buffers, ..)| *buffers) {
        out.extend_from_slice(&address.to_le_bytes());
        out.extend_from_slice(&len.to_le_bytes());
    }
    out
}

/// Rows, levels and items of a nested page's batches, and what is below each level.
fn decode_nested(wat: &str) -> Result<(usize, usize, usize), Error> {
    let page = KernelPage::new(load(wat)?, b"meta", &[])?;
    let mut got = (0, 0, 0);
    let rows = page.decode_nested(
        VALUE,
        &[b"block"],
        Rows::All { len: 2 },
        &[],
        1 << 20,
        &mut |batch| {
            got = (batch.rows, batch.levels.len(), batch.items.rows);
            Ok(())
        },
    )?;
    assert_eq!(rows, got.0);
    Ok(got)
}

fn load(wat: &str) -> Result<Arc<Kernel>, Error> {
    Kernel::load(&wat::parse_str(wat).unwrap())
}

fn decode(wat: &str, value_type: ValueType) -> Result<(usize, Vec<u8>), Error> {
    let page = KernelPage::new(load(wat)?, b"meta", &[])?;
    let mut values = Vec::new();
    let rows = page.decode(
        value_type,
        &[b"block"],
        Rows::All { len: 5 },
        1 << 20,
        &mut |batch| {
            values.extend_from_slice(batch.values);
            Ok(())
        },
    )?;
    Ok((rows, values))
}

const VALUE: ValueType = ValueType::Fixed(4);

#[test]
fn a_kernel_that_keeps_its_promises_is_believed() {
    let good = kernel(&description(1, &[(0, 0), (2048, 4)]), "");
    assert_eq!(decode(&good, VALUE).unwrap(), (1, vec![42, 0, 0, 0]));
}

#[test]
fn batches_outside_the_memory_or_of_other_shapes_are_refused() {
    let end = 4 * 65_536;
    let cases: &[(&str, ValueType, Vec<u8>)] = &[
        (
            "beyond the end",
            VALUE,
            description(1, &[(0, 0), (end - 3, 4)]),
        ),
        (
            "at the end of numbers",
            VALUE,
            description(1, &[(0, 0), (u64::MAX - 1, 4)]),
        ),
        ("above 2^32", VALUE, description(1, &[(0, 0), (1 << 32, 4)])),
        (
            "validity outside",
            VALUE,
            description(1, &[(end, 1), (2048, 4)]),
        ),
        (
            "too few values",
            VALUE,
            description(2, &[(0, 0), (2048, 4)]),
        ),
        (
            "too many values",
            VALUE,
            description(1, &[(0, 0), (2048, 8)]),
        ),
        (
            "too short a validity",
            VALUE,
            description(9, &[(2048, 1), (2048, 36)]),
        ),
        ("no rows", VALUE, description(0, &[(0, 0), (2048, 0)])),
        (
            "rows beyond memory",
            VALUE,
            description(u64::MAX, &[(0, 0), (2048, 4)]),
        ),
        ("one buffer", VALUE, description(1, &[(2048, 4)])),
        (
            "buffers of strings",
            VALUE,
            description(1, &[(0, 0), (1024, 8), (2048, 4)]),
        ),
        (
            "no offsets",
            ValueType::Bytes,
            description(1, &[(0, 0), (2048, 4)]),
        ),
        // The first offset would be 42.
        (
            "offsets from elsewhere",
            ValueType::Bytes,
            description(1, &[(0, 0), (2048, 8), (2048, 4)]),
        ),
        (
            "bits",
            ValueType::Bits,
            description(9, &[(0, 0), (2048, 1)]),
        ),
        ("empty", VALUE, Vec::new()),
        (
            "cut",
            VALUE,
            description(1, &[(0, 0), (2048, 4)])[..100].to_vec(),
        ),
    ];
    for (what, value_type, description) in cases {
        let got = decode(&kernel(description, ""), *value_type);
        assert!(matches!(got, Err(Error::Failed(_))), "{what}: {got:?}");
    }
    let mut layout = description(1, &[(0, 0), (2048, 4)]);
    layout[48 + 24] = 3;
    assert!(decode(&kernel(&layout, ""), VALUE).is_err());
}

#[test]
fn nested_batches_of_other_shapes_are_refused() {
    const ITEMS: Node = (1, &[(0, 0), (2048, 4)], 0, 0);
    const LISTS: Node = (2, &[(0, 0)], 1, 1);
    const ENDS: Node = (2, &[(2048, 12)], 1, 2);
    const CONSTANT: Node = (2, &[], 1, 3);
    let run = |rows, nodes: &[Node]| decode_nested(&kernel(&nested_description(rows, nodes), ""));
    assert_eq!(run(2, &[LISTS, ENDS, ITEMS]).unwrap(), (2, 2, 1));
    assert_eq!(run(2, &[CONSTANT, ITEMS]).unwrap(), (2, 1, 1));
    assert_eq!(run(2, &[ITEMS]).unwrap(), (2, 0, 1));
    let end = 4 * 65_536;
    assert_eq!(end, 262_144);
    let cases: &[(&str, u64, &[Node])] = &[
        ("no rows", 0, &[LISTS, ENDS, ITEMS]),
        (
            "rows of nobody",
            u64::MAX,
            &[LISTS, ENDS, (u64::MAX, ITEMS.1, 0, 0)],
        ),
        ("no items", 2, &[LISTS, ENDS]),
        ("a level of that layout", 2, &[(2, &[(0, 0)], 1, 4), ITEMS]),
        ("a level that is items", 2, &[(2, &[(0, 0)], 1, 0), ITEMS]),
        ("items that are a level", 2, &[LISTS, (1, ITEMS.1, 0, 1)]),
        (
            "a level without children",
            2,
            &[(2, &[(0, 0)], 0, 1), ITEMS],
        ),
        ("short bits", 2, &[(99, &[(2048, 1)], 1, 1), ITEMS]),
        ("bits outside", 2, &[(2, &[(262_144, 1)], 1, 1), ITEMS]),
        ("ends outside", 2, &[(2, &[(262_140, 12)], 1, 2), ITEMS]),
        ("half an end", 2, &[(2, &[(2048, 10)], 1, 2), ITEMS]),
        ("two buffers", 2, &[(2, &[(0, 0), (0, 0)], 1, 1), ITEMS]),
        ("a constant with one", 2, &[(2, &[(2048, 4)], 1, 3), ITEMS]),
        ("short items", 2, &[LISTS, ENDS, (2, ITEMS.1, 0, 0)]),
    ];
    for (what, rows, nodes) in cases {
        let got = run(*rows, nodes);
        assert!(matches!(got, Err(Error::Failed(_))), "{what}: {got:?}");
    }
}

#[test]
fn traps_cost_the_instance_and_nothing_else() {
    for body in [
        "unreachable",
        "(drop (i32.load (i32.const -4)))",
        "(drop (i32.div_u (i32.const 1) (i32.const 0)))",
        "(drop (call 5 (local.get $handle) (local.get $out)))",
    ] {
        let wat = kernel(&description(1, &[(0, 0), (2048, 4)]), body);
        for _ in 0..3 {
            let got = decode(&wat, VALUE);
            assert!(matches!(got, Err(Error::Failed(_))), "{body}: {got:?}");
        }
    }
}

#[test]
fn results_that_mean_nothing_are_failures_and_errors_carry_the_kernels_text() {
    let batch = description(1, &[(0, 0), (2048, 4)]);
    for (result, expect) in [(2, "result 2"), (-40, "code -40: *")] {
        let wat = kernel(&batch, &format!("(return (i32.const {result}))"));
        let error = decode(&wat, VALUE).unwrap_err();
        assert!(error.to_string().contains(expect), "{error}");
    }
    let refused = |code: i32| {
        let wat = kernel(&batch, &format!("(return (i32.const {code}))"));
        decode(&wat, VALUE).unwrap_err()
    };
    assert!(matches!(refused(-1), Error::Malformed(text) if text.starts_with('*')));
    assert!(matches!(refused(-2), Error::Unsupported(_)));
    assert!(matches!(refused(-5), Error::Limit(_)));
}

#[test]
fn memory_is_limited() {
    // 2 GiB: refused by the host, so that `memory.grow` says -1.
    let wat = kernel(
        &description(1, &[(0, 0), (2048, 4)]),
        "(if (i32.ne (memory.grow (i32.const 32768)) (i32.const -1)) (then unreachable))",
    );
    assert_eq!(decode(&wat, VALUE).unwrap().0, 1);
    let large = wat.replace("\"memory\") 4", "\"memory\") 32768");
    assert!(matches!(load(&large), Err(Error::Profile(_))));
}

#[test]
fn modules_that_are_no_kernels_are_refused_before_they_run() {
    let good = kernel(&[], "");
    let with = |from: &str, to: &str| {
        let changed = good.replacen(from, to, 1);
        assert_ne!(changed, good);
        changed
    };
    let cases = [
        (
            "an import",
            with("(module", "(module (import \"env\" \"now\" (func))"),
        ),
        (
            "an imported memory",
            with(
                "(memory (export \"memory\") 4)",
                "(import \"env\" \"memory\" (memory 4)) (export \"memory\" (memory 0))",
            ),
        ),
        (
            "a start function",
            with(
                "(func (export \"t1_release\")",
                "(func $go unreachable) (start $go) (func (export \"t1_release\")",
            ),
        ),
        (
            "no memory",
            with("(export \"memory\")", "(export \"storage\")"),
        ),
        ("no t1_close", with("t1_close", "t1_shut")),
        (
            "another signature",
            with(
                "\"t1_abi\") (result i32) i32.const 0",
                "\"t1_abi\") (result i64) i64.const 0",
            ),
        ),
        (
            "a negative version",
            with(
                "\"t1_abi\") (result i32) i32.const 0",
                "\"t1_abi\") (result i32) i32.const -1",
            ),
        ),
        (
            "a 64-bit memory",
            "(module (memory (export \"memory\") i64 1))".to_owned(),
        ),
        ("two memories", "(module (memory 1) (memory 1))".to_owned()),
        ("a shared memory", "(module (memory 1 2 shared))".to_owned()),
    ];
    for (what, wat) in cases {
        let got = load(&wat);
        assert!(matches!(got, Err(Error::Profile(_))), "{what}: {got:?}");
    }
    for bytes in [&b""[..], b"\0asm", b"not wasm at all", &[0; 64]] {
        assert!(matches!(Kernel::load(bytes), Err(Error::Profile(_))));
    }
    assert!(matches!(
        Kernel::load(&vec![0; MODULE_BYTES_MAX + 1]),
        Err(Error::Profile(_))
    ));
    let long = format!("(module (func {}))", "nop ".repeat(200_000));
    let got = load(&long);
    assert!(
        matches!(&got, Err(Error::Profile(what)) if what.contains("function")),
        "{got:?}"
    );
}

#[test]
fn a_cut_module_is_refused() {
    let wasm = wat::parse_str(kernel(&[], "")).unwrap();
    Kernel::load(&wasm).unwrap();
    // A module without its last sections, names and data, is a module.
    let loaded = (0..wasm.len()).filter(|len| Kernel::load(&wasm[..*len]).is_ok());
    assert_eq!(loaded.count(), 2);
}

#[test]
fn compressed_modules_have_the_length_they_say() {
    let raw = vec![7u8; 5000];
    let stored = zstd::bulk::compress(&raw, 3).unwrap();
    assert_eq!(decompress(&stored, 5000).unwrap(), raw);
    for said in [0, 4999, 5001, 1 << 20, (1 << 20) + 1, u64::MAX] {
        assert!(decompress(&stored, said).is_err(), "{said}");
    }
    for len in 0..stored.len() {
        assert!(decompress(&stored[..len], 5000).is_err(), "{len}");
    }
}

/// `requests` requests for one column of `rows` rows.
fn whole(
    wat: &str,
    value_type: ValueType,
    rows: usize,
    requests: usize,
) -> Result<BorrowedColumn, Error> {
    let page = KernelPage::new(load(wat)?, b"meta", &[])?;
    let mut whole = Whole::new(&page, value_type, rows, 0).unwrap();
    for _ in 0..requests {
        whole.push(&page, &[b"block"], Rows::All { len: 5 })?;
    }
    whole.finish()
}

#[test]
fn a_whole_column_of_a_kernel_that_keeps_its_promises_is_borrowed() {
    let good = kernel(&description(1, &[(0, 0), (2048, 4)]), "");
    let borrowed = whole(&good, VALUE, 1, 1).unwrap();
    assert_eq!(borrowed.rows(), 1);
    assert_eq!(borrowed.values().as_ref(), [42, 0, 0, 0]);
    assert!(borrowed.validity().as_ref().is_empty() && borrowed.offsets().as_ref().is_empty());
    assert_eq!(borrowed.view().unwrap().values, [42, 0, 0, 0]);
    assert!(borrowed.should_be_copied(), "four bytes of an instance");
    let values = borrowed.values();
    drop(borrowed);
    assert_eq!(values.as_ref(), [42, 0, 0, 0]);
}

#[test]
fn whole_columns_of_other_shapes_are_refused() {
    let end = 4 * 65_536;
    let batch = |rows, buffers: &[(u64, u64)]| kernel(&description(rows, buffers), "");
    let good = batch(1, &[(0, 0), (2048, 4)]);
    let never = kernel(
        &description(1, &[(0, 0), (2048, 4)]),
        "(return (i32.const 0))",
    );
    let bytes = ValueType::Bytes;
    for (what, wat, value_type, rows, requests) in [
        ("no request", &good, VALUE, 1, 0),
        ("a batch too early", &good, VALUE, 1, 2),
        ("no batch", &never, VALUE, 1, 3),
        ("fewer rows", &good, VALUE, 2, 1),
        ("more rows", &batch(2, &[(0, 0), (2048, 8)]), VALUE, 1, 1),
        ("outside", &batch(1, &[(0, 0), (end - 3, 4)]), VALUE, 1, 1),
        ("short", &batch(1, &[(0, 0), (2048, 3)]), VALUE, 1, 1),
        (
            "no offsets",
            &batch(1, &[(0, 0), (0, 0), (2048, 4)]),
            bytes,
            1,
            1,
        ),
        ("a trap", &kernel(&[], "unreachable"), VALUE, 1, 1),
    ] {
        let got = whole(wat, value_type, rows, requests);
        assert!(matches!(got, Err(Error::Failed(_))), "{what}: {got:?}");
    }
    // Offsets that do not rise are found by whoever copies or builds the array.
    let borrowed = whole(&batch(1, &[(0, 0), (1024, 8), (2048, 4)]), bytes, 1, 1).unwrap();
    assert!(matches!(borrowed.view(), Err(Error::Failed(_))));
    // One that was given up in the middle costs nothing.
    let page = KernelPage::new(load(&never).unwrap(), b"meta", &[]).unwrap();
    for _ in 0..300 {
        let mut given_up = Whole::new(&page, VALUE, 1, 0).unwrap();
        given_up
            .push(&page, &[b"block"], Rows::All { len: 5 })
            .unwrap();
    }
}

#[test]
fn borrowed_columns_do_not_change_and_their_number_is_limited() {
    // Each `t1_decode` changes the value: an instance that ran again would show.
    let wat = kernel(
        &description(1, &[(0, 0), (2048, 4)]),
        "(i32.store8 (i32.const 2048) (i32.add (i32.load8_u (i32.const 2048)) (i32.const 1)))",
    );
    let page = KernelPage::new(load(&wat).unwrap(), b"meta", &[]).unwrap();
    let mut held = Vec::new();
    while let Some(mut whole) = Whole::new(&page, VALUE, 1, 0) {
        whole
            .push(&page, &[b"block"], Rows::All { len: 5 })
            .unwrap();
        held.push(whole.finish().unwrap());
        assert!(held.len() < 1000);
    }
    let more = decode(&wat, VALUE).unwrap();
    assert_eq!(more.1[0], 43, "batches go on");
    for borrowed in &held {
        assert_eq!(borrowed.values().as_ref()[0], 43);
    }
    drop(held);
    let again = whole(&wat, VALUE, 1, 1).unwrap();
    assert_eq!(again.values().as_ref()[0], 44, "an instance was used again");
}
