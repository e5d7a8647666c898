//! Threads that decode and encode, and work on several of them whose results, and whose first error, are those of one
//! thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use crate::error::{Error, ErrorKind, Result};

/// How many threads encode or decode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Threads {
    /// One for each processor, or as many as the variable RAYON_NUM_THREADS says: the threads of one pool, which the
    /// process makes when it first needs them. It is not the global pool of rayon. A process that was forked makes
    /// another, since it has none of its parent's threads.
    #[default]
    All,
    /// The caller's alone.
    One,
    /// The threads of a pool.
    Of(ThreadPool),
}

impl Threads {
    /// The pool; `None` for the caller's thread alone, and where the system gives no threads.
    fn pool(&self) -> Option<ThreadPool> {
        match self {
            Self::One => None,
            Self::All => default_pool(std::process::id()),
            Self::Of(pool) => Some(pool.clone()),
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.pool().map_or(1, |pool| pool.threads())
    }

    /// Whether there may be others than the caller's.
    pub(crate) fn are_several(&self) -> bool {
        *self != Self::One
    }

    /// Does the work on these threads, which its parallel iterators share.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match self.pool() {
            Some(pool) => pool.0.install(work),
            None => work(),
        }
    }

    /// Begins work on one of these threads. Without any, nothing is done: whoever waits for it does it.
    pub(crate) fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        if let Some(pool) = self.pool() {
            pool.0.spawn(work);
        }
    }
}

/// Threads for the readers and writers that are given them, and for no others: so a program limits how many threads
/// each of its parts takes. Cloning shares them.
///
/// ```
/// let pool = tarsia::ThreadPool::new(2)?;
/// let options = tarsia::OpenOptions::new().with_threads(tarsia::Threads::Of(pool));
/// # Ok::<(), tarsia::Error>(())
/// ```
#[derive(Clone)]
pub struct ThreadPool(Arc<rayon::ThreadPool>);

impl ThreadPool {
    /// A pool of so many threads; of one for each processor if `threads` is 0.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] where the system gives no threads.
    pub fn new(threads: usize) -> Result<Self> {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = builder.thread_name(|number| format!("tarsia-{number}"));
        match pool.build() {
            Ok(pool) => Ok(Self(Arc::new(pool))),
            Err(error) => Err(Error::new(ErrorKind::Io, format!("threads: {error}"))),
        }
    }

    /// How many threads it has.
    pub fn threads(&self) -> usize {
        self.0.current_num_threads()
    }
}

impl PartialEq for ThreadPool {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ThreadPool {}

impl std::fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let threads = self.threads();
        f.debug_struct("ThreadPool")
            .field("threads", &threads)
            .finish()
    }
}

/// The pool of a process, and which process made it.
static DEFAULT_POOL: Mutex<Option<(u32, ThreadPool)>> = Mutex::new(None);

/// The pool of the process `process`; `None` where the system gives no threads.
fn default_pool(process: u32) -> Option<ThreadPool> {
    let mut known = DEFAULT_POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, pool)) = &*known
        && *of == process
    {
        return Some(pool.clone());
    }
    let pool = ThreadPool::new(0).ok()?;
    if let Some(of_parent) = known.replace((process, pool.clone())) {
        // To drop it would wait for threads that a forked process does not have.
        std::mem::forget(of_parent);
    }
    Some(pool)
}

/// Does a piece of work for each of the items, on as many threads as `threads` allows. Gives the results in the items'
/// order, or the error of the first item that has one; the work for items behind it may be left out.
pub(crate) fn in_order<I: Sync, T: Send>(
    threads: &Threads,
    items: &[I],
    piece: impl Fn(&I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    if items.len() < 2 || !threads.are_several() {
        return items.iter().map(piece).collect();
    }
    let first_bad = AtomicUsize::new(usize::MAX);
    let one = |(index, item)| {
        if index > first_bad.load(Ordering::Relaxed) {
            return None;
        }
        let done = piece(item);
        if done.is_err() {
            first_bad.fetch_min(index, Ordering::Relaxed);
        }
        Some(done)
    };
    let all = || items.par_iter().enumerate().map(one).collect();
    let done: Vec<_> = threads.install(all);
    done.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_process_makes_a_pool_of_its_own() {
        let own = default_pool(std::process::id()).unwrap();
        assert_eq!(default_pool(std::process::id()), Some(own.clone()));
        // As if this were a child.
        let other = default_pool(u32::MAX).unwrap();
        assert_ne!(other, own);
        assert_eq!(default_pool(u32::MAX), Some(other));
    }

    #[test]
    fn work_is_done_by_the_threads_of_its_pool() {
        let pool = ThreadPool::new(3).unwrap();
        assert_eq!(pool.threads(), 3);
        let threads = Threads::Of(pool.clone());
        let name = || std::thread::current().name().unwrap_or_default().to_owned();
        assert!(threads.install(name).starts_with("tarsia-"));
        let names = in_order(&threads, &[(); 100], |()| Ok(name())).unwrap();
        assert!(names.iter().all(|name| name.starts_with("tarsia-")));
        assert_eq!(threads.count(), 3);
        assert_eq!(Threads::One.count(), 1);
        assert!(!Threads::One.install(name).starts_with("tarsia-"));
    }

    #[test]
    fn the_first_error_in_order_is_given() {
        for threads in [&Threads::All, &Threads::One] {
            let items: Vec<usize> = (0..1000).collect();
            let same = in_order(threads, &items, |item| Ok(*item)).unwrap();
            assert_eq!(same, items);
            let odd = |item: &usize| match item {
                700 | 3 | 999 => Err(Error::new(ErrorKind::Corrupt, format!("item {item}"))),
                _ => Ok(()),
            };
            for _ in 0..20 {
                let error = in_order(threads, &items, odd).unwrap_err();
                assert!(error.to_string().ends_with("item 3"), "{error}");
            }
            assert!(in_order(threads, &[], odd).unwrap().is_empty());
        }
    }
}
