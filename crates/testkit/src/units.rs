//! Whole units that are encoded and decoded without a page and compared with frozen bytes. The `golden` and `corrupt`
//! tests of encodings use them.

use std::fs;
use std::path::Path;

use tarsia_codec::{
    BlockValues, Output, Registry, Result, Scratch, Selection, SharedBuffer, SharedBuffers, Tree,
    Unit, ValueType, Values, build_decoder, build_encoder,
};

use crate::cases::{Case, CaseValues};
use crate::laws::existing;

/// The unit of all values, and the shared buffers that the encoder made.
///
/// # Errors
/// The errors of the encoders of `tree`.
pub fn encode(
    registry: &Registry,
    tree: &Tree,
    values: Values<'_>,
) -> Result<(Vec<u8>, Vec<SharedBuffer>)> {
    let mut shared = SharedBuffers::new();
    let encoder = build_encoder(registry, tree, values, &mut shared)?;
    let mut out = vec![];
    encoder.encode(BlockValues::all(values)?, &mut out)?;
    Ok((out, shared.to_decode()?))
}

/// The unit that `values` would have with these bytes.
pub fn unit_of<'a>(bytes: &'a [u8], values: &Values<'_>) -> Unit<'a> {
    Unit {
        bytes,
        len: values.len() as u32,
        decoded_bytes: values.decoded_bytes() as u32,
    }
}

/// All values of a unit. The memory is allocated from the sizes in `unit`, so these must not be hostile. A unit of byte
/// strings may decode to fewer bytes than it says.
///
/// # Errors
/// The errors of the decoders of `tree`.
pub fn decode(
    registry: &Registry,
    tree: &Tree,
    value_type: ValueType,
    unit: Unit<'_>,
    shared: &[SharedBuffer],
) -> Result<CaseValues> {
    let decoder = build_decoder(registry, tree, value_type, shared)?;
    let mut scratch = Scratch::new();
    let len = unit.len as usize;
    let mut decode = |out: Output<'_>| decoder.decode(unit, Selection::All, &mut scratch, out);
    match value_type {
        ValueType::Bits => {
            let mut bytes = vec![0; len.div_ceil(8)];
            decode(Output::Bits {
                bytes: &mut bytes,
                offset: 0,
            })?;
            Ok(CaseValues::Bits { bytes, len })
        }
        ValueType::Fixed(width) => {
            let width = width as usize;
            let mut bytes = vec![0; len * width];
            decode(Output::Fixed(&mut bytes))?;
            Ok(CaseValues::Fixed { bytes, width, len })
        }
        ValueType::Bytes => {
            let mut offsets = vec![0; len + 1];
            let mut data = vec![0; unit.decoded_bytes as usize];
            let written = decode(Output::Bytes {
                ends: &mut offsets[1..],
                base: 0,
                data: &mut data,
            })?;
            data.truncate(written);
            Ok(CaseValues::Bytes { offsets, data })
        }
    }
}

/// Checks that the values encode to the bytes of `tests/golden/v1/<name>.bin` in `folder`, the crate's folder, and that
/// these decode to the values. With `TARSIA_BLESS=1` a file that does not exist yet is written; an existing one never
/// changes.
///
/// # Panics
/// Where the bytes or the values differ, or where there is no such file.
pub fn check_golden(folder: &str, registry: &Registry, tree: &Tree, name: &str, case: &Case) {
    let (encoded, shared) = encode(registry, tree, case.values()).expect("encode");
    let golden = Golden {
        folder,
        registry,
        tree,
        shared: &shared,
    };
    golden.check_unit(name, case, &encoded);
}

/// Golden files under given shared buffers: which ones an encoder makes may change, what they mean may not.
pub struct Golden<'a> {
    /// The crate's folder.
    pub folder: &'a str,
    /// The encodings of the tree.
    pub registry: &'a Registry,
    /// The tree.
    pub tree: &'a Tree,
    /// Its shared buffers.
    pub shared: &'a [SharedBuffer],
}

impl Golden<'_> {
    /// As [`check_golden`].
    ///
    /// # Panics
    /// As [`check_golden`].
    pub fn check(&self, name: &str, case: &Case) {
        let values = case.values();
        let mut shared = existing(self.shared);
        let encoder = build_encoder(self.registry, self.tree, values, &mut shared);
        let mut encoded = vec![];
        let block = BlockValues::all(values).expect("a block");
        let done = encoder.expect("prepare").encode(block, &mut encoded);
        done.expect("encode");
        self.check_unit(name, case, &encoded);
    }

    /// Compares the unit of the values with its file, and what that decodes to with the values.
    fn check_unit(&self, name: &str, case: &Case, encoded: &[u8]) {
        let values = case.values();
        let path = Path::new(self.folder).join(format!("tests/golden/v1/{name}.bin"));
        if std::env::var_os("TARSIA_BLESS").is_some() && !path.exists() {
            fs::create_dir_all(path.parent().expect("a folder")).expect("create the folder");
            fs::write(&path, encoded).expect("write the golden file");
        }
        let frozen = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(encoded, frozen, "{name}: the encoder's bytes changed");
        let unit = unit_of(&frozen, &values);
        let (value_type, shared) = (values.value_type(), self.shared);
        let decoded = decode(self.registry, self.tree, value_type, unit, shared)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = &case.values;
        assert_eq!(
            format!("{decoded:?}"),
            format!("{expected:?}"),
            "{name}: the frozen bytes decode to other values"
        );
    }
}

/// A checksum for tests, which depends on every byte and its offset.
pub fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(7, |sum, byte| {
        (sum ^ u32::from(*byte))
            .wrapping_mul(0x0100_0193)
            .rotate_left(5)
    })
}
