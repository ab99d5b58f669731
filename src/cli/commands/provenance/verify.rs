//! `swarm provenance verify`: checks records against the event log, and their files against git.

use clap::Args;
use serde_json::json;

use super::{LIST, Records};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::terminal::{Tone, safe};
use crate::cli::output::{Output, write_page};
use crate::daemon::provenance::verify::{Checked, Condition, check};
use crate::view::provenance::RecordView;

/// `provenance verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each record's file must have the SHA-256 that is in the event log, and git must have the files \
before and after the iteration. Records that were deleted because they are old are no fault.

Examples:
  $ swarm provenance verify --all
  $ swarm provenance verify idea-003 --json")]
pub struct Verify {
    /// Check only this record: a run, an idea or a commit.
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// Check all records, as without ID.
    #[arg(long, conflicts_with = "id")]
    pub all: bool,
}

/// Checks them.
pub(super) fn run(args: &Verify, context: &mut Context) -> Result<(), CliError> {
    let records = Records::open(context)?;
    let only: Option<&RecordView> = match &args.id {
        Some(id) => Some(records.find(id)?),
        None => None,
    };
    let lines: Vec<&RecordView> = match only {
        Some(line) => vec![line],
        None => records.log.lines.iter().collect(),
    };
    let checked = check(&records.paths, &records.log, lines.into_iter())?;
    let faults: Vec<&Checked> = checked
        .iter()
        .filter(|it| it.condition.is_fault())
        .collect();
    let count = |condition| {
        checked
            .iter()
            .filter(|it| it.condition == condition)
            .count()
    };
    if context.output.json {
        context.output.document(&json!({
            "checked": checked.len(),
            "intact": count(Condition::Intact),
            "expired": count(Condition::Expired),
            "notRecorded": count(Condition::NotRecorded),
            "faults": faults,
        }))?;
    } else {
        let page = page(&context.output, &checked);
        write_page(&mut context.output, &page)?;
    }
    let Some(first) = faults.first() else {
        return Ok(());
    };
    let message = match faults.len() {
        1 => describe(first),
        count => format!("{count} records are missing or damaged"),
    };
    let mut error = CliError::refused(message).code("RECORDS_FAULTY");
    if faults.len() > 1 {
        let each: Vec<String> = faults.iter().map(|fault| describe(fault)).collect();
        error = error.details(each.join("\n"));
    }
    Err(error
        .hint("restore .swarm/provenance/ from a backup")
        .hint(LIST))
}

fn describe(checked: &Checked) -> String {
    let why = checked
        .why
        .as_ref()
        .map_or_else(String::new, |why| format!(": {}", safe(why)));
    format!(
        "the record of {} is {}{why}",
        checked.run,
        words(checked.condition)
    )
}

const fn words(condition: Condition) -> &'static str {
    match condition {
        Condition::TreeMissing => "incomplete",
        Condition::Intact
        | Condition::NotRecorded
        | Condition::Expired
        | Condition::Missing
        | Condition::Damaged => condition.as_str(),
    }
}

/// How many records are in which condition, the sound ones first.
fn page(output: &Output, checked: &[Checked]) -> Vec<String> {
    const ALL: [(Condition, Tone); 6] = [
        (Condition::Intact, Tone::Good),
        (Condition::Expired, Tone::Dim),
        (Condition::NotRecorded, Tone::Warn),
        (Condition::Missing, Tone::Bad),
        (Condition::Damaged, Tone::Bad),
        (Condition::TreeMissing, Tone::Bad),
    ];
    let lines = ALL.iter().filter_map(|(condition, tone)| {
        let count = checked
            .iter()
            .filter(|it| it.condition == *condition)
            .count();
        let line = format!("{:<13} {count}", condition.as_str());
        (count > 0).then(|| output.paint(*tone, &line).into_owned())
    });
    let mut lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        lines.push("there are no records".to_owned());
    }
    lines
}
