//! Work on several threads whose results, and whose first error, are those of one thread.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::error::Result;
use crate::options::Threads;

/// Does a piece of work for each of the items, on as many threads as `threads` allows. Gives the results in the items'
/// order, or the error of the first item that has one; the work for items behind it may be left out.
pub(crate) fn in_order<I: Sync, T: Send>(
    threads: Threads,
    items: &[I],
    piece: impl Fn(&I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    match threads {
        Threads::All if items.len() > 1 => {}
        _ => return items.iter().map(piece).collect(),
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
    let done: Vec<_> = items.par_iter().enumerate().map(one).collect();
    done.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};

    #[test]
    fn the_first_error_in_order_is_given() {
        for threads in [Threads::All, Threads::One] {
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
