//! Temporary memory of decoders, kept by each thread.

use tarsia_codec::Scratch;

thread_local! {
    static SCRATCH: std::cell::RefCell<Scratch> = std::cell::RefCell::new(Scratch::new());
}

/// Gives the thread's scratch memory to `work`. It is not borrowed from the thread but moved out of it meanwhile: while
/// `work` waits for a kernel that the thread pool compiles, this thread may begin another batch.
pub(crate) fn with_scratch<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    let mut scratch = SCRATCH.replace(Scratch::new());
    let done = work(&mut scratch);
    SCRATCH.set(scratch);
    done
}
