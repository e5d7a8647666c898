//! The header: what the file is, what a reader must know, and where it ends.

use tarsia_codec::toolbox::{ByteReader, check_zero};

use crate::bytes::{check_crc, crc32c, slice};
use crate::error::{Error, FeatureWord, Result};
use crate::limits::{HEADER_BYTES, POSTSCRIPT_BYTES, U48_MAX, VERSION_MAJOR, VERSION_MINOR};

/// The first bytes of every file.
pub const MAGIC: [u8; 8] = *b"TARSIA\x1a\n";
const FIXED_BYTES: usize = 64;
const SLOT_BYTES: usize = 64;
const CRC_AT: usize = 60;
const STATE_CLEAN: u32 = 1;
/// First number of a slot of state JOURNAL.
pub const STATE_JOURNAL: u32 = 2;

const _: () = assert!(FIXED_BYTES + 2 * SLOT_BYTES == HEADER_BYTES);

/// The features that a file uses, as bits. Version 0.1 assigns no bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeatureWords {
    /// Without these a reader misunderstands the file.
    pub read: u64,
    /// Without these a program breaks the file when it modifies it.
    pub modify: u64,
    /// Safe to ignore.
    pub optional: u64,
}

impl FeatureWords {
    const KNOWN_READ: u64 = 0;
    const KNOWN_MODIFY: u64 = 0;

    /// Checks that this build may read the file. [`Header::parse`] and [`crate::Footer::parse`] call it.
    ///
    /// # Errors
    /// [`Error::UnsupportedFeature`] with the lowest unknown bit.
    pub fn check_readable(&self) -> Result<()> {
        check_bits(FeatureWord::Read, self.read & !Self::KNOWN_READ)
    }

    /// Checks that this build may modify the file.
    ///
    /// # Errors
    /// [`Error::UnsupportedFeature`] with the lowest unknown bit.
    pub fn check_modifiable(&self) -> Result<()> {
        self.check_readable()?;
        check_bits(FeatureWord::Modify, self.modify & !Self::KNOWN_MODIFY)
    }
}

fn check_bits(word: FeatureWord, unknown: u64) -> Result<()> {
    match unknown.trailing_zeros() {
        64 => Ok(()),
        bit => Err(Error::UnsupportedFeature { word, bit }),
    }
}

/// Refuses a version of the format that this build does not read.
pub(crate) fn check_version(major: u16, minor: u16) -> Result<()> {
    if major == VERSION_MAJOR && (1..=VERSION_MINOR).contains(&minor) {
        return Ok(());
    }
    Err(Error::UnsupportedVersion {
        what: "file format",
        major,
        minor,
    })
}

/// The state of the bytes up to the committed length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotState {
    /// These bytes are the file.
    Clean,
    /// These bytes are the file after the changes in the journal are applied to them.
    Journal {
        /// Offset of the journal's first byte.
        place: u64,
        /// Bytes of the journal.
        length: u64,
        /// First 16 bytes of the BLAKE3 of the journal.
        digest: [u8; 16],
    },
}

/// A state slot. Two of them are written alternately, so that one is always whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Counts the commits of the file; the first is 1.
    pub epoch: u64,
    /// Bytes of the file, header and postscript counted.
    pub committed_bytes: u64,
    /// Whether the file has a journal to apply.
    pub state: SlotState,
}

impl Slot {
    /// The slot of a new file of `committed_bytes`.
    pub fn first(committed_bytes: u64) -> Self {
        Self {
            epoch: 1,
            committed_bytes,
            state: SlotState::Clean,
        }
    }

    /// The slot's bytes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for fields that [`Header::parse`] would refuse.
    pub fn to_bytes(&self) -> Result<[u8; SLOT_BYTES]> {
        let (state, place, length, digest) = match self.state {
            SlotState::Clean => (STATE_CLEAN, 0, 0, [0; 16]),
            SlotState::Journal {
                place,
                length,
                digest,
            } => (STATE_JOURNAL, place, length, digest),
        };
        let mut out = Vec::with_capacity(SLOT_BYTES);
        out.extend_from_slice(&state.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        for field in [self.epoch, self.committed_bytes, place, length] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&digest);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&crc32c(&[&out]).to_le_bytes());
        Self::parse(&out, 0)?;
        let mut bytes = [0; SLOT_BYTES];
        bytes.copy_from_slice(&out);
        Ok(bytes)
    }

    /// A slot that is not all zero and whose checksum holds.
    fn parse(bytes: &[u8], at: usize) -> Result<Self> {
        let mut reader = ByteReader::new(bytes);
        let state = reader.u32("slot.state")?;
        check_zero(reader.take(4, "slot.reserved")?, "slot.reserved", 4)?;
        let epoch = reader.u64("slot.epoch")?;
        let committed_bytes = reader.u64("slot.committed_length")?;
        let place = reader.u64("slot.journal_place")?;
        let length = reader.u64("slot.journal_length")?;
        let mut digest = [0; 16];
        digest.copy_from_slice(reader.take(16, "slot.journal_digest")?);
        check_zero(reader.take(4, "slot.reserved")?, "slot.reserved", 56)?;
        if epoch == 0 {
            return Err(Error::corrupt("slot.epoch", at + 8, epoch, "1 or more"));
        }
        let smallest = (HEADER_BYTES + POSTSCRIPT_BYTES) as u64;
        if !(smallest..=U48_MAX).contains(&committed_bytes) {
            return Err(Error::corrupt(
                "slot.committed_length",
                at + 16,
                committed_bytes,
                "256 .. 2^48",
            ));
        }
        let state = match state {
            STATE_CLEAN if place == 0 && length == 0 && digest == [0; 16] => SlotState::Clean,
            STATE_CLEAN => {
                return Err(Error::corrupt(
                    "slot.journal_place",
                    at + 24,
                    place,
                    "no journal in state CLEAN",
                ));
            }
            STATE_JOURNAL if place >= HEADER_BYTES as u64 && length > 0 => {
                match place.checked_add(length) {
                    Some(end) if end <= U48_MAX => SlotState::Journal {
                        place,
                        length,
                        digest,
                    },
                    _ => {
                        return Err(Error::corrupt(
                            "slot.journal_length",
                            at + 32,
                            length,
                            "an end below 2^48",
                        ));
                    }
                }
            }
            STATE_JOURNAL => {
                return Err(Error::corrupt(
                    "slot.journal_place",
                    at + 24,
                    place,
                    "a journal behind the header",
                ));
            }
            other => {
                return Err(Error::corrupt(
                    "slot.state",
                    at,
                    other,
                    "CLEAN (1), JOURNAL (2)",
                ));
            }
        };
        Ok(Self {
            epoch,
            committed_bytes,
            state,
        })
    }
}

/// A slot as it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlotView {
    /// Zeros: never written.
    #[default]
    Empty,
    /// A checksum that does not hold: a write that was interrupted. It does not count.
    Torn {
        /// The stored checksum.
        stored: u32,
        /// The checksum of the slot's bytes.
        computed: u32,
    },
    /// A whole slot.
    Whole(Slot),
}

impl SlotView {
    fn parse(bytes: &[u8], at: usize) -> Result<Self> {
        let bytes = slice(bytes, at..at + SLOT_BYTES, "header.slots")?;
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(Self::Empty);
        }
        let (covered, stored) = bytes.split_at(CRC_AT);
        let stored = ByteReader::new(stored).u32("slot.crc")?;
        let computed = crc32c(&[covered]);
        if stored != computed {
            return Ok(Self::Torn { stored, computed });
        }
        // A slot with a right checksum that breaks a rule is an error. It is not skipped, since the other slot may be
        // out of date.
        Slot::parse(bytes, at).map(Self::Whole)
    }
}

/// Where the file ends, and the number of the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// Bytes of the file, header and postscript counted; the postscript is the last 64.
    pub bytes: u64,
    /// The commit's number, 1 for a file nobody modified.
    pub epoch: u64,
}

/// The first 192 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// Random, or zero in deterministic mode.
    pub file_id: [u8; 16],
    /// The features that the file uses.
    pub features: FeatureWords,
    /// State slots A and B.
    pub slots: [SlotView; 2],
}

impl Header {
    /// Offsets of state slots A and B.
    pub const SLOT_PLACES: [u64; 2] = [FIXED_BYTES as u64, (FIXED_BYTES + SLOT_BYTES) as u64];

    /// The header of a file that is being written: no slot yet.
    pub fn new(file_id: [u8; 16]) -> Self {
        Self {
            file_id,
            ..Self::default()
        }
    }

    /// The header with slot A for a new file of `committed_bytes` bytes.
    #[must_use]
    pub fn with_first_slot(mut self, committed_bytes: u64) -> Self {
        self.slots = [
            SlotView::Whole(Slot::first(committed_bytes)),
            SlotView::Empty,
        ];
        self
    }

    /// The header's bytes; torn slots become empty.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a slot that [`Header::parse`] would refuse.
    pub fn to_bytes(&self) -> Result<[u8; HEADER_BYTES]> {
        let mut out = Vec::with_capacity(HEADER_BYTES);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION_MAJOR.to_le_bytes());
        out.extend_from_slice(&VERSION_MINOR.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.file_id);
        for word in [
            self.features.read,
            self.features.modify,
            self.features.optional,
        ] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&crc32c(&[&out]).to_le_bytes());
        for slot in &self.slots {
            match slot {
                SlotView::Whole(slot) => out.extend_from_slice(&slot.to_bytes()?),
                SlotView::Empty | SlotView::Torn { .. } => {
                    out.extend_from_slice(&[0; SLOT_BYTES]);
                }
            }
        }
        let mut bytes = [0; HEADER_BYTES];
        bytes.copy_from_slice(&out);
        Ok(bytes)
    }

    /// Reads the first [`HEADER_BYTES`] of a file; bytes after them are ignored.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Corrupt`] (another magic, reserved bytes, a whole slot that breaks a rule),
    /// [`Error::Crc`], [`Error::UnsupportedVersion`], [`Error::UnsupportedFeature`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let bytes = slice(bytes, 0..HEADER_BYTES, "header")?;
        let mut reader = ByteReader::new(bytes);
        let magic = reader.u64("header.magic")?;
        if magic != u64::from_le_bytes(MAGIC) {
            return Err(Error::corrupt("header.magic", 0, magic, "TARSIA 1A 0A"));
        }
        let (major, minor) = (reader.u16("header.major")?, reader.u16("header.minor")?);
        check_zero(reader.take(4, "header.reserved")?, "header.reserved", 12)?;
        let mut file_id = [0; 16];
        file_id.copy_from_slice(reader.take(16, "header.file_id")?);
        let features = FeatureWords {
            read: reader.u64("header.features_read")?,
            modify: reader.u64("header.features_modify")?,
            optional: reader.u64("header.features_optional")?,
        };
        check_zero(reader.take(4, "header.reserved")?, "header.reserved", 56)?;
        let covered = slice(bytes, 0..CRC_AT, "header")?;
        check_crc("header", 0, reader.u32("header.crc")?, &[covered])?;
        check_version(major, minor)?;
        features.check_readable()?;
        Ok(Self {
            file_id,
            features,
            slots: [
                SlotView::parse(bytes, FIXED_BYTES)?,
                SlotView::parse(bytes, FIXED_BYTES + SLOT_BYTES)?,
            ],
        })
    }

    /// The current slot: of the whole slots the one with the higher epoch. `None` if neither was ever written.
    ///
    /// # Errors
    /// [`Error::Crc`] where no slot is whole, [`Error::Corrupt`] where both claim the same epoch.
    pub fn current_slot(&self) -> Result<Option<Slot>> {
        match self.slots {
            [SlotView::Whole(a), SlotView::Whole(b)] if a.epoch == b.epoch => Err(Error::corrupt(
                "slot.epoch",
                FIXED_BYTES + SLOT_BYTES + 8,
                b.epoch,
                "another epoch than slot A's",
            )),
            [SlotView::Whole(a), SlotView::Whole(b)] => {
                Ok(Some(if a.epoch > b.epoch { a } else { b }))
            }
            [SlotView::Whole(slot), _] | [_, SlotView::Whole(slot)] => Ok(Some(slot)),
            [SlotView::Empty, SlotView::Empty] => Ok(None),
            [SlotView::Torn { stored, computed }, _] => Err(Error::Crc {
                what: "slot A",
                place: FIXED_BYTES as u64,
                stored,
                computed,
            }),
            [_, SlotView::Torn { stored, computed }] => Err(Error::Crc {
                what: "slot B",
                place: (FIXED_BYTES + SLOT_BYTES) as u64,
                stored,
                computed,
            }),
        }
    }

    /// Where a file of `file_bytes` ends for a reader. In state JOURNAL it is the file as the journal leaves it:
    /// `file_bytes` are those of a reader that shows it so.
    ///
    /// # Errors
    /// As [`Header::current_slot`]; [`Error::Truncated`] where bytes are missing.
    pub fn committed(&self, file_bytes: u64) -> Result<Committed> {
        let committed = match self.current_slot()? {
            None => Committed {
                bytes: file_bytes,
                epoch: 1,
            },
            Some(Slot {
                state: SlotState::Journal { .. },
                epoch,
                committed_bytes,
            }) => Committed {
                bytes: committed_bytes,
                epoch: epoch.saturating_add(1),
            },
            Some(slot) => Committed {
                bytes: slot.committed_bytes,
                epoch: slot.epoch,
            },
        };
        let smallest = (HEADER_BYTES + POSTSCRIPT_BYTES) as u64;
        if committed.bytes > file_bytes || committed.bytes < smallest {
            return Err(Error::Truncated {
                field: "file",
                needed_bytes: committed.bytes.max(smallest),
                have_bytes: file_bytes,
            });
        }
        if committed.bytes > U48_MAX {
            return Err(Error::limit("file", committed.bytes, U48_MAX));
        }
        Ok(committed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOURNAL: SlotState = SlotState::Journal {
        place: 5000,
        length: 100,
        digest: [7; 16],
    };

    fn slot(epoch: u64, committed_bytes: u64, state: SlotState) -> SlotView {
        SlotView::Whole(Slot {
            epoch,
            committed_bytes,
            state,
        })
    }

    fn sample() -> Header {
        Header {
            file_id: *b"0123456789abcdef",
            features: FeatureWords {
                read: 0,
                modify: 0,
                optional: 1 << 63,
            },
            slots: [slot(7, 4096, SlotState::Clean), SlotView::Empty],
        }
    }

    /// The bytes with a right checksum over the fixed part.
    fn resealed(mut bytes: [u8; HEADER_BYTES]) -> [u8; HEADER_BYTES] {
        let sum = crc32c(&[&bytes[..CRC_AT]]);
        bytes[CRC_AT..FIXED_BYTES].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    #[test]
    fn round_trip_with_slots_in_every_state() {
        for slots in [
            [SlotView::Empty; 2],
            [slot(1, 256, SlotState::Clean), SlotView::Empty],
            [slot(2, 256, JOURNAL), slot(1, 300, SlotState::Clean)],
            [SlotView::Empty, slot(u64::MAX, U48_MAX, SlotState::Clean)],
        ] {
            let header = Header { slots, ..sample() };
            let bytes = header.to_bytes().unwrap();
            assert_eq!(Header::parse(&bytes), Ok(header));
        }
    }

    #[test]
    fn layout_is_the_specs() {
        let bytes = Header::new([9; 16])
            .with_first_slot(1000)
            .to_bytes()
            .unwrap();
        assert_eq!(bytes[..8], [0x54, 0x41, 0x52, 0x53, 0x49, 0x41, 0x1a, 0x0a]);
        assert_eq!(bytes[8..12], [0, 0, 1, 0]);
        assert_eq!(bytes[16..32], [9; 16]);
        assert_eq!(bytes[64..68], [1, 0, 0, 0]);
        assert_eq!(bytes[72..80], 1u64.to_le_bytes());
        assert_eq!(bytes[80..88], 1000u64.to_le_bytes());
        assert_eq!(bytes[128..], [0; 64]);
    }

    #[test]
    fn every_prefix_is_truncated_and_every_flipped_bit_is_found() {
        let bytes = sample().to_bytes().unwrap();
        for len in 0..bytes.len() {
            let got = Header::parse(&bytes[..len]);
            assert!(matches!(got, Err(Error::Truncated { .. })), "{len}");
        }
        // A flip in the empty slot B looks like a torn write. The file is read by slot A.
        for bit in 0..(FIXED_BYTES + SLOT_BYTES) * 8 {
            let mut bad = bytes;
            bad[bit / 8] ^= 1 << (bit % 8);
            let got = Header::parse(&bad).and_then(|header| header.committed(1 << 20));
            assert!(got.is_err(), "bit {bit}: {got:?}");
        }
        let mut bad = bytes;
        bad[191] ^= 1;
        let header = Header::parse(&bad).unwrap();
        assert!(matches!(header.slots[1], SlotView::Torn { .. }));
        assert_eq!(header.committed(1 << 20).unwrap().bytes, 4096);
    }

    #[test]
    fn unknown_versions_and_required_features_are_refused_by_name() {
        for (major, minor) in [(1, 0), (0, 0), (0, VERSION_MINOR + 1), (256, 1)] {
            let mut bytes = sample().to_bytes().unwrap();
            bytes[8..10].copy_from_slice(&u16::to_le_bytes(major));
            bytes[10..12].copy_from_slice(&u16::to_le_bytes(minor));
            let error = Header::parse(&resealed(bytes)).unwrap_err();
            assert_eq!(
                error,
                Error::UnsupportedVersion {
                    what: "file format",
                    major,
                    minor
                }
            );
        }
        let mut header = sample();
        header.features.read = 1 << 37 | 1 << 40;
        assert_eq!(
            Header::parse(&header.to_bytes().unwrap()),
            Err(Error::UnsupportedFeature {
                word: FeatureWord::Read,
                bit: 37
            })
        );
        header.features.read = 0;
        header.features.modify = 1 << 5;
        let header = Header::parse(&header.to_bytes().unwrap()).unwrap();
        assert_eq!(
            header.features.check_modifiable().unwrap_err().to_string(),
            "the file needs feature 5 to be modified, which this build does not know"
        );
    }

    #[test]
    fn the_whole_slot_with_the_higher_epoch_counts() {
        let clean = |epoch, bytes| slot(epoch, bytes, SlotState::Clean);
        let torn = SlotView::Torn {
            stored: 1,
            computed: 2,
        };
        let committed = |slots| {
            Header {
                slots,
                ..Header::default()
            }
            .committed(1000)
        };
        let bytes = |slots| committed(slots).map(|committed| committed.bytes);
        assert_eq!(bytes([clean(1, 300), clean(2, 400)]), Ok(400));
        assert_eq!(bytes([clean(3, 300), clean(2, 400)]), Ok(300));
        assert_eq!(bytes([torn, clean(2, 400)]), Ok(400));
        assert_eq!(
            committed([SlotView::Empty; 2]),
            Ok(Committed {
                bytes: 1000,
                epoch: 1
            })
        );
        assert!(matches!(
            bytes([clean(2, 300), clean(2, 300)]),
            Err(Error::Corrupt { .. })
        ));
        assert!(matches!(
            bytes([torn, SlotView::Empty]),
            Err(Error::Crc { place: 64, .. })
        ));
        assert!(matches!(
            bytes([SlotView::Empty, torn]),
            Err(Error::Crc { place: 128, .. })
        ));
        assert!(matches!(
            bytes([clean(1, 1001), torn]),
            Err(Error::Truncated { .. })
        ));
        // With the journal applied, it is the file of the commit after it.
        assert_eq!(bytes([slot(2, 300, JOURNAL), clean(1, 500)]), Ok(300));
        assert_eq!(bytes([slot(2, 300, JOURNAL), clean(3, 500)]), Ok(500));
    }

    #[test]
    fn a_whole_slot_that_breaks_a_rule_is_refused() {
        for bad in [
            Slot {
                epoch: 0,
                ..Slot::first(300)
            },
            Slot::first(255),
            Slot::first(U48_MAX + 1),
            Slot {
                state: SlotState::Journal {
                    place: 0,
                    length: 1,
                    digest: [0; 16],
                },
                ..Slot::first(300)
            },
            Slot {
                state: SlotState::Journal {
                    place: u64::MAX,
                    length: 2,
                    digest: [0; 16],
                },
                ..Slot::first(300)
            },
        ] {
            assert!(
                matches!(bad.to_bytes(), Err(Error::Corrupt { .. })),
                "{bad:?}"
            );
        }
        let mut bytes = sample().to_bytes().unwrap();
        bytes[64] = 3;
        let sum = crc32c(&[&bytes[64..124]]);
        bytes[124..128].copy_from_slice(&sum.to_le_bytes());
        assert!(matches!(
            Header::parse(&bytes),
            Err(Error::Corrupt {
                field: "slot.state",
                at_byte: 64,
                ..
            })
        ));
    }
}
