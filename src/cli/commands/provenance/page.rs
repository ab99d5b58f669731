//! A provenance record as lines for people.

use std::collections::BTreeMap;

use crate::cli::clock;
use crate::cli::context::Context;
use crate::cli::output::Output;
use crate::cli::output::terminal::{Tone, safe, shorten};
use crate::domain::usage::MicroUsd;
use crate::view::provenance::Record;
use crate::view::provenance::outputs::{Artifact, GateCommand, Metrics};
use crate::view::provenance::record::Text;

/// Width of the labels, with the space after them.
const LABEL: usize = 11;
/// Changed files that are listed.
const FILES: usize = 20;
/// Digits of a digest that are shown.
const DIGITS: usize = 12;

/// The whole record, without prompt and response.
pub(super) fn record(output: &Output, record: &Record, context: &Context) -> Vec<String> {
    let (config, outputs) = (&record.config, &record.outputs);
    let page = Page { output };
    let model = config.model.id.as_deref().unwrap_or("unknown");
    let asked = match &config.model.asked {
        Some(asked) if asked != model => format!(" (asked for: {asked})"),
        Some(_) | None => String::new(),
    };
    let at = |time| clock::local(time, &context.zone);
    let mut lines = vec![
        page.line("run", &record.run),
        page.line("idea", &record.workflow_id),
        page.line(
            "agent",
            &format!(
                "{}, attempt {}, iteration {}",
                record.agent, record.attempt, record.iteration
            ),
        ),
        page.line("started", &at(record.started_at)),
        page.line(
            "ended",
            &format!("{}, {}", at(record.captured_at), outputs.end),
        ),
        page.line("model", &format!("{model}{asked}")),
        page.line("prompt", &text(record.inputs.prompt.as_ref())),
        page.line("response", &text(outputs.response.as_ref())),
    ];
    if let Some(signal) = &outputs.signal {
        let said = signal
            .text
            .as_ref()
            .map_or_else(String::new, |it| format!(": {it}"));
        lines.push(page.line("signal", &format!("{}{said}", signal.word)));
    }
    lines.extend(rules(&page, record));
    lines.extend(page.several("check", outputs.gate.iter().map(gate)));
    lines.push(page.line("tools", &tool_counts(record)));
    lines.extend(files(&page, record));
    lines.push(page.line("used", &used(&record.metrics)));
    if record.replay_status.replayed {
        lines.push(page.line("replay", record.replay_status.match_status.words()));
    }
    if let (Some(before), Some(after)) = (&record.inputs.before.tree, &outputs.after.tree) {
        lines.push(page.line("trees", &format!("{before:.DIGITS$} -> {after:.DIGITS$}")));
    }
    let known_never = |name: &&String| !name.starts_with("config.");
    let unknown: Vec<&str> = record
        .unknown
        .iter()
        .filter(known_never)
        .map(String::as_str)
        .collect();
    if !unknown.is_empty() {
        lines.push(page.line("unknown", &unknown.join(", ")));
    }
    lines
}

/// The calls of tools, one a line.
pub(super) fn tools(output: &Output, record: &Record) -> Vec<String> {
    let calls = record.outputs.tool_calls.iter().map(|call| {
        let (tone, how) = match call.ok {
            Some(true) => (Tone::Plain, "ok"),
            Some(false) => (Tone::Bad, "failed"),
            None => (Tone::Warn, "no result"),
        };
        let line = format!(
            "{:<9}  in {:.DIGITS$}  out {:.DIGITS$}  {}",
            how,
            call.input_hash,
            call.output_hash.as_deref().unwrap_or("-"),
            safe(&call.tool)
        );
        output.paint(tone, &line).into_owned()
    });
    let mut lines: Vec<String> = calls.collect();
    match record.outputs.tool_calls_omitted {
        0 if lines.is_empty() => lines.push("no tool was called".to_owned()),
        0 => {}
        more => lines.push(format!("... {more} more")),
    }
    lines
}

/// Makes lines that fit the terminal.
struct Page<'o> {
    output: &'o Output,
}

impl Page<'_> {
    fn line(&self, label: &str, value: &str) -> String {
        let value = safe(value);
        let width = self.output.width.map(usize::from);
        let room = width.map_or(usize::MAX, |width| width.saturating_sub(LABEL).max(20));
        let value = shorten(&value, room, false);
        let label = format!("{label:<LABEL$}");
        format!("{}{value}", self.output.paint(Tone::Dim, &label))
    }

    /// A line each, the first with the label.
    fn several(&self, label: &str, values: impl Iterator<Item = String>) -> Vec<String> {
        let labels = std::iter::once(label).chain(std::iter::repeat(""));
        labels
            .zip(values)
            .map(|(label, value)| self.line(label, &value))
            .collect()
    }
}

fn text(text: Option<&Text>) -> String {
    let Some(text) = text else {
        return "unknown".to_owned();
    };
    let redacted = match text.redacted {
        0 => String::new(),
        1 => ", 1 secret replaced".to_owned(),
        count => format!(", {count} secrets replaced"),
    };
    format!(
        "{} bytes, sha256 {:.DIGITS$}{redacted}",
        text.size, text.sha256
    )
}

fn rules(page: &Page<'_>, record: &Record) -> Vec<String> {
    let rules = record.config.agent.rules.iter();
    let rules = rules.map(|rule| format!("{:.DIGITS$} {}", rule.sha256, rule.path));
    page.several("rules", rules)
}

fn gate(command: &GateCommand) -> String {
    let how = match (command.ok, &command.how) {
        (Some(true), _) => "passed".to_owned(),
        (Some(false), Some(how)) => format!("failed ({how})"),
        (Some(false), None) => "failed".to_owned(),
        (None, _) => "cut off".to_owned(),
    };
    let tests = match (command.passed, command.failed) {
        (Some(passed), Some(failed)) => format!(", {passed} tests passed, {failed} failed"),
        (Some(_) | None, _) => String::new(),
    };
    format!("{}: {how}{tests}", command.command)
}

fn tool_counts(record: &Record) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for call in &record.outputs.tool_calls {
        *counts.entry(&call.tool).or_default() += 1;
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(tool, count)| format!("{tool} {count}"))
        .collect();
    match (record.metrics.tool_calls, counts.as_slice()) {
        (0, _) | (_, []) => "none".to_owned(),
        (total, counts) => format!("{total}: {}", counts.join(", ")),
    }
}

fn files(page: &Page<'_>, record: &Record) -> Vec<String> {
    let artifacts = &record.outputs.artifacts;
    let one = |it: &Artifact| format!("{:<9}{}", it.operation.as_str(), it.path);
    let mut lines = page.several("files", artifacts.iter().take(FILES).map(one));
    let shown = artifacts.len().min(FILES) as u64;
    let total = artifacts.len() as u64 + record.outputs.artifacts_omitted;
    if lines.is_empty() {
        lines.push(page.line("files", "none changed"));
    } else if total > shown {
        lines.push(page.line("", &format!("... {} more", total - shown)));
    }
    lines
}

fn used(metrics: &Metrics) -> String {
    let mut parts = vec![clock::span(metrics.duration_ms)];
    if let Some(tokens) = &metrics.tokens {
        let read = tokens.input + tokens.cached + tokens.cache_written;
        parts.push(format!("{read} tokens in, {} out", tokens.output));
    }
    if let Some(cost) = metrics.usd.and_then(MicroUsd::from_dollars) {
        let about = if metrics.estimated { "~" } else { "" };
        parts.push(format!("{about}{cost}"));
    }
    if metrics.partial {
        parts.push("or more".to_owned());
    }
    parts.join(", ")
}
