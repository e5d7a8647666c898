//! The decoder. Values of a group come one after the other, since each is the XOR of its bits with the value before.
//! Groups do not depend on each other, so those of a whole unit are decoded two at a time.

use alloc::boxed::Box;
use core::hint::select_unpredictable;
use core::ops::Range;

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch, Selection,
    SharedBuffer, Unit, Version,
};

use crate::Gorilla;
use crate::layout::{self, GROUP_VALUES, ID, LEADS, Scheme, Stream, UnitParts, VERSION};

impl Encoding for Gorilla {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::check_node(node)
    }

    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [] = children_of(children)?;
        Ok(match (layout::value_bytes(node)?, Scheme::of(node)?) {
            (4, Scheme::Gorilla) => Box::new(UnitDecoder::<4, false>),
            (4, Scheme::Chimp) => Box::new(UnitDecoder::<4, true>),
            (_, Scheme::Gorilla) => Box::new(UnitDecoder::<8, false>),
            (_, Scheme::Chimp) => Box::new(UnitDecoder::<8, true>),
        })
    }
}

/// For values of `S` bytes.
struct UnitDecoder<const S: usize, const CHIMP: bool>;

impl<const S: usize, const CHIMP: bool> Decoder for UnitDecoder<S, CHIMP> {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        _scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let (to, _) = out.into_fixed(S, n_selected)?.as_chunks_mut::<S>();
        let parts = UnitParts::parse(&unit)?;
        match selection {
            Selection::All => all::<S, CHIMP>(&parts, to),
            Selection::Range { start, len } => {
                let start = start as usize;
                range::<S, CHIMP>(&parts, unit.len, start..start + len as usize, to)
            }
            Selection::Indices(of_values) => indices::<S, CHIMP>(&parts, unit.len, of_values, to),
        }?;
        Ok(0)
    }

    // Kernels get whole blocks and must be small.
    #[cfg(not(feature = "kernel"))]
    fn reach(
        &self,
        unit: Unit<'_>,
        front: usize,
        range: Range<u32>,
        _scratch: &mut Scratch,
    ) -> Result<tarsia_codec::Reach> {
        use tarsia_codec::Reach;

        Selection::from(&range).check(unit.len)?;
        let ends_bytes = UnitParts::ends_bytes(unit.len);
        if front < ends_bytes && ends_bytes <= unit.bytes.len() {
            return Ok(Reach::Front(ends_bytes));
        }
        let parts = UnitParts::parse(&unit)?;
        if range.is_empty() {
            return Ok(Reach::bytes(0..0));
        }
        let stream = |value: u32| parts.stream(value as usize / GROUP_VALUES, S);
        let (first, last) = (stream(range.start)?, stream(range.end - 1)?);
        // The ends of a bad unit may fall.
        let end = (last.at_byte + last.bytes.len()).max(first.at_byte);
        Ok(Reach::bytes(first.at_byte..end))
    }
}

/// Decodes all values of a unit.
fn all<const S: usize, const CHIMP: bool>(parts: &UnitParts<'_>, to: &mut [[u8; S]]) -> Result<()> {
    let n_values = to.len();
    // Kernels must be small.
    #[cfg(feature = "kernel")]
    let n_done = 0;
    #[cfg(not(feature = "kernel"))]
    let n_done = pairs::<S, CHIMP>(parts, to)?;
    let rest = to.get_mut(n_done..).unwrap_or_default();
    range::<S, CHIMP>(parts, n_values as u32, n_done..n_values, rest)
}

/// Decodes whole groups, two at a time, until something is wrong with one of them. Returns the number of values: who
/// goes on from there finds what is wrong.
#[cfg(not(feature = "kernel"))]
fn pairs<const S: usize, const CHIMP: bool>(
    parts: &UnitParts<'_>,
    to: &mut [[u8; S]],
) -> Result<usize> {
    let (groups, _) = to.as_chunks_mut::<GROUP_VALUES>();
    let (pairs, _) = groups.as_chunks_mut::<2>();
    let mut n_groups = 0;
    for pair in pairs {
        let streams = [parts.stream(n_groups, S)?, parts.stream(n_groups + 1, S)?];
        if !pair_of_groups::<S, CHIMP>(streams, pair) {
            break;
        }
        n_groups += 2;
    }
    Ok(n_groups * GROUP_VALUES)
}

/// Decodes two whole groups, a value of each in turn: while one waits to know where its next code starts, the
/// processor works on the other. More at a time are no faster, since what is known of them does not fit the registers.
/// False if something is wrong with one of them.
#[cfg(not(feature = "kernel"))]
fn pair_of_groups<const S: usize, const CHIMP: bool>(
    streams: [Stream<'_>; 2],
    [to_a, to_b]: &mut [[[u8; S]; GROUP_VALUES]; 2],
) -> bool {
    let [mut a, mut b] = streams.map(Group::<S, CHIMP>::open);
    (to_a[0], to_b[0]) = (a.value(), b.value());
    // Apart from their groups, which are in memory, not in registers.
    let (bits_a, bits_b) = (a.bits, b.bits);
    let (mut code_a, mut code_b) = (a.code, b.code);
    let mut trails = 0;
    for (to_a, to_b) in to_a.iter_mut().zip(to_b).skip(1) {
        code_a = code_a.next::<S, CHIMP>(&bits_a);
        code_b = code_b.next::<S, CHIMP>(&bits_b);
        // Negative for good once one was.
        trails |= code_a.trail | code_b.trail;
        (*to_a, *to_b) = (bytes_of(code_a.value), bytes_of(code_b.value));
    }
    (a.code, b.code) = (code_a, code_b);
    trails >= 0 && a.close(true).is_ok() && b.close(true).is_ok()
}

/// Decodes the values `values` of a unit of `unit_len`. Each group is decoded from its start on.
fn range<const S: usize, const CHIMP: bool>(
    parts: &UnitParts<'_>,
    unit_len: u32,
    values: Range<usize>,
    to: &mut [[u8; S]],
) -> Result<()> {
    let mut to = to;
    let mut start = values.start;
    while start < values.end {
        let group = start / GROUP_VALUES;
        let group_end = (group + 1) * GROUP_VALUES;
        let end = values.end.min(group_end);
        let mut group = Group::<S, CHIMP>::open(parts.stream(group, S)?);
        group.skip(start % GROUP_VALUES)?;
        let Some((now, later)) = core::mem::take(&mut to).split_at_mut_checked(end - start) else {
            return Err(misfit());
        };
        group.fill(now)?;
        group.close(end == group_end.min(unit_len as usize))?;
        (start, to) = (end, later);
    }
    Ok(())
}

/// Decodes the values at rising indices: each group once, up to its last selected value.
fn indices<const S: usize, const CHIMP: bool>(
    parts: &UnitParts<'_>,
    unit_len: u32,
    indices: &[u32],
    to: &mut [[u8; S]],
) -> Result<()> {
    let is_same = |a: &u32, b: &u32| *a as usize / GROUP_VALUES == *b as usize / GROUP_VALUES;
    let mut to = to.iter_mut();
    for of_group in indices.chunk_by(is_same) {
        let number = of_group.first().map_or(0, |it| *it as usize) / GROUP_VALUES;
        let mut group = Group::<S, CHIMP>::open(parts.stream(number, S)?);
        let mut at = number * GROUP_VALUES;
        for (index, to) in of_group.iter().zip(&mut to) {
            let index = *index as usize;
            group.skip(index - at)?;
            *to = group.value();
            at = index;
        }
        at += 1;
        group.close(at.is_multiple_of(GROUP_VALUES) || at == unit_len as usize)?;
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn misfit() -> Error {
    Error::invalid("the output is not sized for these fixed-width values")
}

/// The lowest `S` bytes of a number.
#[inline(always)]
fn bytes_of<const S: usize>(value: u64) -> [u8; S] {
    let mut to = [0; S];
    to.copy_from_slice(value.to_le_bytes().get(..S).unwrap_or_default());
    to
}

/// The values of one group, from front to back.
struct Group<'a, const S: usize, const CHIMP: bool> {
    stream: Stream<'a>,
    bits: Bits<'a>,
    /// The state behind the value that was decoded last.
    code: Code,
}

impl<'a, const S: usize, const CHIMP: bool> Group<'a, S, CHIMP> {
    /// The group at its first value.
    #[inline(always)]
    fn open(stream: Stream<'a>) -> Self {
        let mut value = [0; 8];
        for (to, from) in value.iter_mut().zip(stream.bytes).take(S) {
            *to = *from;
        }
        Self {
            stream,
            bits: Bits::new(stream.bytes),
            code: Code {
                end_bit: S as u32 * 8,
                lead: 0,
                len: S as u32 * 8,
                trail: 0,
                value: u64::from_le_bytes(value),
            },
        }
    }

    #[inline(always)]
    fn value(&self) -> [u8; S] {
        bytes_of(self.code.value)
    }

    #[inline(always)]
    fn next(&mut self) -> Result<()> {
        let next = self.code.next::<S, CHIMP>(&self.bits);
        if next.trail < 0 {
            return Err(self.bad_len(next.len));
        }
        self.code = next;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn bad_len(&self, found: u32) -> Error {
        let at_byte = self.stream.at_byte + self.code.end_bit as usize / 8;
        let allowed = "at most the bits behind the leading zeros";
        Error::corrupt("gorilla.len", at_byte, found, allowed)
    }

    /// Goes on by `n` values.
    fn skip(&mut self, n: usize) -> Result<()> {
        (0..n).try_for_each(|_| self.next())
    }

    /// Writes this value and those behind it.
    fn fill(&mut self, to: &mut [[u8; S]]) -> Result<()> {
        let Some((first, later)) = to.split_first_mut() else {
            return Ok(());
        };
        *first = self.value();
        for to in later {
            self.next()?;
            *to = self.value();
        }
        Ok(())
    }

    /// Checks that the codes so far lie in the stream and, if they are those of the whole group, that they fill it.
    fn close(&self, is_whole: bool) -> Result<()> {
        let end_bit = self.code.end_bit as usize;
        let (needed, found) = (end_bit.div_ceil(8), self.stream.bytes.len());
        if needed > found || is_whole && needed < found {
            let allowed = "as many bytes as the codes of the group take";
            let at_byte = self.stream.at_byte;
            return Err(Error::corrupt("gorilla.stream", at_byte, found, allowed));
        }
        let spare = match self.stream.bytes.last() {
            Some(last) if is_whole && !end_bit.is_multiple_of(8) => last >> (end_bit % 8),
            _ => 0,
        };
        if spare != 0 {
            let at_byte = self.stream.at_byte + needed - 1;
            return Err(Error::corrupt("gorilla.spare_bits", at_byte, spare, "zero"));
        }
        Ok(())
    }
}

/// Bytes that hold a code, wherever in the first byte it starts: 77 bits and 7 before them, rounded up.
const LOAD_BYTES: usize = 16;

/// The bits of a stream, the lowest of each byte first. Zeros follow the last one.
#[derive(Clone, Copy)]
struct Bits<'a> {
    bytes: &'a [u8],
    /// Where the last bytes start.
    tail_at: usize,
    /// The last bytes, then zeros: a code near the end is read like all others.
    tail: [u8; 2 * LOAD_BYTES],
}

impl<'a> Bits<'a> {
    #[inline(always)]
    fn new(bytes: &'a [u8]) -> Self {
        let tail_at = bytes.len().saturating_sub(LOAD_BYTES);
        let mut tail = [0; 2 * LOAD_BYTES];
        let last = bytes.get(tail_at..).unwrap_or_default();
        for (to, from) in tail.iter_mut().zip(last) {
            *to = *from;
        }
        Self {
            bytes,
            tail_at,
            tail,
        }
    }

    /// The bytes from `at` on.
    #[inline(always)]
    fn load(&self, at: usize) -> &[u8; LOAD_BYTES] {
        let end = at + LOAD_BYTES;
        match self.bytes.get(at..end).and_then(<[u8]>::first_chunk) {
            Some(loaded) => loaded,
            None => self.last(at),
        }
    }

    #[inline(always)]
    fn last(&self, at: usize) -> &[u8; LOAD_BYTES] {
        let of_tail = at.checked_sub(self.tail_at);
        let rest = of_tail.and_then(|at| self.tail.get(at..));
        rest.and_then(<[u8]>::first_chunk)
            .unwrap_or(&[0; LOAD_BYTES])
    }
}

/// The 8 bytes from `at` on, 8 at most, as a number.
#[inline(always)]
fn word(loaded: &[u8; LOAD_BYTES], at: usize) -> u64 {
    let bytes = loaded.get(at..).and_then(<[u8]>::first_chunk);
    u64::from_le_bytes(bytes.copied().unwrap_or_default())
}

/// The state behind a code.
#[derive(Clone, Copy)]
struct Code {
    /// Where in the stream the next code starts.
    end_bit: u32,
    /// Zeros above the window.
    lead: u32,
    /// Bits of the window, which codes hold.
    len: u32,
    /// The zeros below the window. Negative if it does not fit a value.
    trail: i32,
    value: u64,
}

/// Bits of a code without those of the value, by its flags: of Gorilla for 4 and 8 bytes, then of Chimp. Not computed:
/// a static is not copied to the stack before each look.
static HEADER_BITS: [[u8; 4]; 4] = [[1, 2, 1, 12], [1, 2, 1, 13], [2, 10, 2, 5], [2, 11, 2, 5]];

impl Code {
    /// The state behind the next code. Without branches, because no processor can foretell the flags of most data.
    #[inline(always)]
    fn next<const S: usize, const CHIMP: bool>(self, bits: &Bits<'_>) -> Self {
        let n_bits = S as u32 * 8;
        let loaded = bits.load(self.end_bit as usize / 8);
        let start_bit = self.end_bit % 8;
        // 57 bits or more.
        let front = word(loaded, 0) >> start_bit;
        let flags = front as usize % 4;
        let (header_bits, is_equal, lead, len) = match CHIMP {
            false => {
                let header_bits = u32::from(HEADER_BITS[usize::from(S == 8)][flags]);
                let is_new = flags == 3;
                let new_len = (front >> 7) as u32;
                let new_len = match S {
                    4 => new_len % n_bits + 1,
                    _ => new_len.wrapping_sub(1) % n_bits + 1,
                };
                let lead = select_unpredictable(is_new, (front >> 2) as u32 % 32, self.lead);
                let len = select_unpredictable(is_new, new_len, self.len);
                (header_bits, flags.is_multiple_of(2), lead, len)
            }
            true => {
                let header_bits = u32::from(HEADER_BITS[2 + usize::from(S == 8)][flags]);
                let new_lead = LEADS[(front >> 2) as usize % 8].into();
                let lead = select_unpredictable(flags % 2 == 1, new_lead, self.lead);
                let center = ((front >> 5) as u32).wrapping_sub(1) % n_bits + 1;
                let len = select_unpredictable(flags == 1, center, n_bits - lead);
                (header_bits, flags == 0, lead, len)
            }
        };
        let meaningful = match S {
            // A code takes at most 44 bits.
            4 => front >> header_bits,
            // Up to 64 bits of nine bytes, read as the first eight and the last eight.
            _ => {
                let bit = start_bit + header_bits;
                let at = bit as usize / 8 % 4;
                word(loaded, at) >> (bit % 8) | word(loaded, at + 1) << (8 - bit % 8)
            }
        };
        // The lowest `len` bits, first moved to the top.
        let xor = meaningful << (64 - len) >> (lead + (64 - n_bits));
        Self {
            end_bit: self.end_bit + header_bits + select_unpredictable(is_equal, 0, len),
            lead,
            len,
            trail: n_bits as i32 - lead as i32 - len as i32,
            value: self.value ^ select_unpredictable(is_equal, 0, xor),
        }
    }
}
