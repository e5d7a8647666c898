//! The laws of encodings. [`check_encoding`] checks them for one tree and one page of values; [`check_cases`] for many.
//!
//! | law | in words |
//! |---|---|
//! | round trip | every selection of every unit equals the same selection of the values |
//! | outputs | bits at any offset leave their neighbours alone; string ends start at any base |
//! | reach | a range decodes from the bytes that [`Decoder::reach`](tarsia_codec::Decoder::reach) names alone |
//! | views | byte strings decode as views to what they decode to as bytes |
//! | predicates | [`Decoder::filter`](tarsia_codec::Decoder::filter) finds the values that decoding and comparing finds, and [`Decoder::aggregates`](tarsia_codec::Decoder::aggregates) are true |
//! | decoded size | a unit decodes to at most [`Decoder::decoded_bytes_max`](tarsia_codec::Decoder::decoded_bytes_max) |
//! | entries | a decoder notes every entry of a shared buffer that it needs: with all others wiped, values are the same |
//! | size | a unit has at most `encoded_bytes_max` bytes, and encoding appends |
//! | determinism | encoding again, or after a fresh `prepare`, gives the same bytes |
//! | slices | values inside a larger buffer encode to the same bytes |
//! | memory | once its scratch is warm, decoding allocates nothing; hostile bytes allocate within a bound |
//! | erasure | under a tree that says [`EraseFit::Always`](tarsia_codec::EraseFit::Always) survivors never need more bytes |
//! | nodes | a child or a shared buffer too many or too few is refused |
//! | corrupt | every proper prefix, and a unit with a byte too many, is refused; mutated bytes and parameters never panic |
//! | misuse | selections and outputs that do not fit are refused |
//!
//! A broken law panics and names the tree, the values and the step.

mod blocks;
mod case;
mod expected;
mod filter;
mod hostile;
mod panic;

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tarsia_codec::{BlockValues, Registry, Tree};

pub use crate::cases::{Case, CaseValues, bits_cases, bytes_cases, cases, fixed_cases};
pub use case::{LawCase, existing};
pub use expected::{shared_bits, shared_fixed};

use case::Laws;
use panic::panic_text;

/// Checks one tree with all `cases`.
///
/// # Panics
/// Where a law is broken.
pub fn check_cases(registry: &Registry, tree: &Tree, cases: &[Case]) {
    check_cases_with(registry, cases, |_| Some(tree.clone()));
}

/// Checks each case with the tree that `tree_of` makes for it, some of them at once; a case for which it makes none is
/// left out.
///
/// # Panics
/// Where a law is broken, or where no case is left.
pub fn check_cases_with(
    registry: &Registry,
    cases: &[Case],
    tree_of: impl FnMut(&Case) -> Option<Tree>,
) {
    let trees: Vec<Option<Tree>> = cases.iter().map(tree_of).collect();
    let checked: Vec<(&Case, &Tree)> = cases
        .iter()
        .zip(&trees)
        .filter_map(|(case, tree)| Some((case, tree.as_ref()?)))
        .collect();
    assert!(
        !checked.is_empty(),
        "no case was checked: the tree function left out all of them"
    );
    let next = AtomicUsize::new(0);
    let check = || {
        while let Some((case, tree)) = checked.get(next.fetch_add(1, Ordering::Relaxed)) {
            check_encoding(&LawCase::new(&case.name, registry, tree, case.values()));
        }
    };
    let n_threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(check)).collect();
        for thread in threads {
            if let Err(panic) = thread.join() {
                resume_unwind(panic);
            }
        }
    });
}

/// Checks all laws for one tree and one page of values.
///
/// # Panics
/// Where a law is broken.
pub fn check_encoding(case: &LawCase<'_>) {
    let context = format!(
        "{} of {:?} as {}",
        case.name,
        case.values.value_type(),
        case.tree
    );
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| Laws::new(*case).check_all())) {
        panic!("[{context}] {}", panic_text(&*panic));
    }
}

/// Checks the laws of writing and reading if the tree holds the values, and returns whether it does. Trees that were
/// made by chance ([`crate::trees`]) must obey them. A tree may refuse the page or a block of it, but what it writes
/// must be read. Bytes are not mutated.
///
/// # Panics
/// Where a law is broken.
pub fn check_if_held(case: &LawCase<'_>) -> bool {
    let checked = catch_unwind(AssertUnwindSafe(|| match Laws::try_new(*case) {
        Ok(laws) => laws.check_held(),
        Err(_) => false,
    }));
    checked.unwrap_or_else(|panic| {
        let (value_type, tree) = (case.values.value_type(), case.tree);
        let text = panic_text(&*panic);
        panic!(
            "[{} of {value_type:?} as {tree}: {tree:?}] {text}",
            case.name
        );
    })
}

impl Laws<'_> {
    fn check_all(&mut self) {
        let n = self.case.values.len();
        self.check_tree();
        let whole = self.check_block(0, n);
        for (start, end) in self.cuts(n) {
            self.check_block(start, end);
        }
        self.check_ranges_beyond();
        self.check_slices();
        self.check_erasure(0, n, whole.len(), false);
        // Corruption is checked on the whole (its first and last bytes) and thoroughly on a short block.
        let start = self.rng.below(n.saturating_sub(200).max(1));
        let end = (start + self.rng.between(1, 200)).min(n);
        let short = self.encode(start, end);
        self.check_corrupt(start, end, &short);
        if end - start < n {
            self.check_corrupt(0, n, &whole);
        }
        self.check_hostile_trees(start, end, &short);
    }

    fn check_held(mut self) -> bool {
        let n = self.case.values.len();
        self.check_tree();
        let mut is_held = true;
        for (start, end) in [(0, n)].into_iter().chain(self.cuts(n)) {
            let block = BlockValues::new(self.case.values, start..end);
            let mut out = vec![];
            match block.and_then(|block| self.encoder.encode(block, &mut out)) {
                Ok(()) => drop(self.check_block(start, end)),
                Err(_) => is_held = false,
            }
            if (start, end) == (0, n) && is_held {
                self.check_erasure(0, n, out.len(), true);
            }
        }
        is_held
    }
}
