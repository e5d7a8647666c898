//! Temporary memory of decoders, kept by each thread.

use tarsia_codec::Scratch;

thread_local! {
    static SCRATCH: std::cell::RefCell<Scratch> = std::cell::RefCell::new(Scratch::new());
}

/// Gives the thread's scratch memory to `work`. It is taken out meanwhile: a kernel is compiled on the pool's threads,
/// and one that waits for that may begin another batch before this one is done.
pub(crate) fn with_scratch<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    let mut scratch = SCRATCH.replace(Scratch::new());
    let done = work(&mut scratch);
    SCRATCH.set(scratch);
    done
}
