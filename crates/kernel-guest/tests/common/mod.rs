//! Plain pages, memory that holds their blocks, and requests for them.

use tarsia_codec::{Registry, Result, Tree, Values};
use tarsia_kernel_guest::abi::{RequestWriter, tag};
use tarsia_kernel_guest::memory::Memory;
use tarsia_structure::{Choice, Choose, EncodeContext, EncodedPage, PageInput, encode_page};

struct Plain;

impl Choose for Plain {
    fn choose(&self, values: Values<'_>) -> Result<Choice> {
        assert!(matches!(values, Values::Fixed(_)));
        Ok(Choice {
            trees: vec![tarsia_plain::tree()],
            bits_per_value: 32,
            uniform: true,
            first: None,
        })
    }

    fn validity_trees(&self) -> Vec<Tree> {
        vec![tarsia_bitmap::tree()]
    }

    fn length_trees(&self, _: Values<'_>) -> Result<Vec<Tree>> {
        Ok(vec![tarsia_plain::tree()])
    }
}

pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add(&tarsia_plain::PLAIN)
        .add(&tarsia_bytes::BYTES)
        .add(&tarsia_bitmap::BITMAP)
        .add_writer(&tarsia_plain::PLAIN)
        .add_writer(&tarsia_bytes::BYTES)
        .add_writer(&tarsia_bitmap::BITMAP);
    registry
}

pub(crate) fn encoded(input: PageInput<'_>) -> EncodedPage {
    let registry = registry();
    let context = EncodeContext {
        registry: &registry,
        chooser: &Plain,
        checksum: |_| 0,
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
