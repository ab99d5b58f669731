//! Messages to the view from its keys, its signals, the daemon and the daemon's process.
//!
//! Invariant: sending never waits, and a view that has ended loses the message.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use super::Message;

/// A way to send messages. Cheap to clone.
#[derive(Clone)]
pub struct Mailbox {
    sender: Sender<Message>,
    closed: Arc<AtomicBool>,
}

/// The view's end of the mailbox.
pub struct Inbox {
    receiver: Receiver<Message>,
    closed: Arc<AtomicBool>,
}

/// A mailbox and its inbox.
pub fn mailbox() -> (Mailbox, Inbox) {
    let (sender, receiver) = channel();
    let closed = Arc::new(AtomicBool::new(false));
    let mailbox = Mailbox {
        sender,
        closed: Arc::clone(&closed),
    };
    (mailbox, Inbox { receiver, closed })
}

impl Mailbox {
    /// Sends a message.
    pub fn send(&self, message: Message) {
        // A view that has ended needs it no more.
        drop(self.sender.send(message));
    }

    /// Whether the view has ended.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

impl Inbox {
    /// The next message before `until`; `None` at that time. Its owner keeps a mailbox too, so it
    /// is never disconnected.
    pub fn next(&self, until: Instant) -> Option<Message> {
        let wait = until.saturating_duration_since(Instant::now());
        self.receiver.recv_timeout(wait).ok()
    }

    /// A message that waits already.
    pub fn waiting(&self) -> Option<Message> {
        self.receiver.try_recv().ok()
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Release);
    }
}
