//! One column of a read: what was planned, what was fetched, and what decodes it.

use std::sync::Arc;

use tarsia_codec::OwnedValues;
use tarsia_structure::{Block, PageDecoder};

use super::checks::Checks;
use super::decoder::{Decoder, DecoderCache};
use super::parts::{FetchedPart, PageRun};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{BlockPart, PageParts, Plan};
use crate::session::Session;
use crate::source::Source;
use crate::table::{Column, Page};

/// The parts of an open file that decoding needs.
#[derive(Clone, Copy)]
pub(crate) struct Decoding<'a> {
    /// For zero-copy buffers alone: nothing is read.
    pub(crate) source: &'a Source,
    pub(crate) session: &'a Session,
    pub(crate) decoders: &'a DecoderCache,
}

/// A column of a read whose blocks were fetched, and whose pages were prepared.
pub(crate) struct ColumnRead<'a, B> {
    pub(crate) decoding: Decoding<'a>,
    pub(crate) column: &'a Column,
    pub(crate) plan: &'a Plan,
    /// The bytes of each part of the plan.
    pub(crate) blocks: &'a [B],
}

impl Decoding<'_> {
    pub(crate) fn checks(&self) -> Checks {
        Checks {
            checksums: self.session.checksums,
            is_mapped: self.source.is_mapped(),
        }
    }

    /// Makes the decoders of a data page, whose shared buffers and kernel were read.
    pub(crate) fn prepare(&self, column: &Column, page: &Page) -> Result<()> {
        let meta = page.description.meta()?;
        let corrupt = |what: &str| Err(Error::new(ErrorKind::Corrupt, what));
        if meta.value_type != column.value_type {
            return corrupt("the page's values are not of the column's type");
        }
        let forms = column.path.forms();
        let admitted = forms.iter().zip(&meta.levels);
        if meta.levels.len() != forms.len() || !admitted.into_iter().all(|(f, l)| f.admits(l)) {
            return corrupt("the page's levels are not the column's");
        }
        page.kept.set(self.make_decoder(column, page)?);
        Ok(())
    }

    /// The decoders of a page whose shared buffers were read.
    pub(crate) fn make_decoder(&self, column: &Column, page: &Page) -> Result<Arc<Decoder>> {
        let (session, description) = (self.session, &page.description);
        let list = page.shared();
        if list.is_empty() {
            return self.decoders.without_shared(description, session);
        }
        let shared = list
            .iter()
            .map(|number| column.shared_page(*number as usize).and_then(values_of))
            .collect::<Result<Vec<_>>>()?;
        self.decoders.make(description, session, &shared)
    }
}

/// The decoders of a page that was prepared.
pub(crate) fn decoder_of(page: &Page) -> Result<&Arc<Decoder>> {
    let none = || Error::new(ErrorKind::InvalidInput, "a page that was not prepared");
    page.kept.get().ok_or_else(none)
}

/// The decoded values of a shared page that was prepared.
pub(crate) fn values_of(page: &Page) -> Result<Arc<OwnedValues>> {
    let none = || {
        Error::new(
            ErrorKind::InvalidInput,
            "a shared page that was not prepared",
        )
    };
    page.kept.get().cloned().ok_or_else(none)
}

impl<B: AsRef<[u8]>> ColumnRead<'_, B> {
    /// The pages of the plan, each with its decoders and blocks.
    pub(crate) fn each_page(
        &self,
        mut use_page: impl FnMut(&Decoder, &PageRun<'_, B>) -> Result<()>,
    ) -> Result<()> {
        let checks = self.decoding.checks();
        for PageParts {
            index,
            parts,
            blocks,
        } in self.plan.pages(self.blocks)
        {
            let page = self.column.page(index)?;
            let run = PageRun {
                page,
                plan: self.plan,
                parts,
                blocks,
                checks,
            };
            decoder_of(page)
                .and_then(|decoder| use_page(decoder, &run))
                .map_err(|error| self.column.at(error, index))?;
        }
        Ok(())
    }

    /// Calls `use_block` for each part of the plan, in order; parts whose number `check` wants are checked first.
    pub(crate) fn each_block(
        &self,
        check: impl Fn(usize) -> bool,
        use_block: impl FnMut(&BlockPart, &PageDecoder, &Block<'_>) -> tarsia_codec::Result<()>,
    ) -> Result<()> {
        self.each_part(&self.plan.parts, self.blocks, check, use_block)
    }

    /// Decodes some of its parts, with their bytes.
    pub(crate) fn each_part(
        &self,
        parts: &[BlockPart],
        blocks: &[B],
        check: impl Fn(usize) -> bool,
        mut use_block: impl FnMut(&BlockPart, &PageDecoder, &Block<'_>) -> tarsia_codec::Result<()>,
    ) -> Result<()> {
        let checks = self.decoding.checks();
        for (number, (part, bytes)) in parts.iter().zip(blocks).enumerate() {
            let index = part.page as usize;
            let page = self.column.page(index)?;
            let fetched = FetchedPart {
                page,
                plan: self.plan,
                part,
                bytes: bytes.as_ref(),
            };
            let checks = check(number).then_some(checks);
            let use_part = |decoder: &Arc<Decoder>| {
                fetched.with_block(decoder.native(), checks, |decoder, block| {
                    use_block(part, decoder, block)
                })
            };
            decoder_of(page)
                .and_then(use_part)
                .map_err(|error| self.column.at(error, index))?;
        }
        Ok(())
    }

    /// Whether this build decodes all pages of the plan.
    pub(crate) fn is_native(&self) -> Result<bool> {
        for index in self.plan.page_indexes() {
            let decoder = self.column.page(index).and_then(decoder_of);
            let decoder = decoder.map_err(|error| self.column.at(error, index))?;
            if decoder.native().is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
