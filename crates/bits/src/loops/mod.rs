//! The loops and their dispatch by instruction set.
//!
//! The body of a loop is a portable `#[inline(always)]` function. [`dispatch!`] wraps it in functions that are compiled
//! for instruction sets beyond the target's baseline, and calls one of them by [`level`]. Tests compare them with the
//! body compiled for the baseline.

pub(crate) mod bitmap;
pub(crate) mod compress;
pub(crate) mod expand;
pub(crate) mod gather;
pub(crate) mod pack;
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod row;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod row_wasm;
mod shuffle;
pub(crate) mod stats;
pub(crate) mod within;

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
use row::unpack_row;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use row_wasm::unpack_row;

use core::sync::atomic::{AtomicU8, Ordering};

/// The instruction sets that the loops may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// The instruction sets that the program was compiled for.
    Baseline = 1,
    /// AVX2, BMI1, BMI2, LZCNT, POPCNT.
    Avx2 = 2,
    /// The instructions of [`Level::Avx2`], and AVX-512 F, BW, VL, DQ, CD.
    Avx512 = 3,
}

/// The detected level, or 0 before the detection. Relaxed ordering is enough: every thread detects the same level.
static LEVEL: AtomicU8 = AtomicU8::new(0);

/// The level at which the loops run.
#[inline]
pub fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        0 => {
            let found = detect();
            LEVEL.store(found as u8, Ordering::Relaxed);
            found
        }
        2 => Level::Avx2,
        3 => Level::Avx512,
        _ => Level::Baseline,
    }
}

/// Limits the level of the whole process to `most`, and to what the CPU supports. For tests and benchmarks that compare
/// levels. Returns the level in use.
pub fn limit_level(most: Level) -> Level {
    let level = detect().min(most);
    LEVEL.store(level as u8, Ordering::Relaxed);
    level
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[cold]
fn detect() -> Level {
    let avx2 = std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("lzcnt")
        && std::arch::is_x86_feature_detected!("popcnt");
    let avx512 = avx2
        && std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512vl")
        && std::arch::is_x86_feature_detected!("avx512dq")
        && std::arch::is_x86_feature_detected!("avx512cd");
    match (avx2, avx512) {
        (_, true) => Level::Avx512,
        (true, _) => Level::Avx2,
        _ => Level::Baseline,
    }
}

#[cfg(not(all(target_arch = "x86_64", feature = "std")))]
fn detect() -> Level {
    Level::Baseline
}

/// `dispatch! { pub(crate) fn name<T: Word>(a: A, b: B) -> R = body; }` defines `name`, which calls `body` compiled for
/// the CPU's level.
macro_rules! dispatch {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<$($gen:ident: $bound:path),*>(
        $($arg:ident: $ty:ty),* $(,)?
    ) -> $ret:ty = $body:ident;) => {
        $(#[$meta])*
        #[inline]
        $vis fn $name<$($gen: $bound),*>($($arg: $ty),*) -> $ret {
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                #[inline(never)]
                fn avx2<$($gen: $bound),*>($($arg: $ty),*) -> $ret {
                    $body::<$($gen),*>($($arg),*)
                }
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512cd")]
                #[inline(never)]
                fn avx512<$($gen: $bound),*>($($arg: $ty),*) -> $ret {
                    $body::<$($gen),*>($($arg),*)
                }
                match $crate::loops::level() {
                    $crate::loops::Level::Avx512 => {
                        // SAFETY: `detect` gives `Avx512` only where the CPU has every feature enabled on `avx512`,
                        // and `limit_level` stores nothing above what `detect` gives.
                        return unsafe { avx512::<$($gen),*>($($arg),*) };
                    }
                    // SAFETY: as above, for `Avx2` and the features of `avx2`.
                    $crate::loops::Level::Avx2 => return unsafe { avx2::<$($gen),*>($($arg),*) },
                    $crate::loops::Level::Baseline => {}
                }
            }
            // Never inlined: one copy per type, however many callers there are. This keeps Wasm kernels small.
            #[inline(never)]
            fn baseline<$($gen: $bound),*>($($arg: $ty),*) -> $ret {
                $body::<$($gen),*>($($arg),*)
            }
            baseline::<$($gen),*>($($arg),*)
        }
    };
}
pub(crate) use dispatch;
