//! Values to planes and back, 512 values at a time.
//!
//! Eight words of eight bytes are transposed as matrices of bits or of bytes by three steps, each of which swaps halves
//! of pairs of words ("Hacker's Delight", section 7-3). Eight such matrices lie side by side: loops over these are
//! vectorised. A transposition is its own inverse, so encoder and decoder differ only in the order.

/// Words of eight rows that are transposed in one loop.
const WORDS: usize = 8;

/// Rows of a tile.
pub(crate) const TILE_ROWS: usize = 8 * WORDS;

/// Values of a tile.
pub(crate) const TILE_VALUES: usize = 8 * TILE_ROWS;

/// The values of a tile, 8 of `S` bytes in each row.
pub(crate) type Tile<const S: usize> = [[[u8; 8]; S]; TILE_ROWS];

/// Eight streams of a byte for each row.
type Streams = [[u64; WORDS]; 8];

/// Memory for a tile between values and planes. Stream (b, k) has byte b of value k of each row if it is of values, and
/// bit k of byte b of each value of a row if it is of planes.
pub(crate) struct Shuffler<const S: usize> {
    streams: [Streams; S],
}

impl<const S: usize> Shuffler<S> {
    pub(crate) fn new() -> Self {
        Self {
            streams: [Streams::default(); S],
        }
    }

    /// Writes the values of the rows from `first_row` on. `planes` is one group, whose planes have `n_rows` bytes each.
    /// Values behind the last row are undefined.
    pub(crate) fn values_of(
        &mut self,
        planes: &[u8],
        n_rows: usize,
        first_row: usize,
        tile: &mut Tile<S>,
    ) {
        for (b, of_byte) in self.streams.iter_mut().enumerate() {
            for (k, words) in of_byte.iter_mut().enumerate() {
                load(planes, (8 * b + k) * n_rows + first_row, words);
            }
            transpose_bits(of_byte);
        }
        for part in 0..S {
            let mut words = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| {
                let byte = 8 * part + i;
                self.streams[byte % S][byte / S]
            });
            transpose_bytes(&mut words);
            write_part(&words, part, tile);
        }
    }

    /// The bits of a tile: stream (b, k) is a part of plane 8·b + k.
    #[cfg(feature = "encode")]
    pub(crate) fn planes_of(&mut self, tile: &Tile<S>) -> &[[u64; WORDS]] {
        for part in 0..S {
            let mut words = read_part(part, tile);
            transpose_bytes(&mut words);
            for (i, words) in words.into_iter().enumerate() {
                let byte = 8 * part + i;
                self.streams[byte % S][byte / S] = words;
            }
        }
        for of_byte in &mut self.streams {
            transpose_bits(of_byte);
        }
        self.streams.as_flattened()
    }
}

/// Writes the eight bytes of each row that are part `part` of it: word i of stream r is that of row 8·i + r.
#[inline(always)]
fn write_part<const S: usize>(words: &Streams, part: usize, tile: &mut Tile<S>) {
    for (r, words) in words.iter().enumerate() {
        for (i, word) in words.iter().enumerate() {
            tile[8 * i + r][part] = word.to_le_bytes();
        }
    }
}

/// The inverse of [`write_part`].
#[cfg(feature = "encode")]
#[inline(always)]
fn read_part<const S: usize>(part: usize, tile: &Tile<S>) -> Streams {
    let mut words = Streams::default();
    for (r, words) in words.iter_mut().enumerate() {
        for (i, word) in words.iter_mut().enumerate() {
            *word = u64::from_le_bytes(tile[8 * i + r][part]);
        }
    }
    words
}

/// The bytes from `at` on, then zeros.
#[inline(always)]
fn load(bytes: &[u8], at: usize, words: &mut [u64; WORDS]) {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk::<TILE_ROWS>() {
        Some(rows) => *words = words_of(rows),
        None => *words = last_words(rest),
    }
}

/// Not inlined, so that only the last planes of a group pay for it.
#[cold]
#[inline(never)]
fn last_words(rest: &[u8]) -> [u64; WORDS] {
    let mut rows = [0; TILE_ROWS];
    for (to, from) in rows.iter_mut().zip(rest) {
        *to = *from;
    }
    words_of(&rows)
}

#[inline(always)]
fn words_of(rows: &[u8; TILE_ROWS]) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(rows.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

/// Swaps bit i of byte j of word k with bit k of byte j of word i, for all i, j and k, in all matrices.
#[inline]
fn transpose_bits(words: &mut Streams) {
    swap_all::<4>(words, 4, 0x0f0f_0f0f_0f0f_0f0f);
    swap_all::<2>(words, 2, 0x3333_3333_3333_3333);
    swap_all::<1>(words, 1, 0x5555_5555_5555_5555);
}

/// Swaps byte i of word k with byte k of word i, for all i and k, in all matrices.
#[inline]
fn transpose_bytes(words: &mut Streams) {
    swap_all::<4>(words, 32, 0x0000_0000_ffff_ffff);
    swap_all::<2>(words, 16, 0x0000_ffff_0000_ffff);
    swap_all::<1>(words, 8, 0x00ff_00ff_00ff_00ff);
}

/// Swaps, in each pair of words that are `DISTANCE` apart, the bits of the first above those of `mask` with the bits of
/// the second that are in `mask`.
#[inline(always)]
fn swap_all<const DISTANCE: usize>(words: &mut Streams, shift: u32, mask: u64) {
    for pairs in words.chunks_exact_mut(2 * DISTANCE) {
        let (low, high) = pairs.split_at_mut(DISTANCE);
        for (low, high) in low.iter_mut().zip(high) {
            for (low, high) in low.iter_mut().zip(high) {
                let change = (*low >> shift ^ *high) & mask;
                *low ^= change << shift;
                *high ^= change;
            }
        }
    }
}
