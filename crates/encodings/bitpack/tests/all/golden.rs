//! Frozen units: today's encoder writes them, today's decoder reads them. `TARSIA_BLESS=1` creates those that do not
//! exist yet; existing ones are never changed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use tarsia_bitpack::{BITPACK, Mode, tree_of};
use tarsia_codec::{
    BlockValues, DecodeCost, FixedSlice, Output, Registry, Scratch, Selection, SharedBuffers, Unit,
    ValueType, Values, build_decoder, build_encoder,
};

struct Golden {
    name: &'static str,
    width: usize,
    mode: Mode,
    values: Vec<u64>,
}

/// xorshift64. Part of the frozen inputs, so it is not shared with other tests.
fn noise(n: u64) -> Vec<u64> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        })
        .collect()
}

fn goldens() -> Vec<Golden> {
    let golden = |name, width, mode, values| Golden {
        name,
        width,
        mode,
        values,
    };
    let (free, uniform) = (Mode::Free, Mode::Uniform);
    let map = |n, f: &dyn Fn(usize, u64) -> u64| -> Vec<u64> {
        noise(n)
            .into_iter()
            .enumerate()
            .map(|(i, v)| f(i, v))
            .collect()
    };
    vec![
        golden("empty", 4, free, vec![]),
        golden("one", 8, free, vec![0x0123_4567_89ab_cdef]),
        golden("zeros", 2, free, vec![0; 1500]),
        golden(
            "negative",
            8,
            free,
            map(100, &|_, v| (v % 21).wrapping_sub(30)),
        ),
        golden("full_width_u8", 1, free, map(1100, &|_, v| v)),
        golden("tails_u8", 1, free, map(1024 + 256 + 64 + 7, &|_, v| v % 8)),
        golden(
            "tails_u16",
            2,
            free,
            map(1024 + 256 + 64 + 7, &|_, v| v % 2000),
        ),
        golden(
            "tails_u32",
            4,
            free,
            map(1024 + 256 + 64 + 7, &|_, v| v % 100_000),
        ),
        golden(
            "tails_u64",
            8,
            free,
            map(1024 + 256 + 64 + 7, &|_, v| v >> 31),
        ),
        golden(
            "patches",
            4,
            free,
            map(1500, &|i, v| if i % 97 == 5 { v } else { v % 16 }),
        ),
        golden(
            "group_widths",
            4,
            free,
            map(3000, &|i, v| v >> (60 - 4 * (i / 1024)) << 32 >> 32),
        ),
        golden(
            "group_bases",
            8,
            free,
            map(4096, &|i, v| (i / 1024 * 1_000_000) as u64 + (v & 31 | 16)),
        ),
        golden(
            "group_all",
            8,
            free,
            map(2500, &|i, v| {
                let large = if i % 101 == 0 { v >> 24 } else { 0 };
                (i / 1024) as u64 * 0x1_0000_0000 + (v >> (61 - 3 * (i / 1024))) + large
            }),
        ),
        golden(
            "patches_below",
            4,
            free,
            map(1500, &|i, v| {
                if i % 97 == 5 {
                    v % 7
                } else {
                    1_700_000_000 + v % 1000
                }
            }),
        ),
        golden(
            "uniform",
            4,
            uniform,
            map(2100, &|i, v| if i == 1700 { v } else { 77 + v % 512 }),
        ),
    ]
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1")
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_writer(&BITPACK, DecodeCost::default());
    registry
}

/// A golden file: the number of values (u32), the values, the unit.
fn file_of(golden: &Golden) -> (Vec<u8>, Vec<u8>) {
    let values: Vec<u8> = golden
        .values
        .iter()
        .flat_map(|value| value.to_le_bytes()[..golden.width].to_vec())
        .collect();
    let n = golden.values.len();
    let slice = Values::Fixed(FixedSlice::new(&values, golden.width, n).unwrap());
    let encoder = build_encoder(
        &registry(),
        &tree_of(golden.mode),
        slice,
        &mut SharedBuffers::new(),
    );
    let mut unit = vec![];
    let block = BlockValues::all(slice).unwrap();
    encoder.unwrap().encode(block, &mut unit).unwrap();
    (values, unit)
}

#[test]
fn units_are_what_they_were() {
    for golden in goldens() {
        let (values, unit) = file_of(&golden);
        let mut file = u32::try_from(golden.values.len())
            .unwrap()
            .to_le_bytes()
            .to_vec();
        file.extend_from_slice(&values);
        file.extend_from_slice(&unit);
        let path = folder().join(format!("{}.bin", golden.name));
        if std::env::var_os("TARSIA_BLESS").is_some() && !path.exists() {
            std::fs::create_dir_all(folder()).unwrap();
            std::fs::write(&path, &file).unwrap();
        }
        let frozen = std::fs::read(&path).unwrap();
        assert!(frozen == file, "{}: other bytes are written", golden.name);

        // And back, from only the frozen bytes.
        let n = u32::from_le_bytes(frozen[..4].try_into().unwrap());
        let (values, unit) = frozen[4..].split_at(n as usize * golden.width);
        let tree = tree_of(golden.mode);
        let value_type = ValueType::Fixed(golden.width as u32);
        let decoder = build_decoder(&registry(), &tree, value_type, &[]).unwrap();
        let mut out = vec![0xaa; values.len()];
        let unit = Unit {
            bytes: unit,
            len: n,
            decoded_bytes: 0,
        };
        let out_of = Output::Fixed(&mut out);
        decoder
            .decode(unit, Selection::All, &mut Scratch::new(), out_of)
            .unwrap();
        assert!(out == values, "{}: other values are read", golden.name);
    }
}

#[test]
fn folder_and_list_agree() {
    let listed: BTreeSet<String> = goldens()
        .iter()
        .map(|golden| format!("{}.bin", golden.name))
        .collect();
    let found: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(listed, found);
}

/// Each form that the layout has is frozen at least once: form byte, then delta bytes.
#[test]
fn every_form_is_frozen() {
    let form = |name: &str| {
        let golden = goldens()
            .into_iter()
            .find(|golden| golden.name == name)
            .unwrap();
        let (_, unit) = file_of(&golden);
        (
            unit[0] & 1 == 1,
            unit[0] & 2 == 2,
            unit[0] >> 4 > 0,
            unit[2] >> 4 > 0,
        )
    };
    assert_eq!(form("tails_u32"), (false, false, false, false));
    assert_eq!(form("negative"), (false, true, false, false));
    assert_eq!(form("patches"), (false, false, true, false));
    assert_eq!(form("group_widths"), (true, false, false, false));
    assert_eq!(form("group_bases"), (false, false, false, true));
    assert_eq!(form("group_all"), (true, false, true, true));
    assert_eq!(form("uniform"), (false, false, true, false));
}
