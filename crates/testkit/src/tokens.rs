//! Corruption that all encodings with a dictionary of tokens refuse alike: what the test of each fills in is its unit.

use std::sync::Arc;

use tarsia_codec::{
    Decoder, Error, ErrorKind, Output, OwnedValues, Predicate, Registry, Result, Scratch,
    Selection, SharedBuffer, SharedKind, Tree, Unit, ValueType, build_decoder,
};

use crate::cases::Case;
use crate::units;

/// A good unit of two strings, of 4 and of 2 bytes, of the tokens "ab" and "c".
pub struct TokenUnit {
    /// The encoding and its children.
    pub registry: Registry,
    /// The tree, whose dictionary is shared buffer 0.
    pub tree: Tree,
    /// The unit.
    pub bytes: Vec<u8>,
}

/// The limits of a dictionary, as its errors name them.
pub struct TokenLimits {
    /// The field of the errors.
    pub field: &'static str,
    /// The longest token, in bytes.
    pub token_bytes: usize,
    /// The most tokens.
    pub tokens: usize,
    /// Words for `token_bytes`.
    pub allowed_bytes: &'static str,
    /// Words for `tokens`.
    pub allowed_tokens: &'static str,
}

/// A dictionary of these tokens.
pub fn dictionary<S: AsRef<[u8]>>(tokens: &[S]) -> SharedBuffer {
    let values = OwnedValues::copy_of(Case::strings("", tokens).values());
    SharedBuffer::new(SharedKind::TokenDictionary, Arc::new(values))
}

impl TokenUnit {
    const DECODED_BYTES: u32 = 6;

    fn shared() -> [SharedBuffer; 1] {
        [dictionary(&["ab", "c"])]
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        build_decoder(
            &self.registry,
            &self.tree,
            ValueType::Bytes,
            &Self::shared(),
        )
        .expect("a good dictionary")
    }

    /// Decodes a unit of two strings.
    ///
    /// # Errors
    /// Those of the decoder.
    pub fn decode(&self, bytes: &[u8], decoded_bytes: u32) -> Result<()> {
        let unit = Unit {
            bytes,
            len: 2,
            decoded_bytes,
        };
        let (registry, tree) = (&self.registry, &self.tree);
        units::decode(registry, tree, ValueType::Bytes, unit, &Self::shared()).map(|_| ())
    }

    /// Changes the unit, and checks the error.
    ///
    /// # Panics
    /// For another result.
    pub fn check(&self, change: impl FnOnce(&mut Vec<u8>), expected: Error) {
        let mut bytes = self.bytes.clone();
        change(&mut bytes);
        let got = self.decode(&bytes, Self::DECODED_BYTES);
        assert_eq!(got, Err(expected));
    }

    /// Decodes one string into `room` bytes, and returns how many it took.
    ///
    /// # Errors
    /// Those of the decoder.
    pub fn get(&self, bytes: &[u8], selection: Selection<'_>, room: usize) -> Result<usize> {
        let unit = Unit {
            bytes,
            len: 2,
            decoded_bytes: Self::DECODED_BYTES,
        };
        let out = Output::Bytes {
            ends: &mut [0],
            base: 0,
            data: &mut vec![0; room],
        };
        let decoder = self.decoder();
        decoder.decode(unit, selection, &mut Scratch::new(), out)
    }

    /// Which of the two strings a filter finds.
    ///
    /// # Errors
    /// Those of the decoder.
    ///
    /// # Panics
    /// If the decoder does not answer.
    pub fn find(&self, bytes: &[u8], predicate: &Predicate<'_>) -> Result<[bool; 2]> {
        let unit = Unit {
            bytes,
            len: 2,
            decoded_bytes: Self::DECODED_BYTES,
        };
        let mut bits = [0];
        let out = Output::Bits {
            bytes: &mut bits,
            offset: 0,
        };
        let mut scratch = Scratch::new();
        let decoder = self.decoder();
        let answers = decoder.filter(unit, Selection::All, predicate, &mut scratch, out)?;
        assert!(answers, "{predicate:?} is not answered");
        Ok([bits[0] & 1 == 1, bits[0] & 2 == 2])
    }

    /// Checks that each string fits exactly as many bytes as it has, and that ends which exceed 32 bits are refused.
    ///
    /// # Panics
    /// For another result.
    pub fn check_room(&self) {
        let short = Err(Error::invalid("the output is too short for the selection"));
        for (i, bytes) in [(0, 4), (1, 2)] {
            let one = [i];
            for selection in [
                Selection::Range { start: i, len: 1 },
                Selection::Indices(&one),
            ] {
                assert_eq!(self.get(&self.bytes, selection, bytes), Ok(bytes));
                assert_eq!(self.get(&self.bytes, selection, 100), Ok(bytes));
                assert_eq!(self.get(&self.bytes, selection, bytes - 1), short);
            }
        }
        for selection in [Selection::All, Selection::Indices(&[0, 1])] {
            for (base, fits) in [(u32::MAX - 6, true), (u32::MAX - 5, false)] {
                let unit = Unit {
                    bytes: &self.bytes,
                    len: 2,
                    decoded_bytes: Self::DECODED_BYTES,
                };
                let out = Output::Bytes {
                    ends: &mut [0; 2],
                    base,
                    data: &mut [0; 6],
                };
                let got = self
                    .decoder()
                    .decode(unit, selection, &mut Scratch::new(), out);
                assert_eq!(got.is_ok(), fits, "{selection:?} {base}");
            }
        }
    }

    fn init(&self, tree: &Tree, value_type: ValueType, shared: SharedBuffer) -> Result<()> {
        build_decoder(&self.registry, tree, value_type, &[shared]).map(|_| ())
    }

    /// Checks that dictionaries of other kinds, of more tokens and of longer ones are refused.
    ///
    /// # Panics
    /// For another result.
    pub fn check_dictionaries(&self, limits: &TokenLimits) {
        let with = |tokens| self.init(&self.tree, ValueType::Bytes, tokens);
        let longest = "a".repeat(limits.token_bytes);
        assert_eq!(with(dictionary(&["", &longest, ""])), Ok(()));
        let n_bytes = limits.token_bytes + 1;
        let long = Error::corrupt(limits.field, 1, n_bytes, limits.allowed_bytes);
        assert_eq!(with(dictionary(&["", &"a".repeat(n_bytes)])), Err(long));
        assert_eq!(with(dictionary(&vec!["a"; limits.tokens])), Ok(()));
        let n = limits.tokens + 1;
        let many = Error::corrupt(limits.field, 0, n, limits.allowed_tokens);
        assert_eq!(with(dictionary(&vec!["a"; n])), Err(many));
        for kind in SharedKind::ALL {
            let buffer = SharedBuffer::new(kind, dictionary(&["a"]).values().clone());
            let is_right = kind == SharedKind::TokenDictionary;
            assert_eq!(with(buffer).is_ok(), is_right, "{kind:?}");
        }
    }

    /// Checks that parameters, named `params_len` in errors, and values of other types are refused.
    ///
    /// # Panics
    /// For another result.
    pub fn check_nodes(&self, params_len: &'static str) {
        let with_params = Tree {
            params: vec![3],
            ..self.tree.clone()
        };
        let got = self.init(&with_params, ValueType::Bytes, dictionary(&["a"]));
        let params = Error::corrupt(params_len, 0, 1u8, "0 (no parameters)");
        assert_eq!(got, Err(params));
        let got = self.init(&self.tree, ValueType::Fixed(4), dictionary(&["a"]));
        let kind = got.as_ref().map_err(Error::kind);
        assert!(
            matches!(kind, Err(ErrorKind::Unsupported { .. })),
            "{got:?}"
        );
    }
}
