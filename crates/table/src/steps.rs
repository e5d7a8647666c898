//! Work that does no I/O: it says what it needs next.
//!
//! A protocol is written as an `async` function that asks a [`Desk`] and waits for nothing else, so the compiler makes
//! a state machine of it. [`Steps`] runs it: each call gives the answers to what was asked for last, and returns what
//! is needed next. Needs that are returned together do not depend on each other.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tarsia_io::{List, ListPage, StoreError};

/// A request to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// Reads a whole object.
    Get {
        /// Its key.
        key: String,
        /// Most bytes that it may have.
        bytes_max: u64,
    },
    /// Writes an object whose key is the digest of its bytes, so writing it again changes nothing.
    Put {
        /// Its key.
        key: String,
        /// Its bytes.
        bytes: Arc<Vec<u8>>,
    },
    /// Writes an object if there is none of that name.
    PutIfAbsent {
        /// Its key.
        key: String,
        /// Its bytes.
        bytes: Arc<Vec<u8>>,
    },
    /// Reads a page of a list.
    List(List),
    /// Waits.
    Wait(Duration),
}

/// The answer to a [`Need`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Bytes of an object; `None` if there is no such object.
    Got(Option<Vec<u8>>),
    /// The object was written, or the time is over.
    Done,
    /// There was an object of that name.
    Exists,
    /// The page.
    Listed(ListPage),
    /// The store failed.
    Failed(StoreError),
}

/// State of work that was begun.
#[derive(Debug)]
pub enum Step<T> {
    /// It needs answers to these, in their order.
    Needs(Vec<Need>),
    /// It is finished.
    Done(T),
}

/// Work that says what it needs next.
pub struct Steps<T> {
    work: Pin<Box<dyn Future<Output = T> + Send>>,
    desk: Desk,
}

impl<T> Steps<T> {
    pub(crate) fn new<F: Future<Output = T> + Send + 'static>(
        begin: impl FnOnce(Desk) -> F,
    ) -> Self {
        let desk = Desk::default();
        Self {
            work: Box::pin(begin(desk.clone())),
            desk,
        }
    }

    /// Goes on with the answers to the needs that were returned last; with none, to begin. Missing answers are taken
    /// for failures of the store.
    pub fn next(&mut self, answers: Vec<Answer>) -> Step<T> {
        self.desk.lock().answers = answers;
        let mut context = Context::from_waker(Waker::noop());
        match self.work.as_mut().poll(&mut context) {
            Poll::Ready(value) => Step::Done(value),
            Poll::Pending => Step::Needs(std::mem::take(&mut self.desk.lock().needs)),
        }
    }
}

/// Where work puts what it needs, and finds the answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Desk(Arc<Mutex<Slots>>);

#[derive(Debug, Default)]
struct Slots {
    needs: Vec<Need>,
    answers: Vec<Answer>,
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for all of these, and returns as many answers.
    pub(crate) async fn ask(&self, needs: Vec<Need>) -> Vec<Answer> {
        if needs.is_empty() {
            return Vec::new();
        }
        let n_needs = needs.len();
        let mut needs = Some(needs);
        let mut answers = poll_fn(|_| match needs.take() {
            Some(needs) => {
                self.lock().needs = needs;
                Poll::Pending
            }
            None => Poll::Ready(std::mem::take(&mut self.lock().answers)),
        })
        .await;
        let missing = || {
            let kind = tarsia_io::StoreErrorKind::Other;
            Answer::Failed(StoreError::new(kind, "the store", "it gave no answer"))
        };
        answers.resize_with(n_needs, missing);
        answers
    }

    pub(crate) async fn ask_one(&self, need: Need) -> Answer {
        let mut answers = self.ask(vec![need]).await;
        answers.pop().unwrap_or(Answer::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_says_what_it_needs_and_goes_on_with_the_answers() {
        let wait = |n: u64| Need::Wait(Duration::from_secs(n));
        let mut steps = Steps::new(move |desk| async move {
            let first = desk.ask(vec![wait(1), wait(2)]).await;
            let second = desk.ask_one(wait(3)).await;
            (first, second)
        });
        let Step::Needs(needs) = steps.next(Vec::new()) else {
            panic!("nothing was answered")
        };
        assert_eq!(needs, [wait(1), wait(2)]);
        // One answer is missing.
        let Step::Needs(needs) = steps.next(vec![Answer::Done]) else {
            panic!("one need is left")
        };
        assert_eq!(needs, [wait(3)]);
        let Step::Done((first, second)) = steps.next(vec![Answer::Exists]) else {
            panic!("all was answered")
        };
        assert!(matches!(first[..], [Answer::Done, Answer::Failed(_)]));
        assert_eq!(second, Answer::Exists);
    }
}
