//! `/metrics`: the figures of `swarm status` and `swarm memory stats` in the text format of
//! Prometheus (version 0.0.4).
//!
//! Invariant: it is served behind the API's token, and every figure comes from one of these views.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::api::ApiContext;
use crate::view::memory::{Aged, LatencyView, LiftView, StatsView};
use crate::view::{self, DayView, Outside, StatusView, TargetNow};

/// The route; the caller puts the token before it.
pub fn routes() -> Router<Arc<ApiContext>> {
    Router::new().route("/metrics", get(metrics))
}

async fn metrics(State(context): State<Arc<ApiContext>>) -> Response {
    let outside = Outside {
        is_past: false,
        pid: Some(context.pid),
        web_url: context.web_url.clone(),
        target: TargetNow::Unknown,
        stalled: context.handle.stalled(),
        left_running: Vec::new(),
        killed: None,
    };
    let status = context.handle.read(|state| view::status(state, outside));
    let headers = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    let mut all = text(&status);
    if let Some(stats) = memory_stats(&context).await {
        memory(&mut all, &stats);
    }
    (headers, all.0).into_response()
}

/// The measures of the memory; `None` as long as the log is being read, or if it cannot be.
async fn memory_stats(context: &ApiContext) -> Option<StatsView> {
    let seq = context.handle.read(|state| state.seq);
    let reading = context.measured.at(&context.log, seq);
    let measures = match tokio::time::timeout(PATIENCE, reading).await {
        Ok(Ok(read)) => read,
        Ok(Err(error)) => {
            tracing::warn!(%error, "the memory cannot be measured");
            return None;
        }
        Err(_) => return None,
    };
    let counts = Some(context.handle.tally().since_start());
    // Git would have to be asked which facts are aged.
    let aged = Aged::nothing();
    let measure = |state: &_| view::memory::stats(state, &aged, &measures, counts);
    Some(context.handle.read(measure))
}

/// How long the measures of the memory may take; the log is read on without it.
const PATIENCE: Duration = Duration::from_secs(2);

/// A metric's kind.
#[derive(Clone, Copy)]
enum Kind {
    Gauge,
    Counter,
}

/// The document, as it grows.
struct Document(String);

impl Document {
    /// A metric with one value for each label, the label as `name="value"`.
    fn metric<V: Display>(&mut self, name: &str, kind: Kind, help: &str, values: &[(String, V)]) {
        let kind = match kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
        };
        let mut line = |text: String| {
            self.0.push_str(&text);
            self.0.push('\n');
        };
        line(format!("# HELP swarm_{name} {help}"));
        line(format!("# TYPE swarm_{name} {kind}"));
        for (labels, value) in values {
            line(format!("swarm_{name}{labels} {value}"));
        }
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.metric(name, Kind::Gauge, help, &[(String::new(), value)]);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.metric(name, Kind::Counter, help, &[(String::new(), value)]);
    }

    /// Counts that differ in the value of one label.
    fn counters(&mut self, name: &str, help: &str, by: &str, values: &[(&str, u64)]) {
        let values = values.iter();
        let values: Vec<_> = values
            .map(|(value, count)| (label(by, value), *count))
            .collect();
        self.metric(name, Kind::Counter, help, &values);
    }
}

fn label(name: &str, value: &str) -> String {
    let mut text = format!("{{{name}=\"");
    for letter in value.chars() {
        match letter {
            '\\' | '"' => {
                text.push('\\');
                text.push(letter);
            }
            '\n' => text.push_str("\\n"),
            letter => text.push(letter),
        }
    }
    text.push_str("\"}");
    text
}

fn text(status: &StatusView) -> Document {
    let mut all = Document(String::new());
    let mut info = label("version", env!("CARGO_PKG_VERSION"));
    info.pop();
    let phase = serde_json::to_value(status.phase).unwrap_or_default();
    let mode = serde_json::to_value(status.mode).unwrap_or_default();
    for (name, value) in [("phase", phase), ("mode", mode)] {
        info.extend([",", name, "=", &value.to_string()]);
    }
    info.push('}');
    let help = "Always 1; the labels say what runs, and how.";
    all.metric("info", Kind::Gauge, help, &[(info, 1)]);
    let seq = [(String::new(), status.last_seq)];
    all.metric("events_total", Kind::Counter, "Events in the log.", &seq);
    let ideas = status.ideas.iter();
    let ideas: Vec<_> = ideas
        .map(|(status, count)| (label("status", status), count))
        .collect();
    all.metric("ideas", Kind::Gauge, "Ideas in each status.", &ideas);
    all.gauge(
        "ideas_held",
        "Ideas that a person holds.",
        status.ideas_held,
    );
    all.gauge("agents", "Agents that have not ended.", status.agents.len());
    all.gauge("slots_used", "Slots for agents in use.", status.slots.used);
    all.gauge("slots", "All slots for agents.", status.slots.max);
    let queue = status.merge_queue.len();
    all.gauge("merge_queue", "Entries of the merge queue.", queue);
    all.gauge(
        "needs_you",
        "Things that need a person.",
        status.needs_you.len(),
    );
    all.gauge("warnings", "Warnings that stand.", status.warnings.len());
    all.gauge(
        "accounts_held",
        "Accounts and profiles on hold.",
        status.accounts.len(),
    );
    if let Some(today) = &status.used_today {
        used(&mut all, today);
    }
    all
}

/// What the memory is worth.
fn memory(all: &mut Document, stats: &StatsView) {
    let it = &stats.duplication;
    let help = "Learnings that were reported, also again.";
    all.counter("memory_mentions_total", help, it.mentions);
    let repeated = [
        ("any", it.mentions - it.distinct),
        ("other_agent", it.across_agents),
        ("shown", it.avoidable),
    ];
    let help = "Reports of what was known: to anybody, from another agent, from the own prompt.";
    all.counters("memory_mentions_repeated_total", help, "known", &repeated);
    latency(all, &stats.latency);
    let LiftView { shown, held, .. } = &stats.lift;
    let attempts = [("shown", shown.attempts), ("held", held.attempts)];
    let help = "Ended attempts that were shown the memory, or had it held back.";
    all.counters("memory_attempts_total", help, "side", &attempts);
    let done = [("shown", shown.done), ("held", held.done)];
    let help = "Those whose idea is done.";
    all.counters("memory_attempts_done_total", help, "side", &done);
    let it = &stats.used;
    let help = "Facts and learnings that attempts were shown.";
    all.counter("memory_shown_total", help, it.shown);
    let help = "Shown ones that were looked up, confirmed or disputed.";
    all.counter("memory_used_total", help, it.used);
    let reads = [("board", it.board_reads), ("log", it.log_reads)];
    all.counters("memory_reads_total", "Reads by agents.", "of", &reads);
    let it = &stats.synthesis;
    let help = "What the synthesis wrote.";
    all.counter("memory_synthesis_accepted_total", help, it.accepted);
    let help = "Facts of the synthesis that were taken back within 14 days.";
    all.counter("memory_synthesis_retracted_total", help, it.retracted_soon);
    let it = &stats.facts;
    all.gauge("memory_facts", "Facts in force.", it.facts);
    all.gauge("memory_evidence", "Pieces of evidence for them.", it.links);
    let help = "Facts that are contradicted.";
    all.gauge("memory_facts_contradicted", help, it.contradicted);
    if let Some(counts) = &stats.since_start {
        let help = "Changes to facts that were tried since the daemon started.";
        all.counter("memory_writes_total", help, counts.writes);
        let help = "Those refused for another version, since the daemon started.";
        all.counter("memory_conflicts_total", help, counts.conflicts);
    }
}

fn latency(all: &mut Document, latency: &LatencyView) {
    let quantiles = [
        ("0.5", latency.p50_ms),
        ("0.9", latency.p90_ms),
        ("0.99", latency.p99_ms),
    ];
    #[allow(clippy::cast_precision_loss)] // milliseconds of a log fit
    let known = quantiles.iter().filter_map(|(quantile, millis)| {
        let seconds = (*millis)? as f64 / 1_000.0;
        Some((label("quantile", quantile), seconds))
    });
    let known: Vec<_> = known.collect();
    if !known.is_empty() {
        let help = "Seconds from a find until another agent is told of it.";
        all.metric("memory_latency_seconds", Kind::Gauge, help, &known);
    }
}

/// What was used today.
fn used(all: &mut Document, today: &DayView) {
    let used = &today.used;
    let tokens = [
        ("input", used.tokens.input),
        ("cached", used.tokens.cached),
        ("cache_written", used.tokens.cache_written),
        ("output", used.tokens.output),
    ];
    let tokens = tokens.map(|(kind, count)| (label("kind", kind), count));
    all.metric(
        "tokens_today",
        Kind::Gauge,
        "Tokens used today (UTC).",
        &tokens,
    );
    let cost = [("told", used.usd), ("estimated", used.estimated_usd)];
    let cost = cost.map(|(how, dollars)| (label("how", how), dollars));
    all.metric(
        "cost_usd_today",
        Kind::Gauge,
        "Dollars spent today (UTC).",
        &cost,
    );
    let unknown = used.runs_without_cost;
    let help = "Runs of today (UTC) whose cost is not known.";
    all.gauge("runs_without_cost_today", help, unknown);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::memory::{Measures, SinceStart};

    #[test]
    fn the_figures_are_those_of_status_and_every_line_is_a_metric() {
        let state = crate::domain::state::State::default();
        let outside = Outside {
            pid: Some(1),
            ..Outside::default()
        };
        let status = view::status(&state, outside);
        let mut all = text(&status);
        let mut measured = view::memory::stats(
            &state,
            &Aged::nothing(),
            &Measures::default(),
            Some(SinceStart {
                writes: 7,
                conflicts: 2,
                ..SinceStart::default()
            }),
        );
        measured.latency.p50_ms = Some(1_500);
        memory(&mut all, &measured);
        let text = all.0;
        for line in [
            "swarm_memory_conflicts_total 2",
            "swarm_memory_latency_seconds{quantile=\"0.5\"} 1.5",
            "swarm_memory_mentions_repeated_total{known=\"shown\"} 0",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line}: {text}");
        }
        assert!(!text.contains("quantile=\"0.9\""), "{text}");
        for (word, count) in &status.ideas {
            assert!(text.contains(&format!("swarm_ideas{{status=\"{word}\"}} {count}\n")));
        }
        assert!(text.contains(&format!("swarm_needs_you {}\n", status.needs_you.len())));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(
                name.starts_with("swarm_") && value.parse::<f64>().is_ok(),
                "{line}"
            );
        }
        assert_eq!(label("a", "x\"\\\n"), r#"{a="x\"\\\n"}"#);
    }
}
