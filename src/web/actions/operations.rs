//! Operations that were accepted: sent once more, by a double click or a browser that repeats a
//! request, they do not act again.
//!
//! Invariant: a repeated operation waits for the first one and gets its answer. A refused one is
//! not kept: it may be tried again. After a restart nothing is kept; then what has changed since
//! the form was drawn decides.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use super::Done;
use crate::web::pages::WebError;

/// The most operations that are kept; the oldest one goes first.
const KEPT: usize = 1_024;

type Outcome = Arc<OnceCell<Done>>;

/// See the module.
#[derive(Default)]
pub struct Operations {
    kept: Mutex<VecDeque<(Vec<u8>, Outcome)>>,
}

impl Operations {
    /// Acts, unless this operation was accepted before. Not to be cancelled halfway.
    pub(super) async fn once(
        &self,
        operation: Vec<u8>,
        act: impl Future<Output = Result<Done, WebError>> + Send,
    ) -> Result<Done, WebError> {
        let outcome = self.outcome(operation);
        outcome.get_or_try_init(|| act).await.cloned()
    }

    fn outcome(&self, operation: Vec<u8>) -> Outcome {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, outcome)) = kept.iter().find(|(its, _)| *its == operation) {
            return Arc::clone(outcome);
        }
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        let outcome = Outcome::default();
        kept.push_back((operation, Arc::clone(&outcome)));
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn an_accepted_operation_acts_once_and_a_refused_one_may_be_tried_again() {
        let operations = Operations::default();
        let count = AtomicUsize::new(0);
        let act = |is_refused: bool| {
            let count = &count;
            async move {
                count.fetch_add(1, Ordering::Relaxed);
                if is_refused {
                    return Err(WebError::bad("no"));
                }
                Ok(Done::at("ideas"))
            }
        };
        let refused = operations.once("a".into(), act(true)).await;
        assert!(refused.is_err());
        let (first, second) = tokio::join!(
            operations.once("a".into(), act(false)),
            operations.once("a".into(), act(false)),
        );
        assert_eq!(first.unwrap(), second.unwrap());
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn only_the_latest_operations_are_kept() {
        let operations = Operations::default();
        for number in 0..KEPT + 5 {
            let done = async { Ok(Done::at("ideas")) };
            operations
                .once(number.to_string().into(), done)
                .await
                .unwrap();
        }
        assert_eq!(operations.kept.lock().unwrap().len(), KEPT);
    }
}
