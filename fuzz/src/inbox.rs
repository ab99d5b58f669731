//! Files dropped into the inbox.

use swarm::daemon::effects::inbox::parse::parse;
use swarm::domain::decide::MAX_TEXT_BYTES;

/// A file is an idea with a text, or refused with one of its lines, or the one that is missing
/// after them.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match parse(&text) {
        Ok(idea) => {
            assert!(!idea.text.trim().is_empty());
            assert!(idea.text.len() <= MAX_TEXT_BYTES);
            assert!(!idea.text.contains('\0'));
        }
        Err(error) => {
            assert!(error.line >= 1 && error.line <= text.matches('\n').count() + 2);
            assert!(!error.to_string().is_empty());
        }
    }
}
