//! Why an agent gets its next prompt, which begins with it.
//!
//! Invariant: it says only what happened: an iteration counts as interrupted only if its run was.
//! A cause that no prompt has carried yet outlives a run that never read its prompt.

use serde::{Deserialize, Serialize};

use super::{Attempt, AttemptEnd, Said, Task};
use crate::domain::ids::IdeaId;
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::signal::SignalKind;
use crate::domain::verdict::{Cause, Verdict};

/// Why an agent gets a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PromptCause {
    /// Work on the idea begins.
    #[default]
    Begin,
    /// It ended without a final signal.
    Unfinished,
    /// Its run was cut off.
    Interrupted,
    /// The attempt before crashed.
    Crashed,
    /// It reported the idea as finished, but was stopped before its work was judged.
    Unjudged,
    /// It reported the idea as finished, and had changed nothing.
    ChangedNothing,
    /// A required command failed on its work.
    FailedCheck,
    /// A reviewer returned its work.
    Rejected {
        /// Whether only the idea's text was edited.
        edited: bool,
    },
    /// It asked a person, and nothing was said yet.
    Asked {
        /// The question.
        question: String,
    },
    /// A person answered its question. Only a prompt has it; the state has `Asked`.
    Answered {
        /// The question.
        question: String,
    },
    /// A person sent a message. Only a prompt has it.
    Message,
    /// Its branch conflicts with the target. Only a prompt has it.
    Conflict,
    /// A person redirected it from another idea, whose work is in the worktree.
    Redirected {
        /// The other idea.
        from: IdeaId,
    },
    /// The idea or its rules have changed. Only a prompt has it.
    RulesChanged,
    /// It only mentioned a signal, and gave none.
    Mentioned {
        /// The last that it mentioned.
        signal: SignalKind,
    },
    /// The attempt before ended without success.
    Retried {
        /// How it ended.
        end: AttemptEnd,
        /// Why.
        why: String,
    },
    /// The work was imported, or was restored by a rollback.
    Restored,
    /// Its conversation could not go on, so a new one begins.
    NewConversation {
        /// What its program said.
        why: String,
    },
}

impl PromptCause {
    /// Whether it is the default, which snapshots omit.
    pub fn is_begin(&self) -> bool {
        *self == Self::Begin
    }

    /// Whether the next prompt would say so even after a run that never read its own.
    fn is_news(&self) -> bool {
        match self {
            Self::Begin
            | Self::Unfinished
            | Self::Interrupted
            | Self::Message
            | Self::Conflict
            | Self::RulesChanged => false,
            Self::Crashed
            | Self::Unjudged
            | Self::ChangedNothing
            | Self::FailedCheck
            | Self::Rejected { .. }
            | Self::Asked { .. }
            | Self::Answered { .. }
            | Self::Redirected { .. }
            | Self::Mentioned { .. }
            | Self::Retried { .. }
            | Self::Restored
            | Self::NewConversation { .. } => true,
        }
    }
}

impl Attempt {
    /// Why it gets the prompt of its current iteration.
    pub fn prompt_cause(&self) -> PromptCause {
        let told = !self.told.is_empty();
        let unsaid = matches!(self.cause, PromptCause::Unfinished | PromptCause::Unjudged);
        if self.task != Task::Work {
            PromptCause::Conflict
        } else if let (true, PromptCause::Asked { question }) = (told, &self.cause) {
            let question = question.clone();
            PromptCause::Answered { question }
        } else if told && unsaid {
            PromptCause::Message
        } else {
            self.cause.clone()
        }
    }

    /// Why it gets its next prompt, once this run of an iteration has ended.
    pub fn cause_after(&self, end: &RunEnd) -> PromptCause {
        let is_unstarted = matches!(end.how, RunEndKind::NotStarted { .. });
        let refused = matches!(end.verdict, Some(Verdict::Failed { .. }));
        // The answer was not delivered.
        let unread = !matches!(end.how, RunEndKind::Exited { .. })
            && matches!(self.cause, PromptCause::Asked { .. });
        if is_unstarted || unread || (refused && self.cause.is_news()) {
            return self.cause.clone();
        }
        let asks = matches!(self.said, Some(Said::NeedsHuman(_)));
        if let Some(Verdict::Failed {
            cause: Cause::Exhausted,
            message,
        }) = &end.verdict
            && !asks
        {
            let why = message.clone();
            return PromptCause::NewConversation { why };
        }
        match &self.said {
            Some(Said::NeedsHuman(question)) => {
                let question = question.clone();
                return PromptCause::Asked { question };
            }
            Some(Said::Complete | Said::Resolved) => return PromptCause::Unjudged,
            Some(Said::Blocked(_)) | None => {}
        }
        let through = matches!(end.how, RunEndKind::Exited { .. })
            && matches!(end.verdict, None | Some(Verdict::Complete));
        match end.mentioned {
            _ if !through => PromptCause::Interrupted,
            Some(signal) => PromptCause::Mentioned { signal },
            None => PromptCause::Unfinished,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::operation::Command;
    use crate::domain::signal::Signal;
    use crate::domain::testkit::scenario::exit;
    use crate::domain::testkit::{Scenario, agent};

    /// The first agent works, and its checks have one command.
    fn working() -> Scenario {
        let mut s = Scenario::with(|settings| settings.quality_commands = vec!["check".into()]);
        s.add("one").well_until("iteration");
        s
    }

    /// The running iteration ends like this, and the next one has begun.
    fn ends(s: &mut Scenario, change: impl FnOnce(&mut RunEnd)) -> PromptCause {
        let run = s.pending("iteration").expect("no iteration runs");
        let mut end = RunEnd {
            stdout_bytes: 100,
            duration_ms: 2_000,
            ..RunEnd::new(exit(0))
        };
        change(&mut end);
        s.run_over(run, end).well_until("iteration");
        s.state.agents.values().next().unwrap().prompt_cause()
    }

    fn say(s: &mut Scenario, text: &str) {
        let text = text.into();
        s.command(Command::SayToAgent { id: agent(1), text });
    }

    #[test]
    fn the_next_prompt_says_how_the_last_iteration_ended() {
        let mut s = working();
        assert_eq!(s.attempt(1).prompt_cause(), PromptCause::Begin);
        assert_eq!(ends(&mut s, |_| ()), PromptCause::Unfinished);
        let signal = SignalKind::Complete;
        let mentions = |end: &mut RunEnd| end.mentioned = Some(signal);
        assert_eq!(ends(&mut s, mentions), PromptCause::Mentioned { signal });
        let cut = RunEnd {
            verdict: Some(Verdict::Cut),
            ..RunEnd::new(exit(0))
        };
        assert_eq!(s.attempt(1).cause_after(&cut), PromptCause::Interrupted);
        say(&mut s, "mind the tests");
        assert_eq!(ends(&mut s, |_| ()), PromptCause::Message);
    }

    #[test]
    fn a_failed_check_is_the_cause_even_with_a_message() {
        let mut s = working();
        say(&mut s, "mind the tests");
        s.completes(&agent(1)).well_until("iteration");
        assert_eq!(s.attempt(1).prompt_cause(), PromptCause::Message);
        s.completes(&agent(1)).well_until("gate");
        say(&mut s, "and the docs");
        s.check(exit(1)).well_until("iteration");
        assert_eq!(s.attempt(1).prompt_cause(), PromptCause::FailedCheck);
    }

    #[test]
    fn an_answer_comes_with_its_question() {
        let mut s = working();
        s.says(&agent(1), Signal::NeedsHuman(Some("which port?".into())));
        s.iteration(&agent(1), exit(0));
        say(&mut s, "8080");
        s.well_until("iteration");
        let question = "which port?".to_owned();
        assert_eq!(
            s.attempt(1).prompt_cause(),
            PromptCause::Answered { question }
        );
    }

    #[test]
    fn a_mention_before_a_signal_is_no_cause() {
        let mut s = working();
        s.says(&agent(1), Signal::NeedsHuman(Some("which?".into())));
        let attempt = s.attempt(1).clone();
        let end = RunEnd {
            mentioned: Some(SignalKind::Complete),
            ..RunEnd::new(exit(0))
        };
        let question = "which?".to_owned();
        assert_eq!(attempt.cause_after(&end), PromptCause::Asked { question });
    }
}
