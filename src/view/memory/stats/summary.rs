//! The measures in words, alike on the command line, in Markdown and on the page.

use super::attempts::ArmView;
use super::{SinceStart, StatsView, TOO_FEW};
use crate::domain::usage::MicroUsd;
use crate::view::describe::span;

/// One measure in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    /// What is measured.
    pub title: &'static str,
    /// Its figures, each with its name.
    pub figures: Vec<(&'static str, String)>,
    /// What it means.
    pub meaning: &'static str,
}

/// All measures.
pub fn summary(stats: &StatsView) -> Vec<Measure> {
    vec![
        duplication(stats),
        latency(stats),
        lift(stats),
        used(stats),
        synthesis(stats),
        facts(stats),
    ]
}

/// All measures as a table in Markdown. It has no text of agents.
pub fn markdown(stats: &StatsView) -> Vec<String> {
    let mut page = vec![
        format!("# The memory at event {}", stats.seq),
        String::new(),
        "| measure | figures | what it means |".to_owned(),
        "| --- | --- | --- |".to_owned(),
    ];
    for measure in summary(stats) {
        let figures = measure.figures.iter();
        let figures: Vec<String> = figures
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        page.push(format!(
            "| {} | {} | {} |",
            measure.title,
            figures.join("<br>"),
            measure.meaning
        ));
    }
    page
}

fn duplication(stats: &StatsView) -> Measure {
    let it = &stats.duplication;
    let again = it.mentions - it.distinct;
    Measure {
        title: "Duplication",
        figures: vec![
            ("said again", of(again, it.mentions, it.rate)),
            (
                "after another agent",
                of(it.across_agents, it.mentions, it.across_agents_rate),
            ),
            (
                "though shown",
                of(it.avoidable, it.mentions, it.avoidable_rate),
            ),
        ],
        meaning: "Mentions of what was known. Lower is better.",
    }
}

fn latency(stats: &StatsView) -> Measure {
    let it = &stats.latency;
    let within = |millis: Option<i64>| millis.map_or_else(nothing, span);
    Measure {
        title: "Latency",
        figures: vec![
            ("half within", within(it.p50_ms)),
            ("90 % within", within(it.p90_ms)),
            ("99 % within", within(it.p99_ms)),
            (
                "seen",
                format!("{} of {} finds", it.seen, it.seen + it.unseen),
            ),
        ],
        meaning: "Time until another agent is told a find.",
    }
}

fn lift(stats: &StatsView) -> Measure {
    let it = &stats.lift;
    let points = match it.lift {
        _ if it.too_few => format!("too few: {TOO_FEW} needed on each side"),
        Some(lift) => format!("{:+.0} points", lift * 100.0),
        None => nothing(),
    };
    let done = |arm: &ArmView| of(arm.done, arm.attempts, arm.rate);
    let effort = |arm: &ArmView| match (arm.median_iterations, arm.median_usd) {
        (None, _) => nothing(),
        (Some(count), None) => iterations(count),
        (Some(count), Some(usd)) => {
            let cost = MicroUsd::from_dollars(usd).unwrap_or_default();
            format!("{}, {cost}", iterations(count))
        }
    };
    Measure {
        title: "Lift",
        figures: vec![
            ("lift", points),
            ("shown, done", done(&it.shown)),
            ("held out, done", done(&it.held)),
            ("shown, median", effort(&it.shown)),
            ("held out, median", effort(&it.held)),
        ],
        meaning: "What the memory adds to ideas done (memory.holdout).",
    }
}

fn iterations(count: u32) -> String {
    match count {
        1 => "1 iteration".to_owned(),
        count => format!("{count} iterations"),
    }
}

fn used(stats: &StatsView) -> Measure {
    let it = &stats.used;
    Measure {
        title: "Use",
        figures: vec![
            ("used of shown", of(it.used, it.shown, it.rate)),
            ("reads of the board", it.board_reads.to_string()),
            ("reads of the log", it.log_reads.to_string()),
        ],
        meaning: "Shown items looked up, confirmed or disputed.",
    }
}

fn synthesis(stats: &StatsView) -> Measure {
    let it = &stats.synthesis;
    let proposed = |counts: &SinceStart| counts.synthesis_accepted + counts.synthesis_refused;
    let counts = stats.since_start.filter(|counts| proposed(counts) > 0);
    let mut figures = Vec::new();
    if it.accepted == 0 && counts.is_none() {
        figures.push(("accepted", "none".to_owned()));
    } else {
        figures.push(("accepted", it.accepted.to_string()));
        if let Some(counts) = &counts {
            let all = proposed(counts);
            let since = format!("{} of {all} proposed", counts.synthesis_accepted);
            figures.push(("since the daemon's start", since));
        }
        let soon = of(it.retracted_soon, it.created, it.retracted_soon_rate);
        figures.push(("retracted in 14 days", soon));
    }
    Measure {
        title: "Synthesis",
        figures,
        meaning: "What summarising runs wrote, and what lasted.",
    }
}

fn facts(stats: &StatsView) -> Measure {
    let it = &stats.facts;
    let mut figures = vec![
        ("facts", it.facts.to_string()),
        ("evidence", links(it.links, it.links_per_fact)),
        ("contradicted", it.contradicted.to_string()),
        ("aged", it.aged.to_string()),
    ];
    if let Some(counts) = &stats.since_start {
        let conflicts = format!("{} of {} writes", counts.conflicts, counts.writes);
        figures.push(("conflicts since start", conflicts));
    }
    Measure {
        title: "Facts",
        figures,
        meaning: "How well the board is supported.",
    }
}

fn links(links: u64, per_fact: Option<f64>) -> String {
    match per_fact {
        Some(per_fact) => format!("{links} links, {per_fact:.1} per fact"),
        None => format!("{links} links"),
    }
}

/// `25 % (2 of 8)`.
fn of(part: u64, whole: u64, rate: Option<f64>) -> String {
    match rate {
        Some(rate) => format!("{:.0} % ({part} of {whole})", rate * 100.0),
        None => nothing(),
    }
}

fn nothing() -> String {
    "-".to_owned()
}
