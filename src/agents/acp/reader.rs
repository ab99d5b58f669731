//! Reads the events of the bridge.
//!
//! Invariant: keeps only the last event of each kind, so memory does not grow with the output.

use serde_json::Value;

use super::event::{End, Event};
use crate::agents::adapter::StartedAs;
use crate::agents::stream::json::Object;
use crate::agents::stream::verdict::{Failure, LastWord, verdict};
use crate::agents::stream::{Conclusion, ObjectReader, Said, Words};
use crate::domain::observation::RunEndKind;
use crate::domain::session::SessionId;
use crate::domain::usage::Usage;
use crate::domain::verdict::Cause;

/// Reads one run.
#[derive(Debug)]
pub(super) struct EventReader {
    words: Words,
    model: Option<String>,
    session: Option<SessionId>,
    usage: Option<Usage>,
    end: Option<End>,
}

impl EventReader {
    pub(super) fn new(started: &StartedAs) -> Self {
        Self {
            words: Words::default(),
            model: started.model.clone(),
            session: None,
            usage: None,
            end: None,
        }
    }

    fn event(&mut self, event: Event, said: &mut Vec<Said>) {
        if matches!(
            event,
            Event::Thought(_) | Event::ToolCall { .. } | Event::ToolResult { .. }
        ) {
            self.words.pause();
        }
        said.push(match event {
            Event::Text { message, text } => return self.words.say(&message, &text, said),
            Event::Thought(thought) => Said::Thought(thought),
            Event::ToolCall { id, tool, input } => Said::ToolCall { id, tool, input },
            Event::ToolResult { id, output, ok } => Said::ToolResult { id, output, ok },
            Event::Session(session) => {
                self.session = Some(session.clone());
                Said::Session(session)
            }
            Event::Answered {} => Said::Answered,
            Event::Usage(mut usage) => {
                usage.model = usage.model.or_else(|| self.model.clone());
                self.usage = Some(usage.clone());
                Said::Usage(usage)
            }
            Event::Note(note) => Said::Note(note),
            Event::End(end) => {
                self.end = Some(end.clone());
                let End { ok, message, .. } = end;
                Said::End { ok, message }
            }
        });
    }
}

impl ObjectReader for EventReader {
    fn object(&mut self, object: Object, said: &mut Vec<Said>) {
        // One of a kind that this version does not know says nothing to it.
        if let Ok(event) = serde_json::from_value(Value::Object(object)) {
            self.event(event, said);
        }
    }

    fn conclude(&self, end: &RunEndKind, _stderr: &str) -> Conclusion {
        let last = self.end.as_ref().map(|end| {
            if end.ok {
                return LastWord::Done;
            }
            let cause = end.cause.clone().unwrap_or(Cause::Other);
            LastWord::Failed(Failure::new(cause, &end.message))
        });
        let mut usage = self.usage.clone();
        if self.end.is_none()
            && let Some(usage) = &mut usage
        {
            usage.partial = true;
        }
        Conclusion {
            verdict: verdict(last, end, || None),
            usage,
            session: self.session.clone(),
        }
    }
}
