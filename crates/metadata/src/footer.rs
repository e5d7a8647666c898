//! The footer: what is stored once per file, whatever the number of columns.

use std::collections::HashSet;
use std::ops::Range;

use flatbuffers::{FlatBufferBuilder, VerifierOptions, WIPOffset};
use tarsia_codec::{Tree, Version, limits::ENCODING_ID_BYTES_MAX};

use crate::bytes::pad;
use crate::generated::footer as fb;
use crate::limits::{
    CREATED_BY_BYTES_MAX, FOOTER_BYTES_MAX, HEADER_BYTES, POSTSCRIPT_BYTES, RECORD_CHILDREN_BYTES,
    RECORD_HEADER_BYTES,
};
use crate::{Buckets, Error, FeatureWords, FileBounds, Header, Postscript, Result};

const FLAG_REQUIRED: u32 = 1;
const FLAG_HOLDS_VALUES: u32 = 2;

/// An encoding that a tree of the file names. They are ordered as the footer lists them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EncodingUse {
    /// `tarsia.bitpack`, `org.example.leco`.
    pub id: String,
    /// Version of its layout.
    pub version: Version,
}

impl EncodingUse {
    /// The encodings of these trees, as the footer lists them.
    pub fn of_trees<'a>(trees: impl IntoIterator<Item = &'a Tree>) -> Vec<Self> {
        let mut list = Vec::new();
        for tree in trees {
            tree.visit(&mut |node| {
                list.push(Self {
                    id: node.id.clone(),
                    version: node.version,
                });
            });
        }
        list.sort();
        list.dedup();
        list
    }

    fn key(&self) -> (&str, Version) {
        (&self.id, self.version)
    }
}

/// The section id of kernels; see [`crate::KernelSection`].
pub const SECTION_KERNEL: u32 = 11;

/// The section id of the set of deleted rows.
pub const SECTION_DELETED: u32 = 5;

/// The section id of the set of rows that the columns at level 2 do not hold any more.
pub const SECTION_ERASED: u32 = 6;

/// The section id of blocks that lie outside their page; see [`crate::MovedBlock`].
pub const SECTION_MOVED: u32 = 7;

/// The section id of the salt of the root digest and of the states that the file had before; see [`crate::History`].
pub const SECTION_HISTORY: u32 = 8;

/// The ids of the sections that this build knows.
pub const SECTIONS_KNOWN: [u32; 5] = [
    SECTION_DELETED,
    SECTION_ERASED,
    SECTION_MOVED,
    SECTION_HISTORY,
    SECTION_KERNEL,
];

/// The META of pages, and the kernel that decodes them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct MetaBlob {
    /// META, as the page writer made it.
    pub bytes: Vec<u8>,
    /// Index among the sections with id [`SECTION_KERNEL`]; `None` where the file carries no kernel for these pages.
    pub kernel: Option<u16>,
}

/// Says what a program has to do if it does not know a section's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SectionFlags {
    /// Refuse the file.
    pub required: bool,
    /// Drop the section when it erases: it may hold values.
    pub holds_values: bool,
}

/// A part of the metadata region that is neither record nor bucket nor column metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The kind of section; `docs/spec/file.md` lists the ids.
    pub id: u32,
    /// Version of its layout.
    pub version: Version,
    /// Its offset in the file.
    pub range: Range<u64>,
    /// Digest of kind 7 over its bytes.
    pub digest: [u8; 32],
    /// Says what to do when the id is unknown.
    pub flags: SectionFlags,
    /// Ordinals of the schema nodes it belongs to, rising; empty means the whole table.
    pub columns: Vec<u32>,
}

/// See `fbs/footer.fbs`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Footer {
    /// Sorted, each once; [`EncodingUse::of_trees`] makes the list.
    pub encodings: Vec<EncodingUse>,
    /// META blobs that many columns share, in the order of first use, each once. Others lie beside their column.
    pub metas: Vec<MetaBlob>,
    /// Sorted by offset.
    pub sections: Vec<Section>,
    /// A copy of the header's.
    pub features: FeatureWords,
    /// Where the metadata region starts.
    pub meta_place: u64,
    /// Where it ends and its digest tree starts.
    pub tree_place: u64,
    /// Schema nodes, the root counted.
    pub n_nodes: u32,
    /// Schema nodes that have a column.
    pub n_leaves: u32,
    /// Top-level fields.
    pub n_columns: u32,
    /// Offset of the root's record.
    pub root_place: u64,
    /// Bytes of the root's record.
    pub root_bytes: u32,
    /// Name and version of the writer, for people.
    pub created_by: String,
}

impl Footer {
    /// Reads the footer, whose checksum `postscript` has compared. `known_sections` are the ids of sections that the
    /// caller knows.
    ///
    /// # Errors
    /// [`Error::FlatBuffer`], [`Error::Corrupt`] (offsets outside the file or out of order, lists out of order),
    /// [`Error::UnsupportedFeature`], and [`Error::Unsupported`] for a required section that is not known.
    pub fn parse(bytes: &[u8], postscript: &Postscript, known_sections: &[u32]) -> Result<Self> {
        let options = VerifierOptions {
            max_depth: 4,
            // Each table takes at least 4 bytes in the vector that refers to it.
            max_tables: bytes.len() / 4,
            // Limits how much of the bytes is read more than once: tables that share one blob would copy it many times.
            // Writers share vtables only.
            max_apparent_size: bytes.len().saturating_mul(4).saturating_add(1024),
            ignore_missing_null_terminator: false,
        };
        let footer =
            flatbuffers::root_with_opts::<fb::Footer<'_>>(&options, bytes).map_err(|error| {
                Error::FlatBuffer {
                    what: "footer",
                    reason: error.to_string(),
                }
            })?;
        let parsed = Self {
            encodings: footer
                .encodings()
                .iter()
                .flatten()
                .map(|encoding| EncodingUse {
                    id: encoding.id().to_owned(),
                    version: Version::new(encoding.major(), encoding.minor()),
                })
                .collect(),
            metas: footer
                .metas()
                .iter()
                .flatten()
                .map(|meta| MetaBlob {
                    bytes: meta.bytes().bytes().to_vec(),
                    kernel: meta.kernel().checked_sub(1),
                })
                .collect(),
            sections: footer
                .sections()
                .iter()
                .flatten()
                .map(|section| section_from_fb(&section))
                .collect::<Result<_>>()?,
            features: FeatureWords {
                read: footer.features_read(),
                modify: footer.features_modify(),
                optional: footer.features_optional(),
            },
            meta_place: footer.meta_place(),
            tree_place: footer.tree_place(),
            n_nodes: footer.n_nodes(),
            n_leaves: footer.n_leaves(),
            n_columns: footer.n_columns(),
            root_place: footer.root_place(),
            root_bytes: footer.root_length(),
            created_by: footer.created_by().unwrap_or_default().to_owned(),
        };
        parsed.check(postscript)?;
        for section in &parsed.sections {
            if section.flags.required && !known_sections.contains(&section.id) {
                return Err(Error::Unsupported {
                    what: format!(
                        "required section {} version {}",
                        section.id, section.version
                    ),
                });
            }
        }
        Ok(parsed)
    }

    /// The footer's bytes, padded to a multiple of 8. They are checked against the postscript by
    /// [`Footer::check`], once that is known.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] for a footer of more than [`FOOTER_BYTES_MAX`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut builder = FlatBufferBuilder::new();
        let encodings: Vec<_> = self
            .encodings
            .iter()
            .map(|encoding| {
                let id = builder.create_string(&encoding.id);
                fb::Encoding::create(
                    &mut builder,
                    &fb::EncodingArgs {
                        id: Some(id),
                        major: encoding.version.major,
                        minor: encoding.version.minor,
                    },
                )
            })
            .collect();
        let encodings = vector(&mut builder, &encodings);
        let metas: Vec<_> = self
            .metas
            .iter()
            .map(|meta| {
                let bytes = builder.create_vector(&meta.bytes);
                fb::Meta::create(
                    &mut builder,
                    &fb::MetaArgs {
                        bytes: Some(bytes),
                        // 65,535 kernels or more are refused by the check of the lists.
                        kernel: meta.kernel.map_or(0, |kernel| kernel.saturating_add(1)),
                    },
                )
            })
            .collect();
        let metas = vector(&mut builder, &metas);
        let sections: Vec<_> = self
            .sections
            .iter()
            .map(|section| section_to_fb(section, &mut builder))
            .collect();
        let sections = vector(&mut builder, &sections);
        let created_by =
            (!self.created_by.is_empty()).then(|| builder.create_string(&self.created_by));
        let root = fb::Footer::create(
            &mut builder,
            &fb::FooterArgs {
                encodings,
                metas,
                sections,
                features_read: self.features.read,
                features_modify: self.features.modify,
                features_optional: self.features.optional,
                meta_place: self.meta_place,
                tree_place: self.tree_place,
                n_nodes: self.n_nodes,
                n_leaves: self.n_leaves,
                root_place: self.root_place,
                root_length: self.root_bytes,
                created_by,
                n_columns: self.n_columns,
            },
        );
        builder.finish(root, None);
        let mut out = builder.finished_data().to_vec();
        pad(&mut out, 8);
        if out.len() > FOOTER_BYTES_MAX {
            return Err(Error::limit(
                "FOOTER_BYTES_MAX",
                out.len() as u64,
                FOOTER_BYTES_MAX as u64,
            ));
        }
        Ok(out)
    }

    /// Refuses a footer that no writer writes beside `postscript`; [`Footer::parse`] calls it.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::LimitExceeded`], [`Error::UnsupportedFeature`].
    pub fn check(&self, postscript: &Postscript) -> Result<()> {
        self.features.check_readable()?;
        self.check_places(postscript)?;
        self.check_lists(postscript)
    }

    fn check_places(&self, postscript: &Postscript) -> Result<()> {
        let bad = |field, found, allowed| Err(Error::corrupt(field, 0, found, allowed));
        let footer_place = postscript
            .committed_bytes
            .saturating_sub(POSTSCRIPT_BYTES as u64 + u64::from(postscript.footer_bytes));
        let root_end = self.root_place.saturating_add(self.root_bytes.into());
        let smallest_root = (RECORD_HEADER_BYTES + RECORD_CHILDREN_BYTES) as u32;
        if self.meta_place < HEADER_BYTES as u64 || !self.meta_place.is_multiple_of(8) {
            return bad(
                "footer.meta_place",
                self.meta_place,
                "8-aligned places after the header",
            );
        }
        if self.tree_place > footer_place || !self.tree_place.is_multiple_of(8) {
            return bad(
                "footer.tree_place",
                self.tree_place,
                "8-aligned places before the footer",
            );
        }
        // The buckets end where the tree starts.
        self.buckets(postscript)?;
        if self.root_place < self.meta_place || !self.root_place.is_multiple_of(8) {
            return bad(
                "footer.root_place",
                self.root_place,
                "8-aligned places in the metadata",
            );
        }
        if self.root_bytes < smallest_root
            || !self.root_bytes.is_multiple_of(8)
            || root_end > postscript.bucket_place
        {
            return bad(
                "footer.root_length",
                self.root_bytes.into(),
                "a record before the buckets",
            );
        }
        let records_bytes = postscript.bucket_place.saturating_sub(self.root_place);
        let nodes_max = records_bytes / RECORD_HEADER_BYTES as u64;
        if self.n_nodes == 0 || u64::from(self.n_nodes) > nodes_max {
            return bad(
                "footer.n_nodes",
                self.n_nodes.into(),
                "nodes whose records fit the file",
            );
        }
        if self.n_columns >= self.n_nodes {
            return bad(
                "footer.n_columns",
                self.n_columns.into(),
                "fewer than the nodes",
            );
        }
        if self.n_leaves >= self.n_nodes {
            return bad(
                "footer.n_leaves",
                self.n_leaves.into(),
                "fewer than the nodes",
            );
        }
        Ok(())
    }

    fn check_lists(&self, postscript: &Postscript) -> Result<()> {
        let bad = |field, found: usize, allowed| Err(Error::corrupt(field, 0, found, allowed));
        for (i, encoding) in self.encodings.iter().enumerate() {
            let id = &encoding.id;
            let good = (1..=ENCODING_ID_BYTES_MAX).contains(&id.len())
                && id.bytes().all(|byte| byte.is_ascii_graphic());
            if !good {
                return bad("footer.encodings.id", i, "1 to 64 ASCII graphic characters");
            }
        }
        if !self.encodings.is_sorted_by(|a, b| a.key() < b.key()) {
            return bad("footer.encodings", 0, "sorted by id and version, each once");
        }
        let mut seen = HashSet::new();
        if !self.metas.iter().all(|meta| seen.insert(&*meta.bytes)) {
            return bad("footer.metas", self.metas.len(), "each blob once");
        }
        let n_kernels = self.sections_of(SECTION_KERNEL).count();
        let known = |kernel: u16| kernel < u16::MAX && usize::from(kernel) < n_kernels;
        for (i, meta) in self.metas.iter().enumerate() {
            if meta.kernel.is_some_and(|kernel| !known(kernel)) {
                return bad("footer.metas.kernel", i, "a kernel of the file");
            }
        }
        let footer_place = postscript
            .committed_bytes
            .saturating_sub(POSTSCRIPT_BYTES as u64 + u64::from(postscript.footer_bytes));
        let late_place = self.late_place();
        let mut end = self.meta_place;
        for (i, section) in self.sections.iter().enumerate() {
            let range = &section.range;
            if section.id == 0 {
                return bad("section.id", i, "1 or more");
            }
            let rising = range.start >= end && range.start <= range.end;
            let is_early = range.end <= self.root_place;
            let is_late = range.start >= late_place && range.end <= footer_place;
            if !rising || !(is_early || is_late) || !range.start.is_multiple_of(8) {
                return bad(
                    "section.place",
                    i,
                    "8-aligned places between metadata and records, or between tree and footer",
                );
            }
            end = range.end;
            let in_order = section.columns.is_sorted_by(|a, b| a < b);
            if !in_order
                || section
                    .columns
                    .last()
                    .is_some_and(|last| *last >= self.n_nodes)
            {
                return bad("section.columns", i, "ordinals of nodes, rising");
            }
        }
        if self.created_by.len() > CREATED_BY_BYTES_MAX {
            return Err(Error::limit(
                "CREATED_BY_BYTES_MAX",
                self.created_by.len() as u64,
                CREATED_BY_BYTES_MAX as u64,
            ));
        }
        Ok(())
    }

    /// Refuses a footer whose feature words are not the header's.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn check_header(&self, header: &Header) -> Result<()> {
        if self.features == header.features {
            return Ok(());
        }
        Err(Error::corrupt(
            "footer.features",
            0,
            self.features.read,
            "the header's feature words",
        ))
    }

    /// The bounds for offsets, rows, kernels and META indices of pages.
    pub fn bounds(&self, postscript: &Postscript) -> FileBounds {
        FileBounds {
            rows: postscript.rows,
            // A footer has at most 16 KiB.
            n_metas: self.metas.len() as u32,
            n_kernels: self.sections_of(SECTION_KERNEL).count() as u32,
            meta_place: self.meta_place,
            tree_place: self.tree_place,
        }
    }

    /// Where the digest tree ends. What erasures append lies from here to the footer.
    pub fn late_place(&self) -> u64 {
        let region = self.tree_place.saturating_sub(self.meta_place);
        self.tree_place
            .saturating_add(tarsia_compliance::stored_tree_bytes(region))
    }

    /// Returns the range in which erasures append: between the digest tree and the footer.
    pub fn late_range(&self, postscript: &Postscript) -> Range<u64> {
        let behind = POSTSCRIPT_BYTES as u64 + u64::from(postscript.footer_bytes);
        let end = postscript.committed_bytes.saturating_sub(behind);
        self.late_place().min(end)..end
    }

    /// The range of the buckets.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where they do not end where the digest tree starts.
    pub fn buckets(&self, postscript: &Postscript) -> Result<Buckets> {
        Buckets::new(
            postscript.buckets_log2,
            postscript.bucket_place,
            self.tree_place,
        )
    }

    /// The range of the records of all nodes, for [`crate::read_schema`].
    pub fn records_range(&self, postscript: &Postscript) -> Range<u64> {
        self.root_place..postscript.bucket_place.max(self.root_place)
    }

    /// The sections with this id.
    pub fn sections_of(&self, id: u32) -> impl Iterator<Item = &Section> {
        self.sections.iter().filter(move |section| section.id == id)
    }
}

fn section_from_fb(section: &fb::Section<'_>) -> Result<Section> {
    let flags = section.flags();
    if flags & !(FLAG_REQUIRED | FLAG_HOLDS_VALUES) != 0 {
        return Err(Error::corrupt("section.flags", 0, flags, "bits 1, 2"));
    }
    let place = section.place();
    let end = place.checked_add(section.length()).ok_or_else(|| {
        Error::corrupt(
            "section.length",
            0,
            section.length(),
            "ends inside the file",
        )
    })?;
    Ok(Section {
        id: section.id(),
        version: Version::new(section.major(), section.minor()),
        range: place..end,
        digest: section.digest().bytes().into(),
        flags: SectionFlags {
            required: flags & FLAG_REQUIRED != 0,
            holds_values: flags & FLAG_HOLDS_VALUES != 0,
        },
        columns: section.columns().iter().flatten().collect(),
    })
}

fn section_to_fb<'b>(
    section: &Section,
    builder: &mut FlatBufferBuilder<'b>,
) -> WIPOffset<fb::Section<'b>> {
    let columns = (!section.columns.is_empty()).then(|| builder.create_vector(&section.columns));
    let required = if section.flags.required {
        FLAG_REQUIRED
    } else {
        0
    };
    let holds_values = if section.flags.holds_values {
        FLAG_HOLDS_VALUES
    } else {
        0
    };
    fb::Section::create(
        builder,
        &fb::SectionArgs {
            id: section.id,
            major: section.version.major,
            minor: section.version.minor,
            place: section.range.start,
            length: section.range.end.saturating_sub(section.range.start),
            digest: Some(&fb::Digest::new(&section.digest)),
            flags: required | holds_values,
            columns,
        },
    )
}

/// A vector of tables, absent where there are none.
fn vector<'b, T>(
    builder: &mut FlatBufferBuilder<'b>,
    tables: &[WIPOffset<T>],
) -> Option<WIPOffset<flatbuffers::Vector<'b, flatbuffers::ForwardsUOffset<T>>>> {
    (!tables.is_empty()).then(|| builder.create_vector(tables))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(bytes: Vec<u8>) -> MetaBlob {
        MetaBlob {
            bytes,
            kernel: None,
        }
    }

    const V: Version = Version::new(1, 0);

    fn postscript() -> Postscript {
        Postscript {
            committed_bytes: 20_000,
            rows: 100,
            buckets_log2: 0,
            bucket_place: 11_952,
            footer_bytes: 1000,
            root_digest: [0; 32],
        }
    }

    fn sample() -> Footer {
        let codes = Tree::leaf("tarsia.bitpack", V, &[]);
        let tree = Tree::node("tarsia.dict", V, &[], vec![codes.clone()]);
        let section = |id, range| Section {
            id,
            version: V,
            range,
            digest: [5; 32],
            flags: SectionFlags::default(),
            columns: vec![],
        };
        Footer {
            encodings: EncodingUse::of_trees([&tree, &codes]),
            metas: [vec![1, 2, 3], vec![], vec![9; 100]].map(blob).into(),
            sections: vec![
                section(1, 10_000..10_100),
                Section {
                    flags: SectionFlags {
                        required: true,
                        holds_values: true,
                    },
                    columns: vec![1, 2],
                    ..section(4, 10_104..10_200)
                },
            ],
            features: FeatureWords {
                read: 0,
                modify: 4,
                optional: u64::MAX,
            },
            meta_place: 9000,
            tree_place: 12_000,
            n_nodes: 3,
            n_leaves: 2,
            n_columns: 2,
            root_place: 11_600,
            root_bytes: 56,
            created_by: "tarsia 0.1.0".into(),
        }
    }

    #[test]
    fn round_trip() {
        let bytes = sample().to_bytes().unwrap();
        assert_eq!(bytes.len() % 8, 0);
        assert_eq!(Footer::parse(&bytes, &postscript(), &[4]), Ok(sample()));
        assert_eq!(sample().to_bytes(), Ok(bytes));
        let ids: Vec<_> = sample()
            .encodings
            .into_iter()
            .map(|encoding| encoding.id)
            .collect();
        assert_eq!(ids, ["tarsia.bitpack", "tarsia.dict"]);
        assert_eq!(sample().sections_of(4).count(), 1);
    }

    #[test]
    fn kernels_are_named_by_their_place_among_kernels() {
        let mut footer = sample();
        footer.sections[0].id = SECTION_KERNEL;
        footer.metas[2].kernel = Some(0);
        let bytes = footer.to_bytes().unwrap();
        let parsed = Footer::parse(&bytes, &postscript(), &[4]).unwrap();
        assert_eq!(parsed, footer);
        for (kernel, allowed) in [(1, false), (u16::MAX, false), (0, true)] {
            footer.metas[2].kernel = Some(kernel);
            assert_eq!(footer.check(&postscript()).is_ok(), allowed, "{kernel}");
        }
    }

    #[test]
    fn an_unknown_section_is_refused_only_where_it_is_required() {
        let bytes = sample().to_bytes().unwrap();
        let error = Footer::parse(&bytes, &postscript(), &[1]).unwrap_err();
        assert!(
            error.to_string().contains("required section 4 version 1.0"),
            "{error}"
        );
        assert!(Footer::parse(&bytes, &postscript(), &[4]).is_ok());
    }

    #[test]
    fn feature_words_are_checked_here_too() {
        let mut footer = sample();
        footer.features.read = 2;
        let bytes = footer.to_bytes().unwrap();
        let error = Footer::parse(&bytes, &postscript(), &[4]).unwrap_err();
        assert!(matches!(error, Error::UnsupportedFeature { bit: 1, .. }));
        let header = Header {
            features: sample().features,
            ..Header::default()
        };
        assert!(sample().check_header(&header).is_ok());
        assert!(sample().check_header(&Header::default()).is_err());
    }

    #[test]
    fn one_broken_field_at_a_time() {
        type Break = fn(&mut Footer);
        let breaks: &[(&str, Break)] = &[
            ("meta before header", |f| f.meta_place = 184),
            ("meta unaligned", |f| f.meta_place += 4),
            ("meta after root", |f| f.meta_place = 11_608),
            ("tree behind footer", |f| f.tree_place = 20_000),
            ("tree not behind buckets", |f| f.tree_place = 11_936),
            ("tree far behind buckets", |f| f.tree_place = 18_000),
            ("root behind buckets", |f| f.root_place = 11_904),
            ("root at the end of numbers", |f| {
                f.root_place = u64::MAX - 7
            }),
            ("root too short", |f| f.root_bytes = 40),
            ("root length unaligned", |f| f.root_bytes = 57),
            ("no nodes", |f| f.n_nodes = 0),
            ("more nodes than fit", |f| f.n_nodes = 15),
            ("as many leaves as nodes", |f| f.n_leaves = 3),
            ("as many columns as nodes", |f| f.n_columns = 3),
            ("encodings out of order", |f| f.encodings.reverse()),
            ("encoding twice", |f| {
                f.encodings[1] = f.encodings[0].clone()
            }),
            ("empty id", |f| f.encodings[0].id.clear()),
            ("id with a space", |f| f.encodings[0].id = "a b".into()),
            ("same blob twice", |f| f.metas[1] = blob(vec![1, 2, 3])),
            ("a kernel that is not there", |f| {
                f.metas[0].kernel = Some(0)
            }),
            ("section id 0", |f| f.sections[0].id = 0),
            ("sections overlap", |f| f.sections[1].range.start = 10_096),
            ("section in the records", |f| {
                f.sections[1].range.end = 11_608
            }),
            ("section columns fall", |f| {
                f.sections[1].columns = vec![2, 1]
            }),
            ("section of an unknown node", |f| {
                f.sections[1].columns = vec![3]
            }),
        ];
        for (what, change) in breaks {
            let mut footer = sample();
            change(&mut footer);
            let bytes = footer.to_bytes().unwrap();
            let got = Footer::parse(&bytes, &postscript(), &[4]);
            assert!(matches!(got, Err(Error::Corrupt { .. })), "{what}: {got:?}");
        }
        let mut footer = sample();
        footer.created_by = "x".repeat(257);
        assert!(footer.check(&postscript()).is_err());
        footer.metas = vec![blob(vec![0; FOOTER_BYTES_MAX])];
        assert!(matches!(
            footer.to_bytes(),
            Err(Error::LimitExceeded { .. })
        ));
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let bytes = sample().to_bytes().unwrap();
        for len in 0..bytes.len() {
            let got = Footer::parse(&bytes[..len], &postscript(), &[4]);
            assert!(got.is_err() || got == Ok(sample()), "{len}: {got:?}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let _ = Footer::parse(&bad, &postscript(), &[4]);
        }
    }

    #[test]
    fn a_blob_that_many_tables_share_is_refused() {
        let mut builder = FlatBufferBuilder::new();
        let blob = builder.create_vector(&vec![0u8; 10_000]);
        let metas: Vec<_> = (0..1000)
            .map(|_| {
                fb::Meta::create(
                    &mut builder,
                    &fb::MetaArgs {
                        bytes: Some(blob),
                        kernel: 0,
                    },
                )
            })
            .collect();
        let metas = Some(builder.create_vector(&metas));
        let args = fb::FooterArgs {
            metas,
            ..Default::default()
        };
        let root = fb::Footer::create(&mut builder, &args);
        builder.finish(root, None);
        let got = Footer::parse(builder.finished_data(), &postscript(), &[]);
        assert!(matches!(got, Err(Error::FlatBuffer { .. })), "{got:?}");
    }
}
