//! `/metrics`: the figures of `swarm status` in the text format of Prometheus (version 0.0.4).
//!
//! Invariant: it is served behind the API's token, and every figure comes from the view of status.

use std::fmt::Display;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::api::ApiContext;
use crate::view::{self, DayView, Outside, StatusView, TargetNow};

/// The route; the caller puts the token before it.
pub fn routes() -> Router<Arc<ApiContext>> {
    Router::new().route("/metrics", get(metrics))
}

async fn metrics(State(context): State<Arc<ApiContext>>) -> Response {
    let outside = Outside {
        pid: Some(context.pid),
        web_url: context.web_url.clone(),
        target: TargetNow::Unknown,
        stalled: context.handle.stalled(),
        left_running: Vec::new(),
        killed: None,
    };
    let status = context.handle.read(|state| view::status(state, outside));
    let headers = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (headers, text(&status)).into_response()
}

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

fn text(status: &StatusView) -> String {
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
    all.gauge("accounts_held", "Accounts on hold.", status.accounts.len());
    if let Some(today) = &status.used_today {
        used(&mut all, today);
    }
    all.0
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

    #[test]
    fn the_figures_are_those_of_status_and_every_line_is_a_metric() {
        let state = crate::domain::state::State::default();
        let outside = Outside {
            pid: Some(1),
            ..Outside::default()
        };
        let status = view::status(&state, outside);
        let text = text(&status);
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
