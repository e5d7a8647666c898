//! Running a body so that no panic gets lost, and making an input that finds something small.

use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

/// A panic of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Find {
    /// Message of the panic.
    pub message: String,
    /// File, line and column.
    pub place: String,
}

impl fmt::Display for Find {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.message, self.place)
    }
}

thread_local! {
    /// `None` while no body runs on this thread.
    static FOUND: RefCell<Option<Option<Find>>> = const { RefCell::new(None) };
}

/// Records panics where they start: a scan turns a panic of its decoder into an error, and that must not hide it.
fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            let find = Find {
                message: info
                    .payload_as_str()
                    .unwrap_or("a panic without text")
                    .to_owned(),
                place: info
                    .location()
                    .map_or_else(String::new, ToString::to_string),
            };
            let is_recorded = FOUND.with_borrow_mut(|found| match found {
                Some(first) => {
                    first.get_or_insert(find);
                    true
                }
                None => false,
            });
            if !is_recorded {
                before(info);
            }
        }));
    });
}

/// Runs a body on one input.
///
/// # Errors
/// The first panic, even one that was caught on its way.
pub fn run(body: fn(&[u8]), input: &[u8]) -> Result<(), Find> {
    install_hook();
    FOUND.set(Some(None));
    let done = catch_unwind(AssertUnwindSafe(|| body(input)));
    match (FOUND.take().flatten(), done) {
        (Some(find), _) => Err(find),
        (None, Ok(())) => Ok(()),
        (None, Err(_)) => Err(Find {
            message: "a panic that the hook did not see".to_owned(),
            place: String::new(),
        }),
    }
}

/// A shorter, plainer input that panics at the same place as `input` does; tries at most `n_tries` inputs.
pub fn minimise(body: fn(&[u8]), input: &[u8], find: &Find, mut n_tries: usize) -> Vec<u8> {
    let mut best = input.to_vec();
    let mut same = |candidate: &[u8]| {
        n_tries = n_tries.saturating_sub(1);
        n_tries > 0 && run(body, candidate).is_err_and(|other| other.place == find.place)
    };
    loop {
        let before = best.clone();
        // Cut stretches out, long ones first, then clear bytes.
        let mut len = best.len().next_power_of_two();
        while len > 0 {
            let mut at = 0;
            while at < best.len() {
                let mut shorter = best.clone();
                shorter.drain(at..(at + len).min(best.len()));
                if same(&shorter) {
                    best = shorter;
                } else {
                    at += len;
                }
            }
            len /= 2;
        }
        for at in 0..best.len() {
            let old = best[at];
            for plainer in [0, 1] {
                if old > plainer {
                    best[at] = plainer;
                    if same(&best) {
                        break;
                    }
                    best[at] = old;
                }
            }
        }
        if best == before {
            return best;
        }
    }
}
