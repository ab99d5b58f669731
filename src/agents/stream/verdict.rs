//! Derives the verdict on a run from the program's last report and the end of its process.
//!
//! Invariant: a run is complete only if its program said so and its process ended accordingly.

use crate::agents::text;
use crate::domain::observation::RunEndKind;
use crate::domain::verdict::{Cause, Verdict};

/// The longest message of a verdict, in characters.
const MESSAGE: usize = 500;

/// What a program said last about its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastWord {
    /// All is done.
    Done,
    /// Somebody interrupted it.
    Interrupted,
    /// An answer of its model broke off in the middle, it says in these words: no more is known of
    /// its service, and it is asked again.
    BrokenOff(String),
    /// It failed.
    Failed(Failure),
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What was to blame.
    pub cause: Cause,
    /// What the program said.
    pub message: String,
}

impl Failure {
    /// A failure; of the message what a verdict can hold.
    pub fn new(cause: Cause, message: &str) -> Self {
        // A character has at most four bytes, and white space may be folded: a bound on the work.
        let line = text::one_line(text::head(message, MESSAGE * 16));
        Self {
            cause,
            message: line.chars().take(MESSAGE).collect(),
        }
    }

    /// The verdict that it makes.
    pub fn verdict(self) -> Verdict {
        Verdict::Failed {
            cause: self.cause,
            message: self.message,
        }
    }
}

/// The verdict. `at_once` is what the standard error of a run says that ended before its model had
/// answered; none where it had.
///
/// The last word counts more than the exit code: some programs report success and end with 1, and
/// one may be held up or ended after its last word, by what its tools left running.
pub fn verdict(
    last: Option<LastWord>,
    end: &RunEndKind,
    at_once: impl FnOnce() -> Option<Failure>,
) -> Option<Verdict> {
    let done = match (last, end) {
        (_, RunEndKind::NotStarted { .. }) => return None,
        (Some(LastWord::Failed(failure)), _) => return Some(failure.verdict()),
        (
            Some(LastWord::Done),
            RunEndKind::Exited { .. }
            | RunEndKind::TimedOut
            | RunEndKind::Idle
            | RunEndKind::Stopped
            | RunEndKind::LeaseExpired
            | RunEndKind::OutputLimit
            | RunEndKind::Lost,
        ) => true,
        (None, RunEndKind::Exited { code }) if *code != 0 => {
            return Some(at_once().map_or(Verdict::Cut, Failure::verdict));
        }
        (Some(LastWord::BrokenOff(_)), _) => return Some(Verdict::Cut),
        (Some(LastWord::Done), RunEndKind::Signalled { .. })
        | (Some(LastWord::Interrupted) | None, _) => false,
    };
    Some(if done {
        Verdict::Complete
    } else {
        Verdict::Cut
    })
}

/// The last line of a standard error that says something.
pub fn last_line(stderr: &str) -> Option<&str> {
    stderr.lines().map(str::trim).rfind(|line| !line.is_empty())
}

/// The cause for an HTTP status; `None` if the request itself is at fault.
pub fn cause_from_status(status: u64) -> Option<Cause> {
    match status {
        402 => Some(Cause::Credit),
        401 | 403 => Some(Cause::Login),
        429 => Some(Cause::Limit { until: None }),
        408 | 500.. => Some(Cause::Overloaded),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_so_is_complete() {
        let exited = |code| RunEndKind::Exited { code };
        let failed = || LastWord::Failed(Failure::new(Cause::Login, "no\nkey"));
        let login = Verdict::Failed {
            cause: Cause::Login,
            message: "no key".into(),
        };
        let signalled = RunEndKind::Signalled { signal: 9 };
        for (last, end, expected) in [
            (Some(LastWord::Done), exited(0), Some(Verdict::Complete)),
            (Some(LastWord::Done), exited(1), Some(Verdict::Complete)),
            (Some(LastWord::Done), exited(143), Some(Verdict::Complete)),
            (
                Some(LastWord::Done),
                RunEndKind::TimedOut,
                Some(Verdict::Complete),
            ),
            (
                Some(LastWord::Done),
                RunEndKind::Lost,
                Some(Verdict::Complete),
            ),
            (Some(LastWord::Done), signalled.clone(), Some(Verdict::Cut)),
            (Some(LastWord::Interrupted), exited(0), Some(Verdict::Cut)),
            (
                Some(LastWord::BrokenOff("so".into())),
                exited(1),
                Some(Verdict::Cut),
            ),
            (Some(failed()), exited(0), Some(login.clone())),
            (Some(failed()), RunEndKind::Stopped, Some(login)),
            (None, exited(0), Some(Verdict::Cut)),
            (None, exited(143), Some(Verdict::Cut)),
            (None, signalled, Some(Verdict::Cut)),
            (
                None,
                RunEndKind::NotStarted {
                    message: String::new(),
                },
                None,
            ),
        ] {
            let found = verdict(last.clone(), &end, || None);
            assert_eq!(found, expected, "{last:?} {end:?}");
        }
    }

    #[test]
    fn without_a_last_word_standard_error_tells_what_was_to_blame() {
        let exited = |code| RunEndKind::Exited { code };
        let at_once = || Some(Failure::new(Cause::Session, "gone"));
        let found = verdict(None, &exited(1), at_once);
        assert!(
            matches!(
                found,
                Some(Verdict::Failed {
                    cause: Cause::Session,
                    ..
                })
            ),
            "{found:?}"
        );
        assert_eq!(verdict(None, &exited(0), at_once), Some(Verdict::Cut));
    }

    #[test]
    fn a_message_is_one_short_harmless_line() {
        let failure = Failure::new(
            Cause::Other,
            &format!("a\u{1b}[31mb\n{}", "ä ".repeat(9_000)),
        );
        assert!(failure.message.starts_with("ab ä"), "{}", failure.message);
        assert_eq!(failure.message.chars().count(), MESSAGE);
    }
}
