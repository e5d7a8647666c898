//! A cursor over untrusted bytes: every read is checked, and none panics.

/// Reads fields from front to back.
pub(crate) struct ByteReader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the bytes lie in what errors are about, and its length.
    place: u64,
    len: u64,
}

/// The error of a read beyond the end.
#[derive(Debug)]
pub(crate) struct TooShort {
    /// Names the missing part.
    pub(crate) what: &'static str,
    /// Where it starts.
    pub(crate) at: u64,
    /// Bytes that it needs.
    pub(crate) needed: u64,
    /// Bytes that there are.
    pub(crate) len: u64,
}

impl<'a> ByteReader<'a> {
    /// A cursor at the first byte.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self::of_part(bytes, 0, bytes.len() as u64)
    }

    /// A cursor over bytes that lie at `place` of `len` bytes. Errors count from the start of these.
    pub(crate) fn of_part(bytes: &'a [u8], place: u64, len: u64) -> Self {
        Self {
            bytes,
            at: 0,
            place,
            len,
        }
    }

    /// Bytes read so far.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Number of bytes not read yet.
    pub(crate) fn n_left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// The next `n` bytes.
    pub(crate) fn take(&mut self, n: u64, what: &'static str) -> Result<&'a [u8], TooShort> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = usize::try_from(n).ok().and_then(|n| rest.get(..n));
        let Some(taken) = taken else {
            return Err(self.too_short(n, what));
        };
        self.at += taken.len();
        Ok(taken)
    }

    /// The next `N` bytes.
    pub(crate) fn array<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], TooShort> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64, what)?);
        Ok(array)
    }

    /// The next eight bytes, a little-endian number.
    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, TooShort> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// The error of a part that needs `needed` bytes from here on.
    pub(crate) fn too_short(&self, needed: u64, what: &'static str) -> TooShort {
        TooShort {
            what,
            at: self.place.saturating_add(self.at as u64),
            needed,
            len: self.len,
        }
    }
}
