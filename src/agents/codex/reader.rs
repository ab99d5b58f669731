//! Reads the stream of Codex.
//!
//! Invariant: text comes from finished messages only. An error that Codex retries is no failure;
//! the end of the turn decides.

use std::collections::BTreeSet;

use jiff::Zoned;

use super::records::tokens;
use crate::agents::adapter::StartedAs;
use crate::agents::stream::failure_cause::{
    broken_program, names_exhausted_conversation, names_unknown_model,
};
use crate::agents::stream::json::{self, Object};
use crate::agents::stream::verdict::{Failure, LastWord, cause_from_status, last_line, verdict};
use crate::agents::stream::{Conclusion, ObjectReader, Said, Words, hear_session, limit_reset};
use crate::agents::text;
use crate::domain::observation::RunEndKind;
use crate::domain::session::SessionId;
use crate::domain::usage::{Scope, Usage};
use crate::domain::verdict::Cause;

/// Calls of tools that are remembered until they are answered.
const CALLS: usize = 256;
/// The longest name of a call, in bytes.
const NAME: usize = 128;

/// The reader of one run.
pub(super) struct CodexReader {
    resumed: bool,
    model: Option<String>,
    words: Words,
    /// The model is answering: no tool has run since its last output.
    answering: bool,
    answered: bool,
    /// Calls of tools that have no answer yet.
    called: BTreeSet<String>,
    session: Option<SessionId>,
    usage: Option<Usage>,
    last: Option<LastWord>,
}

impl ObjectReader for CodexReader {
    fn object(&mut self, line: Object, said: &mut Vec<Said>) {
        let kind = json::text(&line, "type").unwrap_or_default();
        match kind {
            "thread.started" => {
                hear_session(&mut self.session, json::text(&line, "thread_id"), said);
            }
            "turn.started" => self.last = None,
            "item.started" | "item.completed" => {
                if let Some(item) = json::object(&line, "item") {
                    self.item(kind == "item.completed", item, said);
                }
            }
            "turn.completed" => self.completed(&line, said),
            "turn.failed" => self.failed(&line, said),
            "error" => {
                let message = json::text(&line, "message").unwrap_or_default().to_owned();
                said.push(match message.strip_prefix("Reconnecting... ") {
                    Some(why) => Said::Retry {
                        why: why.to_owned(),
                    },
                    None => Said::Note(message),
                });
            }
            _ => {}
        }
    }

    fn conclude(&self, end: &RunEndKind, stderr: &str) -> Conclusion {
        let at_once = || (!self.answered).then(|| failed_at_once(stderr)).flatten();
        Conclusion {
            verdict: verdict(self.last.clone(), end, at_once),
            usage: self.usage.clone(),
            session: self.session.clone(),
        }
    }
}

impl CodexReader {
    /// A reader for a run with this launch record.
    pub(super) fn new(started: &StartedAs) -> Self {
        Self {
            resumed: started.resumed,
            model: started.model.clone(),
            words: Words::default(),
            answering: false,
            answered: false,
            called: BTreeSet::new(),
            session: None,
            usage: None,
            last: None,
        }
    }

    fn item(&mut self, completed: bool, item: &Object, said: &mut Vec<Said>) {
        let field = |name| json::text(item, name).unwrap_or_default();
        match field("type") {
            "error" if completed => said.push(Said::Note(field("message").to_owned())),
            "error" => {}
            "agent_message" if completed => {
                self.answers(said);
                self.words.say(field("id"), field("text"), said);
            }
            "reasoning" if completed => {
                self.answers(said);
                said.push(Said::Thought(field("text").to_owned()));
            }
            "agent_message" | "reasoning" | "todo_list" => self.answers(said),
            kind => self.tool(completed, kind, item, said),
        }
    }

    fn tool(&mut self, completed: bool, kind: &str, item: &Object, said: &mut Vec<Said>) {
        let id = text::head(json::text(item, "id").unwrap_or_default(), NAME).to_owned();
        let called = self.called.contains(&id);
        if !called {
            self.answers(said);
            said.push(Said::ToolCall {
                id: id.clone(),
                tool: json::text(item, "tool").unwrap_or(kind).to_owned(),
                input: tool_input(item),
            });
        }
        if !completed {
            if self.called.len() >= CALLS {
                self.called.pop_first();
            }
            self.called.insert(id);
            return;
        }
        self.called.remove(&id);
        self.answering = false;
        let output = ["aggregated_output", "result", "error"];
        let output = output.into_iter().map(|name| json::as_text(item, name));
        said.push(Said::ToolResult {
            id,
            output: output
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join("\n"),
            ok: json::text(item, "status").is_none_or(|status| status == "completed"),
        });
    }

    /// Notes that the model has started or continued an answer.
    fn answers(&mut self, said: &mut Vec<Said>) {
        self.answered = true;
        if !self.answering {
            self.answering = true;
            said.push(Said::Answered);
        }
    }

    fn completed(&mut self, line: &Object, said: &mut Vec<Said>) {
        if let Some(used) = json::object(line, "usage") {
            let usage = Usage {
                tokens: Some(tokens(used)),
                // It counts from the conversation's beginning, over all its runs.
                tokens_of: Scope::Session,
                model: self.model.clone(),
                ..Usage::default()
            };
            said.push(Said::Usage(usage.clone()));
            self.usage = Some(usage);
        }
        self.answering = false;
        self.last = Some(LastWord::Done);
        said.push(Said::End {
            ok: true,
            message: "turn completed".to_owned(),
        });
    }

    fn failed(&mut self, line: &Object, said: &mut Vec<Said>) {
        let error = json::object(line, "error");
        let message = error
            .and_then(|error| json::text(error, "message"))
            .unwrap_or_default();
        let plain = inner_message(message);
        let broke_off = message.contains(BROKEN_OFF);
        let failure = Failure::new(
            cause(message, self.resumed, self.answered),
            plain.as_deref().unwrap_or(message),
        );
        said.push(Said::End {
            ok: false,
            message: failure.message.clone(),
        });
        // The turn's numbers are not told; what is told of an earlier one is not all.
        self.usage = self.usage.take().map(|usage| Usage {
            partial: true,
            ..usage
        });
        self.answering = false;
        self.last = Some(if broke_off {
            LastWord::BrokenOff(failure.message)
        } else {
            LastWord::Failed(failure)
        });
    }
}

/// The message in an answer of the service that is passed on as it came.
fn inner_message(message: &str) -> Option<String> {
    let answer: Object = serde_json::from_str(message).ok()?;
    let error = json::object(&answer, "error")?;
    json::text(error, "message").map(str::to_owned)
}

fn cause(message: &str, resumed: bool, answered: bool) -> Cause {
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    let limit = || Cause::Limit {
        until: limit_reset::time_in(message, &Zoned::now()),
    };
    if says(&["usage limit", "rate limit"]) {
        return limit();
    }
    // Codex says this of an account that is not paid for.
    if says(&["Quota exceeded"]) {
        return Cause::Credit;
    }
    if says(&[
        "Missing environment variable",
        "log in",
        "logged in",
        "sign in",
        "refresh token",
    ]) {
        return Cause::Login;
    }
    match status_in(message).map(cause_from_status) {
        Some(Some(Cause::Limit { .. })) => return limit(),
        Some(Some(cause)) => return cause,
        None if says(TROUBLE) => return Cause::Overloaded,
        Some(None) | None => {}
    }
    if names_exhausted_conversation(message) {
        return Cause::Exhausted;
    }
    if !answered && names_unknown_model(message) {
        return Cause::Profile;
    }
    // The provider refused the whole request, which includes the earlier conversation.
    let refused = says(&["invalid_request_error", "status 400"]);
    if resumed && refused {
        Cause::Session
    } else {
        Cause::Other
    }
}

/// How Codex says that an answer began and did not end.
const BROKEN_OFF: &str = "stream closed before response.completed";

/// How Codex speaks of trouble with the service and on the way to it.
const TROUBLE: &[&str] = &[
    "high demand",
    "at capacity",
    "overloaded",
    "stream disconnected",
    "error sending request",
    "Connection failed",
    "timed out",
    "timeout",
];

/// `unexpected status 401 Unauthorized`, `last status: 429 Too Many Requests`.
fn status_in(message: &str) -> Option<u64> {
    let (_, rest) = message.split_once("status")?;
    let rest = rest.trim_start_matches([':', ' ']);
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end]
        .parse()
        .ok()
        .filter(|status| (100..600).contains(status))
}

/// The failure of a run that ended before its turn began.
fn failed_at_once(stderr: &str) -> Option<Failure> {
    if let Some(message) = broken_program(stderr) {
        return Some(Failure::new(Cause::Profile, message));
    }
    // clap explains an argument in more than one line.
    if let Some(line) = stderr
        .lines()
        .find(|line| line.starts_with("error: unexpected argument"))
    {
        return Some(Failure::new(Cause::Profile, line));
    }
    let message = last_line(stderr)?;
    // A conversation that is missing, broken or held by a process that lives on.
    let of_session = ["no rollout found", "thread/resume failed", "active writer"];
    let cause = if of_session.iter().any(|words| stderr.contains(words)) {
        Cause::Session
    } else {
        Cause::Other
    };
    Some(Failure::new(cause, message))
}

fn tool_input(item: &Object) -> String {
    if let Some(command) = json::text(item, "command") {
        return command.to_owned();
    }
    let paths: Vec<&str> = json::objects(item, "changes")
        .filter_map(|change| json::text(change, "path"))
        .collect();
    if !paths.is_empty() {
        return paths.join(" ");
    }
    let plain = json::text(item, "query").map(str::to_owned);
    plain.unwrap_or_else(|| json::as_text(item, "arguments"))
}
