//! Drivers: what work needs, asked of a store.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

use tarsia_io::{Get, GetRange, PutIfAbsent, Store, StoreErrorKind, block_on};

use crate::steps::{Answer, Need, Step, Steps};

/// Runs work to its end. The calling thread waits for the store; needs of one step are asked for at the same time.
pub fn drive<T>(store: &Arc<dyn Store>, mut steps: Steps<T>) -> T {
    let mut answers = Vec::new();
    loop {
        match steps.next(answers) {
            Step::Done(value) => return value,
            Step::Needs(needs) => answers = answer_all(store, needs),
        }
    }
}

type AnswerFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

fn answer_all(store: &Arc<dyn Store>, needs: Vec<Need>) -> Vec<Answer> {
    let waits = needs.iter().filter_map(|need| match need {
        Need::Wait(time) => Some(*time),
        _ => None,
    });
    if let Some(time) = waits.max() {
        thread::sleep(time);
    }
    let futures = needs.into_iter().map(|need| answer(store, need)).collect();
    block_on(all(futures))
}

/// The answer of a store. Waiting is the driver's.
fn answer(store: &Arc<dyn Store>, need: Need) -> AnswerFuture {
    match need {
        Need::Get { key, bytes_max } => {
            let got = store.get(Get::new(key, GetRange::Whole { bytes_max }));
            Box::pin(async move {
                match got.await {
                    Ok(got) => Answer::Got(Some(got.bytes)),
                    Err(error) if error.kind() == StoreErrorKind::NotFound => Answer::Got(None),
                    Err(error) => Answer::Failed(error),
                }
            })
        }
        Need::Put { key, bytes } => {
            let put = store.put(&key, bytes);
            Box::pin(async move { put.await.map_or_else(Answer::Failed, |_| Answer::Done) })
        }
        Need::PutIfAbsent { key, bytes } => {
            let put = store.put_if_absent(&key, bytes);
            Box::pin(async move {
                match put.await {
                    Ok(PutIfAbsent::Created { .. }) => Answer::Done,
                    Ok(PutIfAbsent::Exists) => Answer::Exists,
                    Err(error) => Answer::Failed(error),
                }
            })
        }
        Need::List(list) => {
            let page = store.list(list);
            Box::pin(async move { page.await.map_or_else(Answer::Failed, Answer::Listed) })
        }
        Need::Wait(_) => Box::pin(async { Answer::Done }),
    }
}

/// All values, in the order of the futures.
pub(crate) async fn all<T>(mut futures: Vec<Pin<Box<dyn Future<Output = T> + Send>>>) -> Vec<T> {
    let mut values: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, value) in futures.iter_mut().zip(&mut values) {
            if value.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *value = Some(ready);
            }
        }
        match values.iter().all(Option::is_some) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    values.into_iter().flatten().collect()
}
