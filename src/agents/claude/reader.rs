//! Reads the stream of Claude Code.
//!
//! Invariant: text comes from whole messages only, because a retry repeats the pieces of an
//! interrupted answer. Sub-agents' messages count as tool results. Messages that the program
//! writes in the agent's name (errors of the provider) are no text.

use jiff::Zoned;

use super::usage::Meter;
use crate::agents::stream::failure_cause::{broken_program, names_exhausted_conversation};
use crate::agents::stream::json::{self, Object};
use crate::agents::stream::verdict::{Failure, LastWord, cause_from_status, last_line, verdict};
use crate::agents::stream::{Conclusion, ObjectReader, Said, Words, hear_session, limit_reset};
use crate::domain::observation::RunEndKind;
use crate::domain::session::SessionId;
use crate::domain::time::Timestamp;
use crate::domain::usage::Usage;
use crate::domain::verdict::Cause;

/// Whom the program names where it speaks itself in the agent's place.
const SYNTHETIC: &str = "<synthetic>";

/// Reasons for the end of a run whose conversation cannot go on.
const EXHAUSTED: [&str; 4] = [
    "prompt_too_long",
    "blocking_limit",
    "rapid_refill_breaker",
    "image_error",
];
/// Longest text that is only a request to make the conversation shorter, in bytes.
const REQUEST: usize = 200;

/// The reader of one run.
pub(super) struct ClaudeReader {
    resumed: bool,
    words: Words,
    meter: Meter,
    usage: Option<Usage>,
    session: Option<SessionId>,
    answered: bool,
    /// Texts and calls of tools that the agent's model has answered with.
    answers: u32,
    /// When the limit that refused a request is reset.
    limited_until: Option<Timestamp>,
    /// The kind of the last error, as the program calls it.
    error: Option<String>,
    last: Option<LastWord>,
}

impl ObjectReader for ClaudeReader {
    fn object(&mut self, line: Object, said: &mut Vec<Said>) {
        let speaker = json::text(&line, "parent_tool_use_id").unwrap_or_default();
        match json::text(&line, "type").unwrap_or_default() {
            "system" => self.system(&line, said),
            "stream_event" => self.piece(speaker, &line, said),
            "assistant" => self.message(speaker, &line, said),
            "user" => answers(speaker, &line, said),
            "rate_limit_event" => self.limit(&line, said),
            "result" => self.result(&line, said),
            _ => {}
        }
    }

    fn conclude(&self, end: &RunEndKind, stderr: &str) -> Conclusion {
        let at_once = || (!self.answered).then(|| failed_at_once(stderr)).flatten();
        Conclusion {
            verdict: verdict(self.last.clone(), end, at_once),
            usage: self.meter.usage(self.last.is_some()),
            session: self.session.clone(),
        }
    }
}

impl ClaudeReader {
    /// For a run that began a conversation, or took one up.
    pub(super) fn new(resumed: bool) -> Self {
        Self {
            resumed,
            words: Words::default(),
            meter: Meter::default(),
            usage: None,
            session: None,
            answered: false,
            answers: 0,
            limited_until: None,
            error: None,
            last: None,
        }
    }

    fn system(&mut self, line: &Object, said: &mut Vec<Said>) {
        match json::text(line, "subtype").unwrap_or_default() {
            "init" => {
                // Another turn begins: what was said last is not the last word.
                self.last = None;
                self.error = None;
                hear_session(&mut self.session, json::text(line, "session_id"), said);
            }
            "api_retry" => {
                let error = json::text(line, "error").unwrap_or("unknown");
                let why = match json::number(line, "error_status") {
                    Some(status) => format!("{error} ({status})"),
                    None => error.to_owned(),
                };
                said.push(Said::Retry { why });
            }
            _ => {}
        }
    }

    /// A piece of an answer, as it comes from the service.
    fn piece(&mut self, speaker: &str, line: &Object, said: &mut Vec<Said>) {
        let Some(event) = json::object(line, "event") else {
            return;
        };
        match json::text(event, "type").unwrap_or_default() {
            "message_start" => {
                if let Some(message) = json::object(event, "message") {
                    self.shown(speaker, message, said);
                }
            }
            "message_delta" => {
                if let Some(usage) = json::object(event, "usage") {
                    self.meter.counted(speaker, usage);
                    self.tell_usage(said);
                }
            }
            _ => {}
        }
    }

    fn shown(&mut self, speaker: &str, message: &Object, said: &mut Vec<Said>) {
        self.last = None;
        if self.meter.shown(speaker, message) {
            self.answered = true;
            said.push(Said::Answered);
        }
        self.tell_usage(said);
    }

    /// A block of a message, whole.
    fn message(&mut self, speaker: &str, line: &Object, said: &mut Vec<Said>) {
        let Some(message) = json::object(line, "message") else {
            return;
        };
        if json::text(message, "model") == Some(SYNTHETIC) {
            self.error = json::text(line, "error").map(str::to_owned);
            return said.push(Said::Note(json::as_text(message, "content")));
        }
        self.shown(speaker, message, said);
        let id = json::text(message, "id").unwrap_or_default();
        for block in json::objects(message, "content") {
            self.block(speaker, id, block, said);
        }
    }

    fn block(&mut self, speaker: &str, message: &str, block: &Object, said: &mut Vec<Said>) {
        let text = |name| json::text(block, name).unwrap_or_default();
        match text("type") {
            "text" if speaker.is_empty() => {
                self.answers = self.answers.saturating_add(1);
                self.words.say(message, text("text"), said);
            }
            "text" => said.push(Said::ToolResult {
                id: speaker.to_owned(),
                output: text("text").to_owned(),
                ok: true,
            }),
            "thinking" => said.push(Said::Thought(text("thinking").to_owned())),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                if speaker.is_empty() {
                    self.answers = self.answers.saturating_add(2);
                    self.words.pause();
                }
                said.push(Said::ToolCall {
                    id: text("id").to_owned(),
                    tool: text("name").to_owned(),
                    input: tool_input(block),
                });
            }
            _ => {}
        }
    }

    fn limit(&mut self, line: &Object, said: &mut Vec<Said>) {
        let Some(info) = json::object(line, "rate_limit_info") else {
            return;
        };
        let kind = json::text(info, "rateLimitType").unwrap_or("usage");
        match json::text(info, "status").unwrap_or_default() {
            "rejected" => {
                let seconds = json::number(info, "resetsAt").and_then(|at| i64::try_from(at).ok());
                let millis = seconds.and_then(|seconds| seconds.checked_mul(1_000));
                self.limited_until = millis.map(Timestamp::from_millis);
                said.push(Said::Note(format!("the limit {kind} is reached")));
            }
            "allowed_warning" => {
                let used = json::decimal(info, "utilization").unwrap_or_default() * 100.0;
                said.push(Said::Note(format!(
                    "{used:.0} % of the limit {kind} are used"
                )));
            }
            _ => {}
        }
    }

    fn result(&mut self, line: &Object, said: &mut Vec<Said>) {
        self.meter.told(line);
        let last = self.last_word(line);
        let (ok, message) = match &last {
            LastWord::Done => (
                true,
                json::text(line, "subtype").unwrap_or_default().to_owned(),
            ),
            LastWord::Interrupted => (false, "interrupted".to_owned()),
            LastWord::BrokenOff(message) => (false, message.clone()),
            LastWord::Failed(failure) => (false, failure.message.clone()),
        };
        self.last = Some(last);
        self.tell_usage(said);
        said.push(Said::End { ok, message });
    }

    fn last_word(&self, line: &Object) -> LastWord {
        let subtype = json::text(line, "subtype").unwrap_or_default();
        let reason = json::text(line, "terminal_reason").unwrap_or_default();
        if subtype == "success" && !json::is_true(line, "is_error") {
            let result = json::text(line, "result").unwrap_or_default();
            return if self.has_only_stopped(result) {
                LastWord::Failed(Failure::new(Cause::Exhausted, result))
            } else {
                LastWord::Done
            };
        }
        if reason.starts_with("aborted") {
            return LastWord::Interrupted;
        }
        let errors = || json::texts(line, "errors").collect::<Vec<_>>().join("; ");
        let message = match json::text(line, "result") {
            Some(result) if !result.is_empty() => result.to_owned(),
            _ => errors(),
        };
        let message = if message.is_empty() {
            subtype
        } else {
            &message
        };
        LastWord::Failed(Failure::new(self.cause(line, message), message))
    }

    /// Whether a run that reports success did nothing, because its conversation is full: its model
    /// was not asked, or all that was said is a request to make the conversation shorter.
    fn has_only_stopped(&self, result: &str) -> bool {
        let is_request =
            result.len() <= REQUEST && result.contains("/compact") && !result.contains("<swarm>");
        self.resumed && (!self.answered || (self.answers <= 1 && is_request))
    }

    fn cause(&self, line: &Object, message: &str) -> Cause {
        let status = json::number(line, "api_error_status").or_else(|| status_in(message));
        let reason = json::text(line, "terminal_reason").unwrap_or_default();
        let error = self.error.as_deref().unwrap_or_default();
        match error {
            "authentication_failed" => return Cause::Login,
            "billing_error" => return Cause::Credit,
            // A model that has answered in this conversation exists.
            "model_not_found" if !self.answered && self.resumed => return Cause::Session,
            "model_not_found" if !self.answered => return Cause::Profile,
            "rate_limit" => return self.limited(message),
            "max_output_tokens" => return Cause::Exhausted,
            _ => {}
        }
        if names_no_conversation(message) {
            return Cause::Session;
        }
        if EXHAUSTED.contains(&reason) {
            return Cause::Exhausted;
        }
        match status.map(|status| (status, cause_from_status(status))) {
            Some((_, Some(Cause::Limit { .. }))) => self.limited(message),
            Some((_, Some(cause))) => cause,
            _ if names_exhausted_conversation(message) => Cause::Exhausted,
            // The provider took this conversation before: something in it is refused now.
            Some((400 | 413, None)) if self.answered => Cause::Exhausted,
            Some((400 | 413, None)) if self.resumed => Cause::Session,
            // An error between us and the service has no status.
            None if reason == "api_error" => Cause::Overloaded,
            _ => Cause::Other,
        }
    }

    fn limited(&self, message: &str) -> Cause {
        let until = self.limited_until;
        Cause::Limit {
            until: until.or_else(|| limit_reset::time_in(message, &Zoned::now())),
        }
    }

    /// Says what was used, where that has changed.
    fn tell_usage(&mut self, said: &mut Vec<Said>) {
        let usage = self.meter.usage(self.last.is_some());
        if usage != self.usage
            && let Some(usage) = &usage
        {
            said.push(Said::Usage(usage.clone()));
        }
        self.usage = usage;
    }
}

/// What tools answered; and, of no use to us, what sub-agents were told.
fn answers(speaker: &str, line: &Object, said: &mut Vec<Said>) {
    let Some(message) = json::object(line, "message") else {
        return;
    };
    for block in json::objects(message, "content") {
        match json::text(block, "type").unwrap_or_default() {
            "tool_result" => said.push(Said::ToolResult {
                id: json::text(block, "tool_use_id")
                    .unwrap_or_default()
                    .to_owned(),
                output: json::as_text(block, "content"),
                ok: !json::is_true(block, "is_error"),
            }),
            "text" if speaker.is_empty() => {
                said.push(Said::Note(json::as_text(block, "text")));
            }
            _ => {}
        }
    }
}

/// The failure of a run that ended before its stream began.
fn failed_at_once(stderr: &str) -> Option<Failure> {
    if let Some(message) = broken_program(stderr) {
        return Some(Failure::new(Cause::Profile, message));
    }
    let message = last_line(stderr)?;
    let cause = if names_no_conversation(stderr) {
        Cause::Session
    } else if stderr.contains("unknown option") {
        Cause::Profile
    } else if stderr.contains("/login") || stderr.contains("API key") {
        Cause::Login
    } else {
        Cause::Other
    };
    Some(Failure::new(cause, message))
}

/// The status of the provider's answer that an error message names.
fn status_in(message: &str) -> Option<u64> {
    let (_, rest) = message.split_once("API Error: ")?;
    rest.get(..3)?.parse().ok()
}

/// Whether a message says that a conversation is missing, or that one of its name is there already.
fn names_no_conversation(message: &str) -> bool {
    message.contains("No conversation found") || message.contains("is already in use")
}

fn tool_input(block: &Object) -> String {
    let Some(input) = json::object(block, "input") else {
        return String::new();
    };
    let plain = ["command", "file_path", "notebook_path"];
    let plain = plain.into_iter().find_map(|name| json::text(input, name));
    plain.map_or_else(|| json::as_text(block, "input"), str::to_owned)
}
