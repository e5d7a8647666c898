//! `cargo bench -p tarsia-bits`: bytes of decoded values per second, one core, results in the L2 cache (256 KiB) unless
//! named `l1` (16 KiB). `fastlanes` is the crate of that name, the same packing in transposed order.
#![allow(missing_docs, reason = "benchmarks have no readers of documentation")]

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use tarsia_bits::{Level, Word, limit_level, packed_bytes};

fn main() {
    divan::main();
}

const L2_BYTES: usize = 256 << 10;
const L1_BYTES: usize = 16 << 10;
const LEVELS: [Level; 3] = [Level::Baseline, Level::Avx2, Level::Avx512];

/// Zero bytes that start at a cache line.
struct Aligned {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Aligned {
    fn new(len: usize) -> Self {
        let bytes = vec![0u8; len + 64];
        let start = bytes.as_ptr().align_offset(64);
        Self { bytes, start, len }
    }

    fn get(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

fn unpack<T: Word>(bencher: Bencher<'_, '_>, level: Level, width: u32, bytes: usize) {
    if limit_level(level) != level {
        return;
    }
    let n = bytes / size_of::<T>();
    let packed = noise(packed_bytes(n as u64, width) as usize);
    let base = bytemuck::pod_read_unaligned(&noise(size_of::<T>()));
    let mut out = Aligned::new(bytes);
    bencher
        .counter(BytesCount::new(bytes))
        .bench_local(|| tarsia_bits::unpack_bytes::<T>(black_box(&packed), width, base, out.get()));
}

#[divan::bench(args = LEVELS, consts = [1, 3, 7, 8])]
fn unpack_u8<const W: u32>(bencher: Bencher<'_, '_>, level: Level) {
    unpack::<u8>(bencher, level, W, L2_BYTES);
}

#[divan::bench(args = LEVELS, consts = [3, 7, 10])]
fn unpack_u16<const W: u32>(bencher: Bencher<'_, '_>, level: Level) {
    unpack::<u16>(bencher, level, W, L2_BYTES);
}

#[divan::bench(args = LEVELS, consts = [3, 7, 10, 17, 32])]
fn unpack_u32<const W: u32>(bencher: Bencher<'_, '_>, level: Level) {
    unpack::<u32>(bencher, level, W, L2_BYTES);
}

#[divan::bench(args = LEVELS, consts = [3, 10, 17, 33])]
fn unpack_u64<const W: u32>(bencher: Bencher<'_, '_>, level: Level) {
    unpack::<u64>(bencher, level, W, L2_BYTES);
}

#[divan::bench(args = LEVELS, consts = [3, 10, 17])]
fn unpack_u32_l1<const W: u32>(bencher: Bencher<'_, '_>, level: Level) {
    unpack::<u32>(bencher, level, W, L1_BYTES);
}

#[divan::bench(args = LEVELS, consts = [10])]
fn unpack_u32_tail_of_999<const W: u32>(bencher: Bencher<'_, '_>, level: Level) {
    unpack::<u32>(bencher, level, W, 999 * 4);
}

#[divan::bench(consts = [3, 10, 17])]
fn fastlanes_u32<const W: usize>(bencher: Bencher<'_, '_>) {
    fastlanes_ffor::<u32>(bencher, W, L2_BYTES);
}

#[divan::bench(consts = [3, 10, 17])]
fn fastlanes_u32_l1<const W: usize>(bencher: Bencher<'_, '_>) {
    fastlanes_ffor::<u32>(bencher, W, L1_BYTES);
}

#[divan::bench(consts = [3, 17, 33])]
fn fastlanes_u64<const W: usize>(bencher: Bencher<'_, '_>) {
    fastlanes_ffor::<u64>(bencher, W, L2_BYTES);
}

fn fastlanes_ffor<T: fastlanes::FoR + bytemuck::Pod>(
    bencher: Bencher<'_, '_>,
    width: usize,
    bytes: usize,
) {
    let n = bytes / size_of::<T>();
    let packed: Vec<T> = noise(n / 8 * width)
        .chunks_exact(size_of::<T>())
        .map(bytemuck::pod_read_unaligned)
        .collect();
    let base = packed[0];
    let mut out = Aligned::new(bytes);
    let group = 128 * width / size_of::<T>();
    bencher.counter(BytesCount::new(bytes)).bench_local(|| {
        let out: &mut [T] = bytemuck::cast_slice_mut(out.get());
        for (packed, out) in packed.chunks_exact(group).zip(out.chunks_exact_mut(1024)) {
            // SAFETY: both slices have the lengths the function asks for.
            unsafe { T::unchecked_unfor_pack(width, packed, base, out) };
        }
    });
}

#[divan::bench(args = LEVELS, consts = [3, 17])]
fn pack_u32<const W: u32>(bencher: Bencher<'_, '_>, level: Level) {
    if limit_level(level) != level {
        return;
    }
    let values = noise(L2_BYTES);
    let mut packed = vec![0; packed_bytes(L2_BYTES as u64 / 4, W) as usize];
    bencher
        .counter(BytesCount::new(L2_BYTES))
        .bench_local(|| tarsia_bits::pack::<u32>(black_box(&values), 7, W, &mut packed));
}

/// The times are for 1,000 lookups.
#[divan::bench(consts = [10, 17])]
fn lookup_u32_x1000<const W: u32>(bencher: Bencher<'_, '_>) {
    let n = L2_BYTES / 4;
    let packed = noise(packed_bytes(n as u64, W) as usize);
    let at: Vec<usize> = (0..1000usize).map(|i| i * 7919 % n).collect();
    bencher.bench_local(|| {
        let packed = black_box(&packed);
        let values = at
            .iter()
            .map(|at| tarsia_bits::unpack_one::<u32>(packed, n, W, 5, *at));
        values.fold(0u32, |sum, value| {
            sum.wrapping_add(value.unwrap_or_default())
        })
    });
}

#[divan::bench(args = LEVELS, types = [u16, u32, u64])]
fn extent<T: Word>(bencher: Bencher<'_, '_>, level: Level) {
    if limit_level(level) != level {
        return;
    }
    let values = noise(L2_BYTES);
    bencher
        .counter(BytesCount::new(L2_BYTES))
        .bench_local(|| tarsia_bits::extent::<T>(black_box(&values)));
}

#[divan::bench(args = LEVELS, types = [u16, u32, u64])]
fn width_histogram<T: Word>(bencher: Bencher<'_, '_>, level: Level) {
    if limit_level(level) != level {
        return;
    }
    let values = noise(L2_BYTES);
    let base = bytemuck::Zeroable::zeroed();
    bencher
        .counter(BytesCount::new(L2_BYTES))
        .bench_local(|| tarsia_bits::width_histogram::<T>(black_box(&values), base));
}

#[divan::bench(args = [256, 4096])]
fn gather_u64_by_u16(bencher: Bencher<'_, '_>, n_entries: usize) {
    let entries = noise(n_entries * 8);
    let codes: Vec<u8> = noise(L2_BYTES / 4)
        .chunks_exact(2)
        .flat_map(|c| (u16::from_le_bytes([c[0], c[1]]) % n_entries as u16).to_le_bytes())
        .collect();
    let mut out = Aligned::new(L2_BYTES);
    bencher
        .counter(BytesCount::new(L2_BYTES))
        .bench_local(|| tarsia_bits::gather::<u16>(&entries, 8, black_box(&codes), out.get()));
}

#[divan::bench]
fn prefix_sum(bencher: Bencher<'_, '_>) {
    let lengths: Vec<u32> = noise(L2_BYTES / 4).iter().map(|b| u32::from(*b)).collect();
    let mut ends = lengths.clone();
    bencher.counter(BytesCount::new(L2_BYTES)).bench_local(|| {
        ends.copy_from_slice(&lengths);
        tarsia_bits::prefix_sum(&mut ends, 3)
    });
}

/// Throughput counts the bytes that hold the copied bits. The argument is the bit offset in the source.
#[divan::bench(args = [0, 3])]
fn copy_bits(bencher: Bencher<'_, '_>, src_offset: usize) {
    let src = noise(L2_BYTES + 1);
    let mut dst = Aligned::new(L2_BYTES);
    let len = L2_BYTES * 8;
    bencher
        .counter(BytesCount::new(L2_BYTES))
        .bench_local(|| tarsia_bits::copy_bits(dst.get(), 0, &src, src_offset, len));
}

/// Throughput counts the bytes of the slots. The argument is the percentage of null slots.
#[divan::bench(args = [0, 5, 25, 90])]
fn expand_u64(bencher: Bencher<'_, '_>, nulls_percent: u8) {
    let n = L2_BYTES / 8;
    let mut bits = vec![0u8; n / 8];
    for (i, byte) in noise(n).iter().enumerate() {
        if u32::from(*byte) * 100 >= u32::from(nulls_percent) * 256 {
            bits[i / 8] |= 1 << (i % 8);
        }
    }
    let n_dense = tarsia_bits::count_ones(&bits, 0, n).unwrap_or_default();
    let dense = noise(n_dense * 8);
    let mut out = Aligned::new(L2_BYTES);
    bencher
        .counter(BytesCount::new(L2_BYTES))
        .bench_local(|| tarsia_bits::expand(&bits, 0, n, 8, &dense, out.get()));
}
