//! Inside a kernel: a page whose tree has three shared buffers of different kinds.

use tarsia_codec::{
    BytesSlice, DecodeCost, OwnedValues, Registry, Result, SharedKind, Statistics, Tree, Values,
    Version,
};
use tarsia_kernel_guest::Guest;
use tarsia_kernel_guest::abi::{RequestWriter, SharedEntry, tag};
use tarsia_kernel_guest::memory::Memory;
use tarsia_page_writer::{Choice, Choose, EncodeContext, PageInput, encode_page};
use tarsia_testkit::cipher::{self, CIPHER, START_TEXT};

const ROWS: usize = 3000;

const BASE: u32 = 1000;

/// Memory that starts at [`BASE`].
struct Bytes(Vec<u8>);

impl Memory for Bytes {
    fn bytes(&self, address: u32, len: u32) -> Option<&[u8]> {
        let start = address.checked_sub(BASE)? as usize;
        self.0.get(start..start.checked_add(len as usize)?)
    }
}

fn registry() -> Registry {
    let mut registry = tarsia_encodings::registry();
    registry.add_writer(&CIPHER, DecodeCost::default());
    registry
}

struct Ciphered;

impl Choose for Ciphered {
    fn choose(&self, values: &Statistics<'_>) -> Result<Choice> {
        let v = Version::new(1, 0);
        let plain = || Tree::leaf("tarsia.plain", v, &[]);
        let rest = Tree::node("tarsia.dict", v, &[1, 1], vec![plain()]).with_shared(&[0]);
        Ok(Choice {
            trees: vec![
                cipher::tree(rest),
                Tree::node("tarsia.bytes", v, &[], vec![plain()]),
            ],
            bytes: values.len() as u64,
            uniform: true,
            block_bytes: tarsia_page_writer::BLOCK_PAYLOAD_BYTES_TARGET,
        })
    }
}

#[test]
fn three_shared_buffers_reach_their_nodes() {
    let strings: Vec<String> = (0..ROWS)
        .map(|i| format!("{START_TEXT}{}", i * 7 % 13))
        .collect();
    let mut offsets = vec![0u32];
    let mut data = Vec::new();
    for string in &strings {
        data.extend_from_slice(string.as_bytes());
        offsets.push(data.len() as u32);
    }
    let values = Values::Bytes(BytesSlice::new(&offsets, &data).unwrap());
    let registry = registry();
    let context = EncodeContext {
        registry: &registry,
        memory: None,
        chooser: &Ciphered,
        checksum: |_| 0,
        erasable: false,
    };
    let page = encode_page(PageInput::of_values(values), &context).unwrap();
    let kinds: Vec<SharedKind> = page.meta.shared.iter().map(|spec| spec.kind).collect();
    assert_eq!(
        kinds,
        [
            SharedKind::SymbolTable,
            SharedKind::CodecDictionary,
            SharedKind::Dictionary
        ]
    );

    // Blocks first, then what the shared buffers hold, each at a multiple of 8.
    let mut memory = page.bytes.clone();
    let mut put = |bytes: &[u8]| {
        memory.resize(memory.len().next_multiple_of(8), 0);
        let address = BASE + memory.len() as u32;
        memory.extend_from_slice(bytes);
        (address, bytes.len() as u32)
    };
    let entries: Vec<SharedEntry> = page
        .shared
        .iter()
        .map(|values| match &**values {
            OwnedValues::Bytes { offsets, data } => {
                let words: Vec<u8> = offsets.iter().flat_map(|it| it.to_le_bytes()).collect();
                SharedEntry {
                    kind: 3,
                    width: 0,
                    values: put(data),
                    offsets: put(&words),
                    len: values.len() as u64,
                }
            }
            OwnedValues::Fixed { bytes, width, len } => SharedEntry {
                kind: 2,
                width: *width as u32,
                values: put(bytes),
                offsets: (0, 0),
                len: *len as u64,
            },
            OwnedValues::Bits { .. } => panic!("no bits are shared"),
        })
        .collect();
    let memory = Bytes(memory);
    let request = |entries: &[SharedEntry]| {
        let mut request = RequestWriter::default();
        let mut meta = Vec::new();
        page.meta.write_to(&mut meta).unwrap();
        assert!(request.entry(tag::META, &[&meta]));
        for (block, start) in page.starts.iter().enumerate() {
            let len = page.block(block).len() as u32;
            request.input(BASE + *start as u32, len, *start);
        }
        entries.iter().for_each(|entry| request.shared(entry));
        request.wide(tag::LIMITS, 1 << 20);
        request.word(tag::BATCH_ROWS, ROWS as u32);
        request
    };
    let mut guest = Guest::new(registry.clone());
    let reader = guest.init(&memory, request(&entries).bytes()).unwrap();
    let mut rows = Vec::new();
    while let Some(token) = guest.decode(&memory, reader).unwrap() {
        {
            let batch = guest.batch(token).unwrap();
            let buffers: Vec<&[u8]> = batch.buffers().into_iter().collect();
            let [.., offsets, data] = buffers[..] else {
                panic!("{} buffers", buffers.len());
            };
            let ends: Vec<u32> = offsets
                .as_chunks()
                .0
                .iter()
                .map(|it| u32::from_le_bytes(*it))
                .collect();
            for pair in ends.windows(2) {
                let string = &data[pair[0] as usize..pair[1] as usize];
                rows.push(String::from_utf8(string.to_vec()).unwrap());
            }
        }
        guest.release(token).unwrap();
    }
    assert_eq!(rows, strings);
    // In another order they are not what the page lists.
    let [table, start, words] = entries[..] else {
        panic!("{} buffers", entries.len());
    };
    for wrong in [vec![start, table, words], vec![table, start], vec![]] {
        assert!(guest.init(&memory, request(&wrong).bytes()).is_err());
    }
}
