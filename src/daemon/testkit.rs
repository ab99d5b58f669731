//! The actor's side of a [`Handle`], for tests that play the actor.
//!
//! Invariant: as with the real one, the state is published before those who follow are woken.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{mpsc, oneshot, watch};

use super::actor::handle::{Accepted, CommandError, Handle, Journaled, Message, Published};
use crate::domain::evolve::evolve;
use crate::domain::operation::Command;
use crate::domain::request::Request;
use crate::domain::state::State;

/// The actor's side of a [`Handle`].
pub struct Seat {
    inbox: mpsc::Receiver<Message>,
    published: Arc<RwLock<Published>>,
    seq: watch::Sender<u64>,
    keep: usize,
}

/// Where the answer to a command goes.
pub type Answer = oneshot::Sender<Result<Accepted, CommandError>>;

impl Seat {
    /// A handle and its actor's side; `keep` records stay in memory.
    pub fn new(state: State, keep: usize) -> (Handle, Self) {
        let (inbox, received) = mpsc::channel(1_024);
        let (seq, watched) = watch::channel(state.seq);
        let recent = VecDeque::new();
        let published = Arc::new(RwLock::new(Published {
            state,
            recent,
            stalled: None,
        }));
        let seat = Self {
            inbox: received,
            published: published.clone(),
            seq,
            keep,
        };
        let handle = Handle {
            inbox,
            published,
            seq: watched,
            tally: Arc::default(),
        };
        (handle, seat)
    }

    /// The next command; observations are dropped.
    pub async fn next(&mut self) -> Option<(Command, Answer)> {
        let (request, answer) = self.next_request().await?;
        Some((request.command, answer))
    }

    /// The same with its sender.
    pub async fn next_request(&mut self) -> Option<(Request, Answer)> {
        loop {
            match self.inbox.recv().await? {
                Message::Request(request, answer) => return Some((request, answer)),
                Message::Observation(_) => {}
                // Whoever asked may have gone.
                Message::Ping(answer) => drop(answer.send(())),
            }
        }
    }

    /// Publishes events that follow on what is published.
    pub fn publish(&self, records: &[Arc<Journaled>]) {
        let seq = {
            let mut published = self
                .published
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            for record in records {
                evolve(&mut published.state, record.seq, record.ts, &record.event);
                published.recent.push_back(Arc::clone(record));
            }
            let over = published.recent.len().saturating_sub(self.keep);
            published.recent.drain(..over);
            published.state.seq
        };
        self.seq.send_replace(seq);
    }
}
