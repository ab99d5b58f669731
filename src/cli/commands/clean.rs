//! `swarm clean`: makes room.

use clap::Args;
use serde_json::Value;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::output::table::Rows;
use crate::cli::output::terminal::{Tone, safe};
use crate::cli::output::write_page;

/// `clean`.
#[derive(Debug, Args)]
#[command(after_help = "What goes:
  .swarm/runs/         output of attempts at ideas that are done or cancelled, after retention.runsDays
  .swarm/state/        copies that were put aside: torn-* and doctor-* of more than 90 days
  .swarm/worktrees/    repositories kept from agents' worktrees, after retention.runsDays; the pool and leftovers, if no daemon runs
What never goes: the event log (it is the only ledger), snapshots, checkpoints, branches, and work under refs/swarm/rescue/, which is only counted.
A daemon removes old output by itself, once a day. While one runs it does what is asked here, and deletes after it has answered.

--json: {\"dryRun\",\"removed\":[{\"kind\",\"path\",\"bytes\",\"reason\"}],\"bytes\",\"kept\":{\"runs\",\"copies\",\"repositories\",\"worktrees\",\"rescue\":{\"count\",\"oldest\"}}}; \
what is kept is counted by its reason; \"failed\":[{\"path\",\"error\"}] where something could not be removed (exit code 1).

Examples:
  $ swarm clean --dry-run
  $ swarm clean")]
pub struct Clean {
    /// Remove nothing; show what would go.
    #[arg(long)]
    pub dry_run: bool,
}

/// The kinds of things that are kept, and what they are called.
const KEPT: [(&str, &str); 4] = [
    ("runs", "runs"),
    ("copies", "copies in state/"),
    ("repositories", "kept repositories"),
    ("worktrees", "worktrees nobody works in"),
];

/// Removes, and tells.
pub fn run(args: &Clean, context: &mut Context) -> Result<(), CliError> {
    let report = context.with_access(|access| access.clean(args.dry_run))?;
    if context.output.json {
        context.output.document(&report)?;
    } else {
        let page = page(&context.output, &report);
        write_page(&mut context.output, &page)?;
    }
    match list(&report, "failed") {
        [] => Ok(()),
        [first, ..] => Err(CliError::refused(format!(
            "{} could not be removed: {}",
            safe(text(first, "path")),
            safe(text(first, "error"))
        ))
        .hint("mend that, then clean again: swarm clean")),
    }
}

fn page(output: &Output, report: &Value) -> Vec<String> {
    let removed = list(report, "removed");
    let mut lines = Vec::new();
    if !removed.is_empty() {
        let mut table = Rows::new(output, &["path", "size", "why"], &[2]);
        for one in removed {
            let size = size(one["bytes"].as_u64().unwrap_or_default());
            table.row(&[
                (Tone::Plain, text(one, "path")),
                (Tone::Plain, &size),
                (Tone::Dim, text(one, "reason")),
            ]);
        }
        lines.extend(table.lines());
    }
    let verb = if report["dryRun"] == true {
        "would go"
    } else {
        "removed"
    };
    let bytes = size(report["bytes"].as_u64().unwrap_or_default());
    lines.push(format!("{verb}: {}, {bytes}", removed.len()));
    lines.extend(kept(&report["kept"]));
    lines
}

fn kept(kept: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, name) in KEPT {
        let counts = kept[key].as_object().into_iter().flatten();
        let counts: Vec<String> = counts
            .map(|(why, count)| format!("{count} {}", describe_reason(why)))
            .collect();
        if !counts.is_empty() {
            lines.push(format!("kept {name}: {}", counts.join(", ")));
        }
    }
    let rescue = &kept["rescue"];
    if let Some(count) = rescue["count"].as_u64().filter(|count| *count > 0) {
        let oldest = rescue["oldest"]
            .as_str()
            .map_or_else(String::new, |at| format!(", the oldest of {}", safe(at)));
        lines.push(format!(
            "kept under refs/swarm/rescue/, never removed: {count}{oldest}"
        ));
    }
    lines
}

fn describe_reason(why: &str) -> String {
    match why {
        "inUse" => "in use".into(),
        "unfinished" => "of ideas or work not finished".into(),
        "young" => "not old enough".into(),
        "unknown" => "that the event log does not know".into(),
        "unreadable" => "whose records cannot be read (see swarm doctor)".into(),
        "repairing" => "while a repair is not finished (see swarm doctor)".into(),
        "daemonRuns" => "while the daemon runs".into(),
        "gitRuns" => "while git still runs in them".into(),
        other => safe(other),
    }
}

fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut tenths = bytes.saturating_mul(10).div_ceil(1024);
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths = tenths.div_ceil(1024);
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_are_rounded_up_and_readable() {
        for (bytes, text) in [
            (0, "0.0 KiB"),
            (1, "0.1 KiB"),
            (4096, "4.0 KiB"),
            (1_048_576, "1.0 MiB"),
            (u64::MAX, "1677721.6 TiB"),
        ] {
            assert_eq!(size(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn what_stays_is_counted_and_what_is_foreign_made_safe() {
        let output = Output::plain(Box::new(Vec::new()), Box::new(Vec::new()), false);
        let report = json!({
            "dryRun": true, "bytes": 4096,
            "removed": [{"kind": "run", "path": ".swarm/runs/r0001\u{1b}[2J", "bytes": 4096, "reason": "over"}],
            "kept": {"runs": {"inUse": 1, "young": 2}, "copies": {}, "rescue": {"count": 3, "oldest": "2026-01-31T23:59:59.123Z"}},
        });
        let page = page(&output, &report).join("\n");
        assert!(!page.contains('\u{1b}'), "{page}");
        assert!(page.contains("would go: 1, 4.0 KiB"), "{page}");
        assert!(
            page.contains("kept runs: 1 in use, 2 not old enough"),
            "{page}"
        );
        assert!(
            page.contains("never removed: 3, the oldest of 2026-"),
            "{page}"
        );
        assert!(!page.contains("copies"), "{page}");
    }
}
