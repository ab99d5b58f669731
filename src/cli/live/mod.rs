//! What `swarm start` prints while the daemon works in the same process: lines, JSON or nothing.

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
