//! Reads Codex's own records of a conversation: `YYYY/MM/DD/rollout-<time>-<id>.jsonl`.
//!
//! Invariant: only reads, and skips unknown lines. Memory stays bounded however long the file is.

use std::io;
use std::path::{Path, PathBuf};

use crate::agents::stream::json::{self, Object};
use crate::agents::stream::records;
use crate::agents::text;
use crate::domain::session::SessionId;
use crate::domain::usage::{Scope, Tokens, Usage};

/// Longest model name to keep, in bytes.
const NAME: usize = 128;

/// What this conversation has used, by its last count. Codex counts after it has run what an answer
/// asks for: where it was cut off before that, an answer is missing.
pub(super) fn usage(folder: &Path, session: &SessionId) -> io::Result<Option<Usage>> {
    let Some(path) = find(folder, &format!("-{session}.jsonl"))? else {
        return Ok(None);
    };
    usage_in(&path)
}

/// The same of the conversation in this file.
pub(super) fn usage_in(path: &Path) -> io::Result<Option<Usage>> {
    let mut found = Found::default();
    records::each(path, |line| {
        found.read_line(line);
    })?;
    Ok(found.usage())
}

#[derive(Default)]
struct Found {
    tokens: Option<Tokens>,
    model: Option<String>,
}

impl Found {
    fn read_line(&mut self, line: &Object) -> Option<()> {
        let payload = json::object(line, "payload")?;
        if json::text(line, "type") == Some("turn_context") {
            let model = json::text(payload, "model")?;
            self.model = Some(text::head(model, NAME).to_owned());
        }
        if json::text(payload, "type") == Some("token_count") {
            let info = json::object(payload, "info")?;
            self.tokens = Some(tokens(json::object(info, "total_token_usage")?));
        }
        Some(())
    }

    fn usage(self) -> Option<Usage> {
        Some(Usage {
            tokens: Some(self.tokens?),
            tokens_of: Scope::Session,
            model: self.model,
            partial: true,
            ..Usage::default()
        })
    }
}

/// A count of Codex: its input includes what was cached, its output what was thought.
pub(super) fn tokens(usage: &Object) -> Tokens {
    let number = |name| json::number(usage, name).unwrap_or(0);
    let cached = number("cached_input_tokens");
    let cache_written = number("cache_write_input_tokens");
    let input = number("input_tokens").saturating_sub(cached);
    Tokens {
        input: input.saturating_sub(cache_written),
        cached,
        cache_written,
        output: number("output_tokens"),
    }
}

/// The file whose name ends so, in the folders of the days; the newest days are looked at first.
pub(super) fn find(folder: &Path, ending: &str) -> io::Result<Option<PathBuf>> {
    for year in records::last_first(folder)? {
        for month in records::last_first(&year)? {
            for day in records::last_first(&month)? {
                let mut files = records::last_first(&day)?.into_iter();
                let is_it = |path: &PathBuf| {
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    name.starts_with("rollout-") && name.ends_with(ending)
                };
                if let Some(file) = files.find(is_it) {
                    return Ok(Some(file));
                }
            }
        }
    }
    Ok(None)
}
