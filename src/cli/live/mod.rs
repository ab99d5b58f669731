//! What `swarm start` shows while the daemon works in the same process: `frame` summarizes the
//! state, `bars` draws it on a terminal, and `progress` chooses between bars, lines and JSON.

pub(super) mod bars;
pub(super) mod frame;
pub mod progress;

#[cfg(test)]
mod testkit {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    /// A stream that a test can read.
    #[derive(Clone, Default)]
    pub(super) struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Lines {
        /// What was written up to now.
        pub(super) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }

        /// What was written since the last call.
        pub(super) fn take(&self) -> String {
            String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
        }
    }

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
}
