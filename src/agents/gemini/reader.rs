//! Reads the stream of Gemini CLI.
//!
//! Invariant: text comes only from pieces with the role of the model, because the stream repeats
//! the prompt. Only the last line reports usage.

use jiff::Zoned;

use super::failure_cause;
use crate::agents::adapter::StartedAs;
use crate::agents::stream::json::{self, Object};
use crate::agents::stream::verdict::{Failure, LastWord, verdict};
use crate::agents::stream::{Conclusion, ObjectReader, Said, Words, hear_session};
use crate::agents::text;
use crate::domain::observation::RunEndKind;
use crate::domain::session::SessionId;
use crate::domain::usage::{Scope, Tokens, Usage};
use crate::domain::verdict::Cause;

/// Longest model name to keep, in bytes.
const NAME: usize = 128;

/// The reader of one run.
pub(super) struct GeminiReader {
    resumed: bool,
    words: Words,
    /// The model is answering: no tool has run since its last output.
    answering: bool,
    answered: bool,
    model: Option<String>,
    session: Option<SessionId>,
    usage: Option<Usage>,
    /// What was last told of as an error.
    error: Option<String>,
    last: Option<LastWord>,
    /// The time of the last line.
    last_at: Option<Zoned>,
}

impl ObjectReader for GeminiReader {
    fn object(&mut self, line: Object, said: &mut Vec<Said>) {
        if line.contains_key("timestamp") {
            self.last_at = Some(failure_cause::time_of(&line));
        }
        let field = |name| json::text(&line, name).unwrap_or_default();
        match field("type") {
            "init" => {
                hear_session(&mut self.session, json::text(&line, "session_id"), said);
                let model = json::text(&line, "model").map(|model| text::head(model, NAME));
                self.model = model.map(str::to_owned).or_else(|| self.model.take());
            }
            "message" if field("role") == "assistant" => {
                self.answers(said);
                self.words.say("", field("content"), said);
            }
            "tool_use" => {
                self.answers(said);
                self.words.pause();
                said.push(Said::ToolCall {
                    id: field("tool_id").to_owned(),
                    tool: field("tool_name").to_owned(),
                    input: tool_input(&line),
                });
            }
            "tool_result" => {
                self.words.pause();
                self.answering = false;
                said.push(tool_result(&line));
            }
            "error" => {
                self.error = Some(field("message").to_owned());
                said.push(Said::Note(field("message").to_owned()));
            }
            "result" => self.result(&line, said),
            _ => {}
        }
    }

    fn conclude(&self, end: &RunEndKind, stderr: &str) -> Conclusion {
        let code = end.exit_code();
        let at_once = || {
            (!self.answered)
                .then(|| failure_cause::at_once(code, stderr))
                .flatten()
        };
        // That the model has answered is known, and how much it used is not.
        let unknown = || Usage {
            model: self.model.clone(),
            partial: true,
            ..Usage::default()
        };
        Conclusion {
            verdict: verdict(self.last_word(stderr), end, at_once),
            usage: self.usage.clone().or_else(|| self.answered.then(unknown)),
            session: self.session.clone(),
        }
    }
}

impl GeminiReader {
    /// A reader for a run with this launch record.
    pub(super) fn new(started: &StartedAs) -> Self {
        Self {
            resumed: started.resumed,
            words: Words::default(),
            answering: false,
            answered: false,
            model: started.model.clone(),
            session: None,
            usage: None,
            error: None,
            last: None,
            last_at: None,
        }
    }

    /// Notes that the model has started or continued an answer.
    fn answers(&mut self, said: &mut Vec<Said>) {
        self.answered = true;
        self.last = None;
        if !self.answering {
            self.answering = true;
            said.push(Said::Answered);
        }
    }

    fn result(&mut self, line: &Object, said: &mut Vec<Said>) {
        let at = self.last_at.clone().unwrap_or_else(Zoned::now);
        let last = self.ended(line, &at);
        let (ok, message) = match &last {
            LastWord::Done => (true, "success".to_owned()),
            LastWord::Interrupted => (false, "interrupted".to_owned()),
            LastWord::BrokenOff(message) => (false, message.clone()),
            LastWord::Failed(failure) => (false, failure.message.clone()),
        };
        if let Some(usage) = json::object(line, "stats").map(|stats| self.used(stats, ok)) {
            said.push(Said::Usage(usage.clone()));
            self.usage = Some(usage);
        }
        self.last = Some(last);
        self.last_at = Some(at);
        said.push(Said::End { ok, message });
    }

    fn ended(&self, line: &Object, at: &Zoned) -> LastWord {
        let status = json::text(line, "status").unwrap_or_default();
        if status == "success" {
            // The model was not even asked.
            return if self.resumed && !self.answered {
                LastWord::Failed(Failure::new(Cause::Exhausted, "it ended without an answer"))
            } else {
                LastWord::Done
            };
        }
        let error = json::object(line, "error");
        let told = |name| error.and_then(|error| json::text(error, name));
        if told("type") == Some("FatalCancellationError") {
            return LastWord::Interrupted;
        }
        // Of an answer that it cannot use it tells before the end.
        let message = told("message").or(self.error.as_deref());
        match message.filter(|message| failure_cause::is_broken_off(message)) {
            Some(message) => LastWord::BrokenOff(message.to_owned()),
            None => LastWord::Failed(failure_cause::failure(
                message.unwrap_or(status),
                (self.resumed, self.answered),
                at,
            )),
        }
    }

    /// The numbers of this run. Its input includes what was cached; what was thought is in the
    /// total alone.
    fn used(&self, stats: &Object, ok: bool) -> Usage {
        let number = |name| json::number(stats, name).unwrap_or(0);
        let (input, cached) = (number("input_tokens"), number("cached"));
        let beside_input = number("total_tokens").saturating_sub(input);
        Usage {
            tokens: Some(Tokens {
                input: input.saturating_sub(cached),
                cached,
                cache_written: 0,
                output: number("output_tokens").max(beside_input),
            }),
            tokens_of: Scope::Run,
            model: most_used(stats).or_else(|| self.model.clone()),
            // An answer that broke off is not counted.
            partial: !ok && self.answering,
            ..Usage::default()
        }
    }

    /// Its last word; when a limit is reset is told beside the stream, and sometimes that there is
    /// one.
    fn last_word(&self, stderr: &str) -> Option<LastWord> {
        let mut last = self.last.clone();
        let is_open = match &last {
            None => true,
            Some(LastWord::Failed(failure)) => failure.cause == Cause::Other,
            Some(LastWord::Done | LastWord::Interrupted | LastWord::BrokenOff(_)) => false,
        };
        if let Some(told) = failure_cause::quota_in(stderr, self.answered).filter(|_| is_open) {
            let now = self.last_at.clone().unwrap_or_else(Zoned::now);
            let until = failure_cause::reset_in(stderr, &now);
            return Some(LastWord::Failed(Failure::new(Cause::Limit { until }, told)));
        }
        if let (Some(LastWord::Failed(failure)), Some(at)) = (&mut last, &self.last_at)
            && failure.cause == (Cause::Limit { until: None })
        {
            failure.cause = Cause::Limit {
                until: failure_cause::reset_in(stderr, at),
            };
        }
        last
    }
}

/// The model that used most.
fn most_used(stats: &Object) -> Option<String> {
    let models = json::object(stats, "models")?.iter();
    let total = |model: &serde_json::Value| {
        model
            .get("total_tokens")
            .and_then(serde_json::Value::as_u64)
    };
    let (name, _) = models.max_by_key(|(_, model)| total(model))?;
    Some(text::head(name, NAME).to_owned())
}

fn tool_input(line: &Object) -> String {
    let Some(parameters) = json::object(line, "parameters") else {
        return String::new();
    };
    let plain = ["command", "file_path", "absolute_path", "path"];
    let plain = plain
        .into_iter()
        .find_map(|name| json::text(parameters, name));
    plain.map_or_else(|| json::as_text(line, "parameters"), str::to_owned)
}

fn tool_result(line: &Object) -> Said {
    let error = json::object(line, "error").map(|error| json::as_text(error, "message"));
    let output = [Some(json::as_text(line, "output")), error];
    let output = output.into_iter().flatten().filter(|text| !text.is_empty());
    let mut output = output.collect::<Vec<_>>();
    output.dedup();
    Said::ToolResult {
        id: json::text(line, "tool_id").unwrap_or_default().to_owned(),
        output: output.join("\n"),
        ok: json::text(line, "status") == Some("success"),
    }
}
