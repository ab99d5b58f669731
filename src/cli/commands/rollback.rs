//! `swarm rollback`: restores the target, the ideas and the agents' work from a checkpoint.

use clap::{ArgGroup, Args};
use serde_json::Value;

use crate::cli::access::Access;
use crate::cli::access::ids::Typed;
use crate::cli::access::temporary_daemon::on_the_daemon;
use crate::cli::confirm::{agree, says_yes};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::{list, number, text};
use crate::cli::output::terminal::safe;
use crate::cli::output::write_page;
use crate::domain::ids::CheckpointName;
use crate::domain::operation::Command;
use crate::git::Repo as GitRepo;

/// At most this many of a kind are shown; `--json` has all.
const SHOWN: usize = 20;
/// How often the rollback is tried while the target keeps moving.
const TRIES: u32 = 5;

/// Roll back to a checkpoint.
///
/// First shows what would change: ideas, commits to remove from the target, agents that would be
/// stopped, and your own files in the way. The current state is saved as a checkpoint of its own;
/// roll back to that one to undo the rollback. If the rollback is interrupted, the next start
/// finishes it.
///
/// Afterwards the swarm is paused, so that nothing starts before you say so: `swarm resume`.
#[derive(Debug, Args)]
#[command(after_help = "\
Afterwards swarm is paused until `swarm resume`, unless you say `--resume`. The rollback makes a \
checkpoint first; `swarm undo` goes back to it.

Examples:
  $ swarm rollback before-release --dry-run
  $ swarm rollback before-release
  $ swarm rollback 3 --yes --resume
  $ swarm rollback --last")]
#[command(group(ArgGroup::new("to").required(true).args(["name", "last"])))]
#[allow(clippy::struct_excessive_bools)] // each is an option of its own
pub struct Rollback {
    /// The checkpoint's name or number.
    pub name: Option<Typed<CheckpointName>>,
    /// Roll back to the newest checkpoint, apart from those that rollbacks made.
    #[arg(long)]
    pub last: bool,
    /// Show what would change, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Roll back without asking.
    #[arg(short, long)]
    pub yes: bool,
    /// Go on at once afterwards. An earlier pause ends too.
    #[arg(long)]
    pub resume: bool,
    /// The default; scripts may still say it.
    #[arg(long, hide = true, conflicts_with = "resume")]
    pub pause: bool,
}

/// A rollback to the checkpoint that was meant.
struct Wanted<'a> {
    name: CheckpointName,
    args: &'a Rollback,
}

/// Runs the command.
pub fn run(args: &Rollback, context: &mut Context) -> Result<(), CliError> {
    let name = context.with_access(|access| checkpoint(args, access))?;
    let wanted = &Wanted { name, args };
    let mut preview = context.with_access(|access| access.preview(&wanted.name))?;
    if args.dry_run {
        if context.output.json {
            return context.output.document(&preview);
        }
        return write_page(&mut context.output, &page(&preview, args.resume));
    }
    let mut tries = 1;
    let (answer, resumed) = loop {
        let error = match once(wanted, context, &preview) {
            Ok(done) => break done,
            Err(error) if error.stable_code() != "ROLLBACK_ABANDONED" => return Err(error),
            Err(error) => error,
        };
        // A landing or somebody's commit came in between; the person has not agreed to lose that.
        let now = context.with_access(|access| access.preview(&wanted.name));
        let moved = |now: &Value| now["from"] != preview["from"];
        match now {
            Ok(now) if tries < TRIES && !preview["from"].is_null() && moved(&now) => preview = now,
            _ => return Err(error),
        }
        tries += 1;
        context
            .output
            .note("the target has moved; the rollback now changes this:");
    };
    if context.output.json {
        return context.output.document(&answer);
    }
    tell(wanted, text(&answer, "safety"), resumed, context)
}

/// The checkpoint that was named, or the last one.
fn checkpoint(args: &Rollback, access: &mut Access) -> Result<CheckpointName, CliError> {
    if let Some(name) = &args.name {
        return access.checkpoint_name(name);
    }
    let all = access.checkpoints()?;
    let by_itself = |one: &&Value| text(one, "reason") != "before-rollback";
    let mut newest = all.as_array().into_iter().flatten().rev();
    let found = newest.find(by_itself).map(|one| text(one, "name").parse());
    found.and_then(Result::ok).ok_or_else(|| {
        CliError::refused("there is no checkpoint to roll back to, apart from those of rollbacks")
            .hint("list the checkpoints: swarm checkpoint list")
    })
}

/// Says what was done, how to undo it and how to go on.
fn tell(
    wanted: &Wanted<'_>,
    safety: &str,
    resumed: bool,
    context: &mut Context,
) -> Result<(), CliError> {
    let offline = context.with_access(|access| Ok(access.is_offline()))?;
    let output = &mut context.output;
    output.note(format!("rolled back to {}", wanted.name));
    output.next_step(format!("undo it: swarm rollback {}", safe(safety)));
    name_submodules(context)?;
    let output = &mut context.output;
    if resumed {
        return Ok(());
    }
    output.note("paused: nothing starts until you resume");
    if offline {
        output.next_step("start the daemon first: swarm start");
    }
    output.next_step("go on: swarm resume");
    Ok(())
}

/// Names the submodules that the rollback could not move.
fn name_submodules(context: &mut Context) -> Result<(), CliError> {
    let root = context.repo()?.root().to_owned();
    let Ok(found) = GitRepo::open(&root).and_then(|git| git.submodules_behind(None)) else {
        return Ok(());
    };
    for one in found {
        let what = safe(&one.what);
        context.output.note(format!("warning: {what}"));
        context
            .output
            .next_step(format!("update it: {}", safe(&one.way_out)));
    }
    Ok(())
}

/// Rolls back exactly as shown, or not at all. Returns the answer, and whether work goes on.
fn once(
    wanted: &Wanted<'_>,
    context: &mut Context,
    preview: &Value,
) -> Result<(Value, bool), CliError> {
    let Wanted { name, args } = wanted;
    refuse(preview, name)?;
    for line in page(preview, args.resume) {
        context.output.note(line);
    }
    agree(context, args.yes, &format!("Roll back to {name}?"))?;
    let resume = args.resume || wants_to_go_on(args, context, preview)?;
    let command = Command::RollBack {
        name: name.clone(),
        pause: !resume,
        from: preview["from"].as_str().and_then(|from| from.parse().ok()),
    };
    Ok((on_the_daemon(context, &command)?, resume))
}

/// Asks whether work goes on at once. Who has said `--yes` or `--pause` is not asked.
fn wants_to_go_on(
    args: &Rollback,
    context: &mut Context,
    preview: &Value,
) -> Result<bool, CliError> {
    let waiting = number(preview, "ideasToStart");
    if args.yes || args.pause || waiting == 0 {
        return Ok(false);
    }
    let ideas = if waiting == 1 { "idea" } else { "ideas" };
    says_yes(context, &format!("Start {waiting} {ideas} at once?"))
}

/// Refuses a rollback that is not possible now, before asking about it.
pub(super) fn refuse(preview: &Value, name: &CheckpointName) -> Result<(), CliError> {
    let dry_run = format!("see what it would change: swarm rollback {name} --dry-run");
    if let Some(problem) = preview["problem"].as_str() {
        return Err(CliError::refused(format!(
            "cannot roll back to checkpoint `{name}`: {problem}"
        ))
        .details("nothing was changed")
        .hint(dry_run));
    }
    let files: Vec<&str> = list(preview, "dirtyFiles")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    if files.is_empty() {
        return Ok(());
    }
    let more = match files.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let some = &files[..files.len().min(SHOWN)];
    let mut refused = CliError::refused(format!(
        "your uncommitted changes would be overwritten: {}{more}",
        some.join(", ")
    ))
    .details("nothing was changed")
    .hint(dry_run)
    .code("CHECKOUT_BLOCKED");
    for command in commands(preview) {
        refused = refused.hint(format!("stash them: {command}"));
    }
    Err(refused.hint("restore them after the rollback: git stash pop"))
}

/// The commands that stash the files in the way.
fn commands(preview: &Value) -> Vec<&str> {
    let all = list(preview, "commands").iter();
    all.filter_map(Value::as_str).collect()
}

/// The title of a section, the key of the list it shows, and how it shows an entry.
type Section = (&'static str, &'static str, fn(&Value) -> String);

const SECTIONS: [Section; 4] = [
    ("ideas to restore", "ideasReverted", idea_line),
    (
        "agents to stop (their work is kept)",
        "agentsStopped",
        agent_line,
    ),
    (
        "messages that no agent will get",
        "messagesDropped",
        message_line,
    ),
    ("your uncommitted files in the way", "dirtyFiles", file_line),
];

pub(super) fn page(preview: &Value, resume: bool) -> Vec<String> {
    let commit: String = text(preview, "commit").chars().take(10).collect();
    let mut page = vec![format!(
        "a rollback to {} ({commit}) changes this:",
        text(preview, "checkpoint")
    )];
    if let Some(problem) = preview["problem"].as_str() {
        page.push(format!("  not possible now: {problem}"));
    }
    for (number, (title, key, line)) in SECTIONS.into_iter().enumerate() {
        section(&mut page, title, preview, key, line);
        if number == 0 {
            commits(
                &mut page,
                "commits to remove from the target",
                preview,
                "commitsLost",
            );
            commits(
                &mut page,
                "commits to bring back",
                preview,
                "commitsRegained",
            );
        }
    }
    for command in commands(preview) {
        page.push(format!("    stash them: {command}"));
    }
    if page.len() == 1 {
        page.push("  nothing changes".to_owned());
    }
    let when = if resume {
        "at once"
    } else {
        "after `swarm resume`"
    };
    let title = format!("ideas that start {when}");
    section(&mut page, &title, preview, "ideasStarting", file_line);
    page.iter().map(|line| safe(line)).collect()
}

fn idea_line(it: &Value) -> String {
    let (id, from, to) = (text(it, "id"), text(it, "from"), text(it, "to"));
    format!("{id}: {from} -> {to}")
}

fn agent_line(it: &Value) -> String {
    let (id, idea) = (text(it, "id"), text(it, "ideaId"));
    format!("{id} on {idea}, iteration {}", it["iteration"])
}

fn message_line(it: &Value) -> String {
    format!("{}: {}", text(it, "ideaId"), text(it, "message"))
}

fn file_line(it: &Value) -> String {
    it.as_str().unwrap_or_default().to_owned()
}

fn commit_line(it: &Value) -> String {
    let commit: String = text(it, "commit").chars().take(10).collect();
    format!("{commit} {}", text(it, "subject"))
}

/// Commits, newest first: all that no landing brought, because nobody can get them again from an
/// idea, and the newest of the others.
fn commits(page: &mut Vec<String>, title: &str, preview: &Value, key: &str) {
    let all = list(preview, key);
    if all.is_empty() {
        return;
    }
    let is_own = |it: &Value| it["own"] == true;
    let own = all.iter().filter(|it| is_own(it)).count();
    let of_own = match own {
        0 => String::new(),
        1 => "; 1 of them is not from a landing of swarm".to_owned(),
        own => format!("; {own} of them are not from landings of swarm"),
    };
    page.push(format!("  {title}: {}{of_own}", all.len()));
    let mut landed = 0;
    for it in all {
        if is_own(it) {
            page.push(format!("    {}  (not from swarm)", commit_line(it)));
        } else if landed < SHOWN {
            landed += 1;
            page.push(format!("    {}", commit_line(it)));
        }
    }
    let more = all.len() - own - landed;
    if more > 0 {
        page.push(format!("    and {more} more from landings of swarm"));
    }
}

fn section(
    page: &mut Vec<String>,
    title: &str,
    preview: &Value,
    key: &str,
    line: impl Fn(&Value) -> String,
) {
    let all = list(preview, key);
    if all.is_empty() {
        return;
    }
    page.push(format!("  {title}: {}", all.len()));
    page.extend(all.iter().take(SHOWN).map(|it| format!("    {}", line(it))));
    if all.len() > SHOWN {
        page.push(format!("    and {} more", all.len() - SHOWN));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_commit_that_no_landing_brought_is_shown() {
        let lost = (0..33).map(|number| {
            let (commit, own) = (format!("{number:040}"), [25, 30].contains(&number));
            json!({ "commit": commit, "subject": format!("s{number}"), "own": own })
        });
        let preview = json!({ "checkpoint": "c", "commitsLost": lost.collect::<Vec<_>>() });
        let page = page(&preview, false).join("\n");
        let heading = "commits to remove from the target: 33; 2 of them are not from landings";
        assert!(page.contains(heading), "{page}");
        assert!(page.contains("s25  (not from swarm)"), "{page}");
        assert!(page.contains("s30  (not from swarm)"), "{page}");
        assert!(page.contains("s19\n") && !page.contains("s20\n"), "{page}");
        assert!(
            page.ends_with("and 11 more from landings of swarm"),
            "{page}"
        );
    }
}
