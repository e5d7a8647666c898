//! The FlatBuffer of columns that need more than their record holds: several pages, or shared buffers.

use std::ops::Range;

use flatbuffers::{FlatBufferBuilder, VerifierOptions, WIPOffset};

use super::description::{MetaRef, PageDescription};
use super::page::{FileBounds, PageDescriptor};
use super::record::{ColumnRecord, ColumnSource};
use crate::bytes::{check_crc, pad};
use crate::generated::column as fb;
use crate::limits::{PAGE_STRUCT_BYTES, PAGES_MAX};
use crate::{Error, Result};

const _: () = assert!(size_of::<fb::Page>() == PAGE_STRUCT_BYTES);

/// All pages of a column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnMeta {
    /// In row order, covering all rows; empty for [`ColumnSource::Empty`].
    pub pages: Vec<PageDescriptor>,
    /// Shared pages, in the order of their indices.
    pub shared_pages: Vec<PageDescriptor>,
    /// Descriptions of all pages, which name them by their index.
    pub descriptions: Vec<PageDescription>,
}

impl ColumnMeta {
    /// The pages of a column. `read` is called at most once, with the byte range of the column's metadata.
    ///
    /// # Errors
    /// What `read` returns, and as [`ColumnMeta::parse`].
    pub fn load<B, E>(
        record: &ColumnRecord<'_>,
        bounds: &FileBounds,
        read: impl FnOnce(Range<u64>) -> Result<B, E>,
    ) -> Result<Self, E>
    where
        B: AsRef<[u8]>,
        E: From<Error>,
    {
        if let ColumnSource::Meta { place, length, crc } = record.source {
            let end = place.checked_add(length.into());
            let range = match end {
                Some(end) if place >= bounds.meta_place && end <= bounds.tree_place => place..end,
                _ => {
                    return Err(
                        Error::corrupt("column.place", 8, place, "places in the metadata").into(),
                    );
                }
            };
            let bytes = read(range)?;
            return Ok(Self::parse(bytes.as_ref(), crc, bounds).map_err(|error| error.at(place))?);
        }
        if let ColumnSource::Inside { bytes } = record.source {
            return Ok(Self::parse_inside(bytes, bounds)?);
        }
        let (pages, descriptions) = record.page(bounds)?.into_iter().unzip();
        Ok(Self {
            pages,
            descriptions,
            ..Self::default()
        })
    }

    /// The description of a page.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a page of another column.
    pub fn description_of(&self, page: &PageDescriptor) -> Result<&PageDescription> {
        let found = self.descriptions.get(page.description as usize);
        found.ok_or_else(|| Error::invalid("a page of another column"))
    }

    /// Reads the FlatBuffer of `fbs/column.fbs` with its padding.
    ///
    /// # Errors
    /// [`Error::Crc`], [`Error::FlatBuffer`], [`Error::Corrupt`] where the pages do not cover the rows or do not fit
    /// the file.
    pub fn parse(bytes: &[u8], stored_crc: u32, bounds: &FileBounds) -> Result<Self> {
        check_crc("column metadata", 0, stored_crc, &[bytes])?;
        Self::parse_inside(bytes, bounds)
    }

    /// Reads the FlatBuffer of a record, whose checksum was compared.
    fn parse_inside(bytes: &[u8], bounds: &FileBounds) -> Result<Self> {
        let options = VerifierOptions {
            max_depth: 4,
            // Each table takes at least 4 bytes in the vector that refers to it.
            max_tables: bytes.len() / 4,
            // Limits how much of the bytes is read more than once: descriptions that share one META would copy it many
            // times. Writers share vtables only.
            max_apparent_size: bytes.len().saturating_mul(4).saturating_add(1024),
            ignore_missing_null_terminator: false,
        };
        let meta = flatbuffers::root_with_opts::<fb::ColumnMeta<'_>>(&options, bytes).map_err(
            |error| Error::FlatBuffer {
                what: "column metadata",
                reason: error.to_string(),
            },
        )?;
        let parsed = Self {
            pages: meta.pages().iter().map(from_fb).collect(),
            shared_pages: meta
                .shared_pages()
                .iter()
                .flat_map(|pages| pages.iter().map(from_fb))
                .collect(),
            descriptions: meta
                .descriptions()
                .iter()
                .map(|description| description_from_fb(&description))
                .collect::<Result<_>>()?,
        };
        parsed.check(bounds)?;
        Ok(parsed)
    }

    /// The FlatBuffer, padded to a multiple of 8 bytes. [`ColumnRecord::of_meta`] stores its checksum and offset.
    ///
    /// # Errors
    /// What [`ColumnMeta::parse`] would refuse.
    pub fn to_bytes(&self, bounds: &FileBounds) -> Result<Vec<u8>> {
        self.check(bounds)?;
        let mut builder = FlatBufferBuilder::new();
        let descriptions: Vec<_> = self
            .descriptions
            .iter()
            .map(|description| description_to_fb(description, &mut builder))
            .collect();
        let descriptions = builder.create_vector(&descriptions);
        let shared_pages: Vec<_> = self.shared_pages.iter().map(to_fb).collect();
        let shared_pages = (!shared_pages.is_empty()).then(|| builder.create_vector(&shared_pages));
        let pages: Vec<_> = self.pages.iter().map(to_fb).collect();
        let pages = builder.create_vector(&pages);
        let root = fb::ColumnMeta::create(
            &mut builder,
            &fb::ColumnMetaArgs {
                pages: Some(pages),
                shared_pages,
                descriptions: Some(descriptions),
            },
        );
        builder.finish(root, None);
        let mut out = builder.finished_data().to_vec();
        pad(&mut out, 8);
        Ok(out)
    }

    /// The FlatBuffer with what an erasure changes of pages: epoch, null count and digest are taken from `self`, whose
    /// pages are those of `bytes` in all else. As long as before, whatever program wrote it.
    ///
    /// # Errors
    /// [`Error::FlatBuffer`]; [`Error::InvalidInput`] for other pages.
    pub fn patched(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let meta = flatbuffers::root::<fb::ColumnMeta<'_>>(bytes).map_err(|error| {
            let reason = error.to_string();
            let what = "column metadata";
            Error::FlatBuffer { what, reason }
        })?;
        let mut out = bytes.to_vec();
        let start = bytes.as_ptr().addr();
        let lists = [
            (Some(meta.pages()), &self.pages),
            (meta.shared_pages(), &self.shared_pages),
        ];
        for (stored, pages) in lists {
            let n_stored = stored.map_or(0, |stored| stored.len());
            if n_stored != pages.len() {
                return Err(Error::invalid("pages that are not those of the column"));
            }
            let Some(stored) = stored else { continue };
            // The vector is a part of `bytes`.
            let at = stored.bytes().as_ptr().addr().wrapping_sub(start);
            let structs = out.get_mut(at..at + n_stored * PAGE_STRUCT_BYTES);
            let (structs, _) = structs
                .unwrap_or_default()
                .as_chunks_mut::<PAGE_STRUCT_BYTES>();
            for (to, page) in structs.iter_mut().zip(pages) {
                let mut changed = fb::Page(*to);
                changed.set_epoch(page.epoch);
                changed.set_null_count(page.null_count);
                changed.set_digest(&page.digest);
                if from_fb(&changed) != *page {
                    return Err(Error::invalid("pages that are not those of the column"));
                }
                *to = changed.0;
            }
        }
        Ok(out)
    }

    /// Index in [`ColumnMeta::pages`] of the page that holds `row`; `None` beyond the last.
    pub fn page_of_row(&self, row: u64) -> Option<usize> {
        let behind = self.pages.partition_point(|page| page.first_row <= row);
        let index = behind.checked_sub(1)?;
        self.pages
            .get(index)?
            .row_range()
            .contains(&row)
            .then_some(index)
    }

    /// Null items of all pages.
    pub fn null_count(&self) -> u64 {
        self.pages
            .iter()
            .map(|page| u64::from(page.null_count))
            .sum()
    }

    fn check(&self, bounds: &FileBounds) -> Result<()> {
        let n_shared = self.shared_pages.len();
        for n_pages in [n_shared, self.pages.len()] {
            if n_pages > PAGES_MAX {
                return Err(Error::limit("PAGES_MAX", n_pages as u64, PAGES_MAX as u64));
            }
        }
        for description in &self.descriptions {
            description.check(bounds)?;
        }
        let mut next_row = 0;
        for page in &self.pages {
            page.check(bounds, 0)?;
            if page.first_row != next_row {
                return Err(Error::corrupt(
                    "page.first_row",
                    0,
                    page.first_row,
                    "where the page before ends",
                ));
            }
            next_row = page.row_range().end;
            self.check_description(page, n_shared)?;
        }
        if next_row != bounds.rows || self.pages.is_empty() {
            return Err(Error::corrupt(
                "column.pages",
                0,
                next_row,
                "pages that cover all rows",
            ));
        }
        for (number, page) in self.shared_pages.iter().enumerate() {
            page.check(bounds, 0)?;
            if page.first_row != 0 || page.null_count != 0 {
                return Err(Error::corrupt(
                    "page.first_row",
                    0,
                    page.first_row,
                    "shared pages without row or nulls",
                ));
            }
            // The shared pages that a shared page is decoded with come before it, so that no page needs itself.
            self.check_description(page, number)?;
        }
        Ok(())
    }

    /// Checks that a page's description exists and names only shared pages with an index below `end`.
    fn check_description(&self, page: &PageDescriptor, end: usize) -> Result<()> {
        match self.descriptions.get(page.description as usize) {
            Some(description) => description.check_shared(end),
            None => {
                let allowed = "descriptions of the column";
                Err(Error::corrupt(
                    "page.description",
                    0,
                    page.description,
                    allowed,
                ))
            }
        }
    }
}

fn description_from_fb(description: &fb::Description<'_>) -> Result<PageDescription> {
    let meta = match description.meta() {
        Some(meta) if description.common() == 0 => MetaRef::Own {
            bytes: meta.bytes(),
            kernel: description.kernel().checked_sub(1),
        },
        None if description.kernel() == 0 => MetaRef::Common(description.common()),
        _ => {
            let found = description.common().max(description.kernel());
            let allowed = "an index without META, a kernel with META";
            return Err(Error::corrupt("page.meta", 0, found, allowed));
        }
    };
    Ok(PageDescription {
        meta: meta.to_owned(),
        shared: description.shared().iter().flatten().collect(),
    })
}

fn description_to_fb<'b>(
    description: &PageDescription,
    builder: &mut FlatBufferBuilder<'b>,
) -> WIPOffset<fb::Description<'b>> {
    let shared = &description.shared;
    let shared = (!shared.is_empty()).then(|| builder.create_vector(shared));
    let args = match description.meta.as_ref() {
        MetaRef::Common(common) => fb::DescriptionArgs {
            common,
            shared,
            ..Default::default()
        },
        MetaRef::Own { bytes, kernel } => fb::DescriptionArgs {
            meta: Some(builder.create_vector(bytes)),
            // 65,535 kernels or more were refused by the check.
            kernel: kernel.map_or(0, |kernel| kernel.saturating_add(1)),
            shared,
            ..Default::default()
        },
    };
    fb::Description::create(builder, &args)
}

fn from_fb(page: &fb::Page) -> PageDescriptor {
    PageDescriptor {
        first_row: page.first_row(),
        place: page.place(),
        side_place: page.side_place(),
        epoch: page.epoch(),
        length: page.length(),
        rows: page.rows(),
        n_blocks: page.n_blocks(),
        side_length: page.side_length(),
        null_count: page.null_count(),
        description: page.description(),
        digest: page.digest().into(),
    }
}

fn to_fb(page: &PageDescriptor) -> fb::Page {
    fb::Page::new(
        page.first_row,
        page.place,
        page.side_place,
        page.epoch,
        page.length,
        page.rows,
        page.n_blocks,
        page.side_length,
        page.null_count,
        page.description,
        &page.digest,
    )
}

#[cfg(test)]
mod tests {
    use super::super::page::made_up::{BOUNDS, page};
    use super::*;
    use crate::bytes::crc32c;
    use crate::{MetaBlob, PageMeta};

    fn own(shared: &[u32]) -> PageDescription {
        PageDescription {
            meta: PageMeta::Own(MetaBlob {
                bytes: vec![7, 8, 9],
                kernel: Some(0),
            }),
            shared: shared.to_vec(),
        }
    }

    fn sample() -> ColumnMeta {
        ColumnMeta {
            pages: vec![
                PageDescriptor {
                    description: 2,
                    ..page(0, 1024)
                },
                page(1024, 1976),
            ],
            shared_pages: vec![shared_page(0), shared_page(1), shared_page(0)],
            descriptions: vec![
                PageDescription::of_meta(PageMeta::Common(1)),
                own(&[0]),
                own(&[2, 1, 1]),
            ],
        }
    }

    fn shared_page(description: u32) -> PageDescriptor {
        PageDescriptor {
            null_count: 0,
            description,
            ..page(0, 50)
        }
    }

    #[test]
    fn what_an_erasure_changes_is_patched_in_place() {
        let bytes = sample().to_bytes(&BOUNDS).unwrap();
        let mut changed = sample();
        for (i, page) in (0..).zip(changed.pages.iter_mut().chain(&mut changed.shared_pages)) {
            page.epoch = 7 + i;
            page.digest = [i as u8; 32];
        }
        changed.pages[1].null_count = 1;
        let patched = changed.patched(&bytes).unwrap();
        assert_eq!(patched, changed.to_bytes(&BOUNDS).unwrap());
        assert_eq!(changed.patched(&patched).unwrap(), patched);
        changed.pages[0].rows += 1;
        assert!(changed.patched(&bytes).is_err());
        changed.pages.pop();
        assert!(changed.patched(&bytes).is_err());
    }

    #[test]
    fn descriptions_that_lead_nowhere_or_in_circles_are_refused() {
        let check = |change: fn(&mut ColumnMeta)| {
            let mut meta = sample();
            change(&mut meta);
            let got = meta.to_bytes(&BOUNDS);
            assert!(matches!(got, Err(Error::Corrupt { .. })), "{meta:?}");
        };
        // A description that is not there, META and a kernel that are not, a shared page that is not.
        check(|meta| meta.pages[1].description = 3);
        check(|meta| meta.descriptions.truncate(2));
        check(|meta| meta.descriptions[0].meta = PageMeta::Common(2));
        check(|meta| {
            meta.descriptions[2].meta = PageMeta::Own(MetaBlob {
                bytes: Vec::new(),
                kernel: Some(1),
            });
        });
        check(|meta| meta.descriptions[2].shared[0] = 3);
        check(|meta| meta.descriptions[2].shared = vec![0; 33]);
        // Of itself, and of a later one.
        check(|meta| meta.shared_pages[0].description = 1);
        check(|meta| meta.shared_pages[0].description = 2);
        check(|meta| meta.shared_pages[1].first_row = 1);
    }

    /// Descriptions that all use the bytes of one META.
    #[test]
    fn meta_that_many_descriptions_share_is_refused() {
        let mut builder = FlatBufferBuilder::new();
        let blob = builder.create_vector(&vec![0u8; 10_000]);
        let descriptions: Vec<_> = (0..1000)
            .map(|_| {
                let args = fb::DescriptionArgs {
                    meta: Some(blob),
                    ..Default::default()
                };
                fb::Description::create(&mut builder, &args)
            })
            .collect();
        let descriptions = builder.create_vector(&descriptions);
        let pages = builder.create_vector(&[to_fb(&page(0, 3000))]);
        let args = fb::ColumnMetaArgs {
            pages: Some(pages),
            descriptions: Some(descriptions),
            ..Default::default()
        };
        let root = fb::ColumnMeta::create(&mut builder, &args);
        builder.finish(root, None);
        let got = ColumnMeta::parse_inside(builder.finished_data(), &BOUNDS);
        assert!(matches!(got, Err(Error::FlatBuffer { .. })), "{got:?}");
    }

    #[test]
    fn column_metadata_round_trips_and_loads() {
        for meta in [
            sample(),
            ColumnMeta {
                pages: vec![page(0, 3000)],
                descriptions: vec![PageDescription::of_meta(PageMeta::Common(0))],
                ..ColumnMeta::default()
            },
        ] {
            let bytes = meta.to_bytes(&BOUNDS).unwrap();
            assert_eq!(bytes.len() % 8, 0);
            assert_eq!(
                ColumnMeta::parse(&bytes, crc32c(&[&bytes]), &BOUNDS),
                Ok(meta.clone())
            );
            let record = ColumnRecord::of_meta(150_000, &bytes, [1; 32]).unwrap();
            let loaded = ColumnMeta::load(&record, &BOUNDS, |range| {
                assert_eq!(range, 150_000..150_000 + bytes.len() as u64);
                Ok::<_, Error>(&bytes)
            });
            assert_eq!(loaded, Ok(meta.clone()));
            let record = ColumnRecord::of_meta_inside(&bytes, [1; 32]).unwrap();
            let loaded = ColumnMeta::load(&record, &BOUNDS, |_| -> Result<Vec<u8>> {
                panic!("the bytes are there")
            });
            assert_eq!(loaded, Ok(meta));
        }
        assert_eq!(sample().page_of_row(1023), Some(0));
        assert_eq!(sample().page_of_row(1024), Some(1));
        assert_eq!(sample().page_of_row(3000), None);
        assert_eq!(sample().null_count(), 10);
    }

    #[test]
    fn pages_that_no_writer_describes_are_refused() {
        let good = page(0, 3000);
        let refused = [
            PageDescriptor { rows: 0, ..good },
            PageDescriptor {
                n_blocks: 0,
                ..good
            },
            PageDescriptor {
                n_blocks: 3001,
                ..good
            },
            PageDescriptor {
                length: 127,
                ..good
            },
            PageDescriptor { length: 96, ..good },
            PageDescriptor { place: 184, ..good },
            PageDescriptor { place: 264, ..good },
            PageDescriptor {
                place: 96_064,
                ..good
            },
            PageDescriptor {
                place: u64::MAX - 63,
                ..good
            },
            PageDescriptor {
                description: 1,
                ..good
            },
            PageDescriptor {
                n_blocks: 1,
                ..good
            },
            PageDescriptor {
                side_place: 99_992,
                ..good
            },
            PageDescriptor {
                side_place: 199_880,
                ..good
            },
            PageDescriptor {
                side_place: u64::MAX - 7,
                ..good
            },
            PageDescriptor {
                side_length: 64,
                ..good
            },
            PageDescriptor {
                first_row: 1,
                ..good
            },
            PageDescriptor { rows: 2999, ..good },
        ];
        for page in refused {
            let meta = ColumnMeta {
                pages: vec![page],
                descriptions: sample().descriptions[..1].to_vec(),
                ..ColumnMeta::default()
            };
            assert!(
                matches!(meta.to_bytes(&BOUNDS), Err(Error::Corrupt { .. })),
                "{page:?}"
            );
        }
        assert!(ColumnMeta::default().to_bytes(&BOUNDS).is_err());
        let mut null_entry = sample();
        null_entry.shared_pages[0].null_count = 1;
        assert!(null_entry.to_bytes(&BOUNDS).is_err());
    }

    #[test]
    fn metadata_outside_the_region_is_not_read() {
        for (place, length) in [(99_999, 8), (199_993, 8), (u64::MAX, 8)] {
            let record = ColumnRecord {
                zones: None,
                blooms: None,
                level: Default::default(),
                source: ColumnSource::Meta {
                    place,
                    length,
                    crc: 0,
                },
                digest: [0; 32],
            };
            let got = ColumnMeta::load(&record, &BOUNDS, |_| -> Result<Vec<u8>> {
                panic!("read outside the metadata")
            });
            assert!(matches!(got, Err(Error::Corrupt { .. })), "{place}");
        }
    }

    #[test]
    fn every_prefix_and_flipped_bit_is_an_error_even_with_a_right_checksum_no_panic() {
        let bytes = sample().to_bytes(&BOUNDS).unwrap();
        let stored = crc32c(&[&bytes]);
        for len in 0..bytes.len() {
            let got = ColumnMeta::parse(&bytes[..len], stored, &BOUNDS);
            assert!(matches!(got, Err(Error::Crc { .. })), "{len}");
            // With a right checksum as well. A success is possible only if the bytes cut off are padding.
            let cut = &bytes[..len];
            let got = ColumnMeta::parse(cut, crc32c(&[cut]), &BOUNDS);
            assert!(
                got.is_err() || got.as_ref() == Ok(&sample()),
                "{len}: {got:?}"
            );
        }
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let got = ColumnMeta::parse(&bad, stored, &BOUNDS);
            assert!(matches!(got, Err(Error::Crc { .. })), "bit {bit}");
            let _ = ColumnMeta::parse(&bad, crc32c(&[&bad]), &BOUNDS);
        }
    }
}
