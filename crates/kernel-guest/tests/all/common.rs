//! Plain pages, memory that holds their blocks, and requests for them.

use tarsia_codec::{DecodeCost, Registry, Result, Statistics, Values};
use tarsia_kernel_guest::abi::{RequestWriter, tag};
use tarsia_kernel_guest::memory::Memory;
use tarsia_page_writer::{Choice, Choose, EncodeContext, EncodedPage, PageInput, encode_page};

struct Plain;

impl Choose for Plain {
    fn choose(&self, values: &Statistics<'_>) -> Result<Choice> {
        let tree = match values.values() {
            Values::Bits(_) => tarsia_bitmap::tree(),
            _ => tarsia_plain::tree(),
        };
        Ok(Choice {
            trees: vec![tree],
            bytes: 4 * values.len() as u64,
            uniform: true,
            block_bytes: tarsia_page_writer::BLOCK_PAYLOAD_BYTES_TARGET,
        })
    }
}

pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default())
        .add_writer(&tarsia_bytes::BYTES, DecodeCost::default())
        .add_writer(&tarsia_bitmap::BITMAP, DecodeCost::default());
    registry
}

pub(crate) fn encoded(input: PageInput<'_>) -> EncodedPage {
    let registry = registry();
    let context = EncodeContext {
        registry: &registry,
        memory: None,
        chooser: &Plain,
        checksum: |_| 0,
        erasable: false,
    };
    encode_page(input, &context).unwrap()
}

/// Memory that starts at address 1,000.
pub(crate) struct Bytes(pub(crate) Vec<u8>);

pub(crate) const BASE: u32 = 1000;

impl Memory for Bytes {
    fn bytes(&self, address: u32, len: u32) -> Option<&[u8]> {
        let start = address.checked_sub(BASE)? as usize;
        self.0.get(start..start.checked_add(len as usize)?)
    }
}

pub(crate) fn meta(page: &EncodedPage) -> Vec<u8> {
    let mut meta = Vec::new();
    page.meta.write_to(&mut meta).unwrap();
    meta
}

/// A request for all blocks of a page, and more.
pub(crate) fn request(page: &EncodedPage, more: impl FnOnce(&mut RequestWriter)) -> RequestWriter {
    let mut request = RequestWriter::default();
    assert!(request.entry(tag::META, &[&meta(page)]));
    for (block, start) in page.starts.iter().enumerate() {
        let len = page.block(block).len() as u32;
        request.input(BASE + *start as u32, len, *start);
    }
    more(&mut request);
    request
}
