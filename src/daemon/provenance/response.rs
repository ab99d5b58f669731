//! What an agent said and which tools it called, from the output of its run.
//!
//! Invariant: memory is bounded, whatever the output holds: a text is kept up to [`INLINE`] bytes
//! and [`MAX_CALLS`] calls, the rest is only counted and hashed.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Read as _};

use sha2::{Digest as _, Sha256};

use crate::agents::stream::{OutputReader, Said};
use crate::agents::text::head;
use crate::daemon::files::hash::{hex, sha256};
use crate::daemon::runs::launch_record::read_output;
use crate::domain::reads::{Collector, Read};
use crate::domain::secrets;
use crate::view::provenance::outputs::ToolCall;
use crate::view::provenance::record::Text;

/// Longest text that a record holds, in bytes.
const INLINE: usize = 256 * 1024;
/// Most calls of tools in a record.
const MAX_CALLS: usize = 2_000;
/// Longest name of a tool or model, in bytes.
const MAX_NAME: usize = 200;

/// A text of a record.
pub(super) fn text(content: &[u8]) -> Text {
    let mut kept = LongText::default();
    kept.push(content);
    kept.finish()
}

/// A text that may be too long to keep.
#[derive(Default)]
struct LongText {
    digest: Sha256,
    size: u64,
    kept: Vec<u8>,
}

impl LongText {
    fn push(&mut self, piece: &[u8]) {
        self.digest.update(piece);
        self.size += piece.len() as u64;
        if self.size <= INLINE as u64 {
            self.kept.extend_from_slice(piece);
        } else {
            self.kept = Vec::new();
        }
    }

    fn finish(self) -> Text {
        let inline = (self.size <= INLINE as u64)
            .then(|| secrets::redact(&String::from_utf8_lossy(&self.kept)));
        Text {
            sha256: hex(&self.digest.finalize()),
            size: self.size,
            redacted: inline.as_ref().map_or(0, |it| it.rules.len() as u64),
            text: inline.map(|it| it.text),
        }
    }
}

/// What the output of a run says.
pub(super) struct Response {
    pub(super) text: Text,
    pub(super) calls: Vec<ToolCall>,
    pub(super) calls_omitted: u64,
    /// The tools that were called, by name.
    pub(super) tools: Vec<String>,
    /// The models that were used, by name.
    pub(super) models: BTreeSet<String>,
    /// The tracked files that the calls read.
    pub(super) reads: Vec<Read>,
}

/// Reads the first `length` bytes of a run's output, and collects the files that the agent reads.
pub(super) fn read(
    output: File,
    length: u64,
    reader: Box<dyn OutputReader + Send>,
    reads: Collector<'_>,
) -> io::Result<Response> {
    let mut collected = Collected::new(reads);
    read_output(output.take(length), reader, |said| {
        for said in said {
            collected.add(said);
        }
    })?;
    Ok(Response {
        text: collected.text.finish(),
        calls: collected.calls,
        calls_omitted: collected.calls_omitted,
        tools: collected.tools.into_iter().collect(),
        models: collected.models,
        reads: collected.reads.finish(),
    })
}

struct Collected<'a> {
    text: LongText,
    calls: Vec<ToolCall>,
    calls_omitted: u64,
    /// Places of the calls without a result, by their ids.
    open: HashMap<String, VecDeque<usize>>,
    tools: BTreeSet<String>,
    models: BTreeSet<String>,
    reads: Collector<'a>,
}

impl<'a> Collected<'a> {
    fn new(reads: Collector<'a>) -> Self {
        Self {
            text: LongText::default(),
            calls: Vec::new(),
            calls_omitted: 0,
            open: HashMap::new(),
            tools: BTreeSet::new(),
            models: BTreeSet::new(),
            reads,
        }
    }

    fn add(&mut self, said: Said) {
        match said {
            Said::Text(text) => self.text.push(&text),
            Said::ToolCall { id, tool, input } => self.call(id, &tool, &input),
            Said::ToolResult { id, output, ok } => self.result(&id, &output, ok),
            Said::Usage(usage) => {
                let model = usage.model.as_deref();
                self.models
                    .extend(model.map(|model| head(model, MAX_NAME).to_owned()));
            }
            Said::Thought(_)
            | Said::Session(_)
            | Said::Answered
            | Said::Retry { .. }
            | Said::Note(_)
            | Said::End { .. } => {}
        }
    }

    fn call(&mut self, id: String, tool: &str, input: &str) {
        self.reads.add(tool, input);
        if self.calls.len() == MAX_CALLS {
            self.calls_omitted += 1;
            return;
        }
        let tool = head(tool, MAX_NAME).to_owned();
        self.tools.insert(tool.clone());
        self.open.entry(id).or_default().push_back(self.calls.len());
        self.calls.push(ToolCall {
            tool,
            input_hash: sha256(input.as_bytes()),
            output_hash: None,
            ok: None,
        });
    }

    fn result(&mut self, id: &str, output: &str, ok: bool) {
        let place = self.open.get_mut(id).and_then(VecDeque::pop_front);
        if let Some(call) = place.and_then(|place| self.calls.get_mut(place)) {
            call.output_hash = Some(sha256(output.as_bytes()));
            call.ok = Some(ok);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_up_to_a_limit_and_without_its_secrets() {
        let short = text(b"hello");
        assert_eq!(short.text.as_deref(), Some("hello"));
        assert_eq!((short.size, short.redacted), (5, 0));
        assert_eq!(short.sha256, sha256(b"hello"));
        let key = format!("use AKIA{} now", "ABCDEFGHIJKLMNOP");
        let secret = text(key.as_bytes());
        assert_eq!(
            secret.text.as_deref(),
            Some("use [redacted:aws-access-key] now")
        );
        assert_eq!(
            (secret.redacted, secret.sha256),
            (1, sha256(key.as_bytes()))
        );
        let whole = text(&vec![b'x'; INLINE]);
        assert_eq!(whole.text.map(|text| text.len()), Some(INLINE));
        let long = vec![b'x'; INLINE + 1];
        let omitted = text(&long);
        assert_eq!(omitted.text, None);
        assert_eq!(omitted.sha256, sha256(&long));
        assert_eq!(omitted.size, INLINE as u64 + 1);
    }

    #[test]
    fn results_find_their_calls_and_the_rest_is_counted() {
        let call = |id: &str| Said::ToolCall {
            id: id.to_owned(),
            tool: "Bash".to_owned(),
            input: format!("do {id}"),
        };
        let result = |id: &str, ok| Said::ToolResult {
            id: id.to_owned(),
            output: format!("of {id}"),
            ok,
        };
        let mut collected = Collected::new(Collector::nowhere());
        for said in [call("1"), call("2"), result("2", false), result("9", true)] {
            collected.add(said);
        }
        assert_eq!(collected.calls[0].ok, None);
        assert_eq!(collected.calls[0].output_hash, None);
        assert_eq!(collected.calls[1].ok, Some(false));
        assert_eq!(collected.calls[1].output_hash, Some(sha256(b"of 2")));
        for _ in 0..MAX_CALLS {
            collected.add(call("x"));
        }
        assert_eq!(collected.calls.len(), MAX_CALLS);
        assert_eq!(collected.calls_omitted, 2);
    }
}
