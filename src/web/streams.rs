//! The open streams, so that a browser keeps a connection for its requests: over HTTP/1.1 it has
//! six to a host.
//!
//! Invariant: a session has at most [`MOST`] streams. A newer one ends the oldest, whose page then
//! asks from time to time, until there is room.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// The most streams of a session.
const MOST: usize = 5;
/// Documents whose stream was ended that are remembered.
const REMEMBERED: usize = 256;

/// See the module.
#[derive(Debug, Default)]
pub struct Streams(Arc<Mutex<All>>);

#[derive(Debug, Default)]
struct All {
    /// Oldest first.
    open: Vec<Open>,
    next: u64,
    /// Documents whose stream was ended for a newer one, oldest first.
    crowded: VecDeque<String>,
}

#[derive(Debug)]
struct Open {
    number: u64,
    session: String,
    document: String,
    end: watch::Sender<bool>,
}

/// What a request for a stream gets.
#[derive(Debug)]
pub enum Entered {
    /// A stream of its own.
    Stays(Place),
    /// One answer: newer pages have all streams.
    Asks,
}

/// The place of an open stream; it is free when this is dropped.
#[derive(Debug)]
pub struct Place {
    all: Arc<Mutex<All>>,
    number: u64,
    ended: watch::Receiver<bool>,
}

impl Streams {
    /// A place for this document's stream, if there is one.
    pub fn enter(&self, session: &str, document: &str) -> Entered {
        let mut all = lock(&self.0);
        let count = |all: &All| all.open.iter().filter(|one| one.session == session).count();
        if let Some(index) = all.crowded.iter().position(|one| one == document) {
            if count(&all) >= MOST {
                return Entered::Asks;
            }
            all.crowded.remove(index);
        }
        while count(&all) >= MOST {
            let Some(index) = all.open.iter().position(|one| one.session == session) else {
                break;
            };
            let oldest = all.open.remove(index);
            if all.crowded.len() >= REMEMBERED {
                all.crowded.pop_front();
            }
            all.crowded.push_back(oldest.document);
            oldest.end.send_replace(true);
        }
        let (end, ended) = watch::channel(false);
        let number = all.next;
        all.next += 1;
        all.open.push(Open {
            number,
            session: session.to_owned(),
            document: document.to_owned(),
            end,
        });
        Entered::Stays(Place {
            all: Arc::clone(&self.0),
            number,
            ended,
        })
    }
}

impl Place {
    /// Returns when the place was given to a newer stream. Cancel-safe.
    pub async fn lost(&mut self) {
        // The sender lives as long as the place does, or has sent.
        drop(self.ended.wait_for(|ended| *ended).await);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.all).open.retain(|one| one.number != self.number);
    }
}

fn lock(all: &Mutex<All>) -> MutexGuard<'_, All> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stays(entered: Entered) -> Place {
        match entered {
            Entered::Stays(place) => place,
            Entered::Asks => panic!("it has no place"),
        }
    }

    #[tokio::test]
    async fn the_sixth_stream_ends_the_oldest_which_asks_until_there_is_room() {
        let streams = Streams::default();
        let names: Vec<String> = (0..6).map(|number| format!("page-{number}")).collect();
        let mut places: Vec<Place> = names[..5]
            .iter()
            .map(|name| stays(streams.enter("one", name)))
            .collect();
        let others = stays(streams.enter("another", "theirs"));
        assert!(!*places[0].ended.borrow());
        places.push(stays(streams.enter("one", &names[5])));
        places[0].lost().await;
        assert!(!*places[1].ended.borrow(), "only the oldest ends");
        assert!(!*others.ended.borrow(), "another session keeps its own");
        assert!(matches!(streams.enter("one", &names[0]), Entered::Asks));
        drop(places.pop());
        let back = stays(streams.enter("one", &names[0]));
        assert!(!*back.ended.borrow() && !*places[1].ended.borrow());
    }
}
