//! `swarm clean`: frees disk space.

use clap::Args;
use serde_json::Value;

use crate::cli::clock;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::output::table::Rows;
use crate::cli::output::terminal::{Tone, safe};
use crate::cli::output::write_page;
use crate::domain::time::Timestamp;

/// `clean`.
#[derive(Debug, Args)]
#[command(after_help = "Removed:
  .git/swarm/runs/     output of attempts at done or cancelled ideas, after retention.runsDays
  .swarm/state/        backup copies (torn-*, doctor-*) older than 90 days; files of imported \
agents that no unfinished idea goes on from
  Worktrees            repositories kept from agents' worktrees, after retention.runsDays; the \
pool and leftovers, if no daemon is running
Never removed: the event log, snapshots, checkpoints, branches, and work under refs/swarm/rescue/, \
which is only counted.
The daemon removes old output by itself once a day. If a daemon is running, it does the cleaning, \
and may still be deleting after the command returns.

--json: {\"dryRun\",\"removed\":[{\"kind\",\"path\",\"bytes\",\"reason\"}],\"bytes\",\
\"kept\":{\"runs\",\"copies\",\"imports\",\"repositories\",\"worktrees\",\
\"rescue\":{\"count\",\"oldest\"}}}; \
`kept` counts by reason; \"failed\":[{\"path\",\"error\"}] lists what could not be removed (exit \
code 1).

Examples:
  $ swarm clean --dry-run
  $ swarm clean")]
pub struct Clean {
    /// Remove nothing; show what would be removed.
    #[arg(long)]
    pub dry_run: bool,
}

/// The kinds of things that are kept, and their names for people.
const KEPT: [(&str, &str); 5] = [
    ("runs", "runs"),
    ("copies", "copies in state/"),
    ("imports", "files of imported agents"),
    ("repositories", "kept repositories"),
    ("worktrees", "unused worktrees"),
];

/// Cleans, and reports what was removed and kept.
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
        .hint("fix that, then clean again: swarm clean")),
    }
}

fn page(output: &Output, report: &Value) -> Vec<String> {
    let removed = list(report, "removed");
    let mut lines = Vec::new();
    if !removed.is_empty() {
        let mut table = Rows::new(output, &["PATH", "SIZE", "REASON"], &[2]);
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
        "would remove"
    } else {
        "removed"
    };
    let bytes = size(report["bytes"].as_u64().unwrap_or_default());
    lines.push(match removed.len() {
        0 => "nothing to remove".to_owned(),
        1 => format!("{verb} 1 item, {bytes}"),
        count => format!("{verb} {count} items, {bytes}"),
    });
    lines.extend(kept(&report["kept"], clock::now()));
    lines
}

fn kept(kept: &Value, now: Timestamp) -> Vec<String> {
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
        let oldest = rescue["oldest"].as_str().and_then(|at| at.parse().ok());
        let oldest = oldest.map_or_else(String::new, |at| {
            format!(", the oldest from {}", clock::ago(at, now))
        });
        let refs = if count == 1 {
            "reference"
        } else {
            "references"
        };
        lines.push(format!(
            "kept rescued work (refs/swarm/rescue/): {count} {refs}{oldest}; never removed"
        ));
    }
    lines
}

fn describe_reason(why: &str) -> String {
    match why {
        "inUse" => "in use".into(),
        "unfinished" => "of unfinished work".into(),
        "young" => "not old enough".into(),
        "unknown" => "unknown to the event log".into(),
        "unreadable" => "with unreadable records (see swarm doctor)".into(),
        "repairing" => "needed by an unfinished repair (see swarm doctor)".into(),
        "daemonRuns" => "while the daemon is running".into(),
        "gitRuns" => "while git is running in them".into(),
        other => safe(other),
    }
}

/// `0.1 KiB`, `21.0 MiB`.
pub(super) fn size(bytes: u64) -> String {
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
    fn sizes_are_rounded_up() {
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
    fn kept_things_are_counted_and_foreign_text_is_safe() {
        let output = Output::plain(Box::new(Vec::new()), Box::new(Vec::new()), false);
        let report = json!({
            "dryRun": true, "bytes": 4096,
            "removed": [{"kind": "run", "path": ".git/swarm/runs/r0001\u{1b}[2J", "bytes": 4096,
                "reason": "over"}],
            "kept": {"runs": {"inUse": 1, "young": 2}, "copies": {},
                "rescue": {"count": 3, "oldest": "2026-01-31T23:59:59.123Z"}},
        });
        let page = page(&output, &report).join("\n");
        assert!(!page.contains('\u{1b}'), "{page}");
        assert!(page.contains("would remove 1 item, 4.0 KiB"), "{page}");
        assert!(
            page.contains("kept runs: 1 in use, 2 not old enough"),
            "{page}"
        );
        assert!(page.contains("3 references, the oldest from "), "{page}");
        assert!(!page.contains("copies"), "{page}");
    }
}
