//! Reads the stream of opencode.
//!
//! Invariant: text comes from finished parts only. The stream has no final line: it ends with a
//! step after which the model stops. A step with an unknown end was interrupted, and is retried.

use jiff::Zoned;

use super::log;
use crate::agents::adapter::StartedAs;
use crate::agents::stream::failure_cause::{
    broken_program, names_exhausted_conversation, names_unknown_model,
};
use crate::agents::stream::json::{self, Object};
use crate::agents::stream::verdict::{Failure, LastWord, cause_from_status, verdict};
use crate::agents::stream::{Conclusion, ObjectReader, Said, Words, hear_session, limit_reset};
use crate::agents::text;
use crate::domain::observation::RunEndKind;
use crate::domain::session::SessionId;
use crate::domain::time::Timestamp;
use crate::domain::usage::{MicroUsd, Scope, Tokens, Usage};
use crate::domain::verdict::Cause;

/// The tool that has other agents work: what they use is not told.
const SUB_AGENT: &str = "task";

/// All that it says of an argument that it does not know, is what it knows.
const HELP: &str = "Positionals:\n";
/// Longest name to keep, in bytes.
const NAME: usize = 128;

/// The reader of one run.
pub(super) struct OpencodeReader {
    resumed: bool,
    model: Option<String>,
    words: Words,
    answered: bool,
    session: Option<SessionId>,
    tokens: Option<Tokens>,
    cost: MicroUsd,
    /// A part of what was used is not told.
    untold: bool,
    last: Option<LastWord>,
    /// The name by which the log tells more of the last error.
    in_log: Option<String>,
    /// The time of the last line, in milliseconds since 1970.
    last_at: u64,
}

impl ObjectReader for OpencodeReader {
    fn object(&mut self, line: Object, said: &mut Vec<Said>) {
        hear_session(&mut self.session, json::text(&line, "sessionID"), said);
        self.last_at = json::number(&line, "timestamp").unwrap_or(self.last_at);
        let empty = Object::new();
        let part = json::object(&line, "part").unwrap_or(&empty);
        let field = |name| json::text(part, name).unwrap_or_default();
        match json::text(&line, "type").unwrap_or_default() {
            "step_start" => {
                self.answered = true;
                self.last = None;
                self.in_log = None;
                said.push(Said::Answered);
            }
            "text" => self.words.say(field("id"), field("text"), said),
            "reasoning" => said.push(Said::Thought(field("text").to_owned())),
            "tool_use" => {
                self.words.pause();
                self.untold |= field("tool") == SUB_AGENT;
                tool(part, said);
            }
            "step_finish" => self.finished(part, said),
            "error" => self.failed(json::object(&line, "error").unwrap_or(&empty), said),
            _ => {}
        }
    }

    fn conclude(&self, end: &RunEndKind, stderr: &str) -> Conclusion {
        let waits = matches!(end, RunEndKind::Idle | RunEndKind::TimedOut);
        let silent = self.resumed && !self.answered && end.exit_code() == Some(0);
        let last = match &self.last {
            None if silent => Some(LastWord::Failed(self.was_silent(stderr))),
            None if waits => log::waits_for(stderr, self.last_at).map(LastWord::Failed),
            last => self.in_the_log(stderr).or_else(|| last.clone()),
        };
        let at_once = || (!self.answered).then(|| failed_at_once(stderr)).flatten();
        Conclusion {
            verdict: verdict(last, end, at_once),
            usage: self.usage(),
            session: self.session.clone().or_else(|| log::session(stderr)),
        }
    }
}

impl OpencodeReader {
    /// A reader for a run with this launch record.
    pub(super) fn new(started: &StartedAs) -> Self {
        Self {
            resumed: started.resumed,
            model: started.model.clone(),
            words: Words::default(),
            answered: false,
            session: None,
            tokens: None,
            cost: MicroUsd(0),
            untold: false,
            last: None,
            in_log: None,
            last_at: 0,
        }
    }

    /// The failure of a run that took up its conversation and ended without an answer or an error.
    fn was_silent(&self, stderr: &str) -> Failure {
        let told = log::waits_for(stderr, self.last_at);
        told.unwrap_or_else(|| {
            Failure::new(
                Cause::Session,
                "it took up its conversation and said nothing",
            )
        })
    }

    /// An answer is at its end, with the tools that it called.
    fn finished(&mut self, part: &Object, said: &mut Vec<Said>) {
        if let Some(told) = json::object(part, "tokens") {
            self.tokens = Some(self.tokens.unwrap_or_default().plus(tokens(told)));
        }
        let cost = json::decimal(part, "cost").and_then(MicroUsd::from_dollars);
        self.cost = self.cost.plus(cost.unwrap_or_default());
        let reason = json::text(part, "reason").unwrap_or_default();
        self.last = match reason {
            "tool-calls" => None,
            "unknown" | "" => {
                self.untold = true;
                None
            }
            _ => Some(LastWord::Done),
        };
        said.extend(self.usage().map(Said::Usage));
        if self.last.is_some() {
            said.push(Said::End {
                ok: true,
                message: reason.to_owned(),
            });
        }
    }

    fn failed(&mut self, error: &Object, said: &mut Vec<Said>) {
        let empty = Object::new();
        let name = json::text(error, "name").unwrap_or_default();
        let data = json::object(error, "data").unwrap_or(&empty);
        let message = json::text(data, "message").unwrap_or(name);
        self.in_log = json::text(data, "ref").map(|name| text::head(name, NAME).to_owned());
        let last = if name == "MessageAbortedError" {
            LastWord::Interrupted
        } else {
            LastWord::Failed(Failure::new(self.cause(name, data, message), message))
        };
        self.last = Some(last);
        said.push(Said::End {
            ok: false,
            message: message.to_owned(),
        });
    }

    /// The last error, where the stream has only its name in the log.
    fn in_the_log(&self, stderr: &str) -> Option<LastWord> {
        let error = log::named(stderr, self.in_log.as_deref()?)?;
        let mut cause = log::cause(error, &self.now());
        if cause == Cause::Other && names_exhausted_conversation(error) {
            cause = Cause::Exhausted;
        } else if cause == Cause::Other && !self.answered && names_unknown_model(error) {
            cause = Cause::Profile;
        }
        let failure = Failure::new(cause, error);
        Some(LastWord::Failed(failure))
    }

    /// The time of the last line.
    fn now(&self) -> Zoned {
        let millis = i64::try_from(self.last_at).unwrap_or_default();
        let at = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
        at.to_zoned(jiff::tz::TimeZone::system())
    }

    fn cause(&self, name: &str, data: &Object, message: &str) -> Cause {
        let status = json::number(data, "statusCode");
        let by_status = match (name, status) {
            ("ProviderAuthError", _) => Some(Cause::Login),
            _ if is_unpaid(data) => Some(Cause::Credit),
            (_, Some(status)) => cause_from_status(status),
            // What went wrong on the way to the service has no status.
            (_, None) => Some(log::cause(message, &self.now())),
        };
        match by_status {
            Some(Cause::Limit { until: None }) => {
                // Of the two the later one is the account's.
                let in_words = limit_reset::time_in(message, &self.now());
                Cause::Limit {
                    until: retry_after(data, self.last_at).max(in_words),
                }
            }
            Some(Cause::Other) | None if is_exhausted(name, message) => Cause::Exhausted,
            Some(Cause::Other) | None if !self.answered && names_unknown_model(message) => {
                Cause::Profile
            }
            Some(Cause::Other) | None if self.resumed && is_refused(status) => Cause::Session,
            Some(cause) => cause,
            None => Cause::Other,
        }
    }

    fn usage(&self) -> Option<Usage> {
        Some(Usage {
            tokens: Some(self.tokens?),
            tokens_of: Scope::Run,
            // Of a model whose price it does not know it says that it costs nothing.
            cost: Some(self.cost).filter(|cost| cost.0 > 0),
            cost_of: Scope::Run,
            model: self.model.clone(),
            partial: self.untold || self.last.is_none(),
        })
    }
}

/// Whether the provider refused the whole request, which includes the earlier conversation.
fn is_refused(status: Option<u64>) -> bool {
    matches!(status, Some(400 | 413))
}

/// Whether the conversation cannot go on.
fn is_exhausted(name: &str, message: &str) -> bool {
    let named = ["ContextOverflowError", "MessageOutputLengthError"];
    named.contains(&name) || names_exhausted_conversation(message)
}

/// No time to come lifts this limit.
fn is_unpaid(data: &Object) -> bool {
    let answer = json::text(data, "responseBody");
    answer.is_some_and(|answer| answer.contains("insufficient_quota"))
}

/// The time that the service's answer names for the next try.
fn retry_after(data: &Object, now: u64) -> Option<Timestamp> {
    let headers = json::object(data, "responseHeaders")?;
    let number = |name| json::text(headers, name)?.trim().parse::<u64>().ok();
    let millis = number("retry-after-ms").or_else(|| number("retry-after")?.checked_mul(1_000))?;
    let at = i64::try_from(now.checked_add(millis)?).ok()?;
    Some(Timestamp::from_millis(at))
}

/// A call that was answered: it is told of then only.
fn tool(part: &Object, said: &mut Vec<Said>) {
    let empty = Object::new();
    let state = json::object(part, "state").unwrap_or(&empty);
    let input = json::object(state, "input").unwrap_or(&empty);
    let id = json::text(part, "callID").unwrap_or_default().to_owned();
    let plain = ["command", "filePath", "path", "pattern"];
    let plain = plain.into_iter().find_map(|name| json::text(input, name));
    said.push(Said::ToolCall {
        id: id.clone(),
        tool: json::text(part, "tool").unwrap_or_default().to_owned(),
        input: plain.map_or_else(|| json::as_text(state, "input"), str::to_owned),
    });
    let completed = json::text(state, "status") == Some("completed");
    let exit = json::object(state, "metadata").and_then(|metadata| json::decimal(metadata, "exit"));
    said.push(Said::ToolResult {
        id,
        output: json::as_text(state, if completed { "output" } else { "error" }),
        ok: completed && exit.is_none_or(|code| code == 0.0),
    });
}

/// Its kinds of tokens do not overlap, but for what was thought: that is beside the output.
fn tokens(told: &Object) -> Tokens {
    let number = |object: &Object, name| json::number(object, name).unwrap_or(0);
    let of_cache = |name| json::object(told, "cache").map_or(0, |cache| number(cache, name));
    Tokens {
        input: number(told, "input"),
        cached: of_cache("read"),
        cache_written: of_cache("write"),
        output: number(told, "output").saturating_add(number(told, "reasoning")),
    }
}

/// The failure of a run that ended before the first answer.
fn failed_at_once(stderr: &str) -> Option<Failure> {
    if let Some(message) = broken_program(stderr) {
        return Some(Failure::new(Cause::Profile, message));
    }
    if stderr.contains(HELP) {
        let message = "it does not know one of its arguments";
        return Some(Failure::new(Cause::Profile, message));
    }
    let message = log::last_word(stderr)?;
    let cause = if stderr.contains("Session not found") {
        Cause::Session
    } else {
        Cause::Other
    };
    Some(Failure::new(cause, message))
}
