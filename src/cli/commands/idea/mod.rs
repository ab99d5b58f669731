//! `swarm idea`: the backlog.

mod add;

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, Subcommand};
use serde_json::Value;

pub use add::Add;
pub(super) use add::text_or_stdin;

use super::several::{self, Done};
use crate::cli::access::Access;
use crate::cli::access::ids::Typed;
use crate::cli::args::at::At;
use crate::cli::confirm::agree;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::event_log::idea_story;
use crate::cli::json::{text, to_value};
use crate::cli::output::{pager, write_page};
use crate::cli::render;
use crate::domain::ids::{IdeaId, ProfileName};
use crate::domain::operation::{Command, IdeaEdit};
use crate::domain::state::IdeaStatus;

/// The commands about ideas.
#[derive(Debug, Subcommand)]
pub enum Idea {
    /// Add an idea to the backlog and print its id.
    Add(Add),
    /// List the ideas.
    List(List),
    /// Show one idea: what it is, what happened in each attempt, and where the output is.
    Show(Show),
    /// Change ideas that have not landed.
    Edit(Edit),
    /// Give failed, timed-out or blocked ideas a fresh start.
    Retry(Retry),
    /// Cancel ideas and stop the agents that work on them.
    Cancel(Cancel),
    /// Start ideas now, even in semi-auto mode.
    Assign(Assign),
    /// Keep ideas from starting. They stay pending until `unhold`.
    Hold(Hold),
    /// Let held ideas start again.
    Unhold(Unhold),
}

/// `idea list`.
#[derive(Debug, Args)]
#[command(after_help = "\
First what is under way, then what needs somebody, then what waits in the order in which it would \
start, then what is over, newest first. `--json` lists the oldest first.

Examples:
  $ swarm idea list
  $ swarm idea list --status failed --json
  $ swarm idea list --at \"2026-01-31 23:59\"")]
pub struct List {
    /// List only ideas with this status.
    #[arg(long, value_parser = PossibleValuesParser::new(IdeaStatus::ALL.map(IdeaStatus::as_str)))]
    pub status: Option<String>,
    /// The point to show.
    #[command(flatten)]
    pub at: At,
}

/// `idea show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm idea show idea-003
  $ swarm idea show idea-003 --at 2h")]
pub struct Show {
    /// The idea.
    pub id: Typed<IdeaId>,
    /// The point to show.
    #[command(flatten)]
    pub at: At,
}

/// `idea edit`.
#[derive(Debug, Args)]
#[command(after_help = "\
A new text applies to the next attempt. An agent that is already at work continues with the old one.

Examples:
  $ swarm idea edit idea-003 --text \"add a --version flag and a test\"
  $ swarm idea edit idea-003 --after idea-001,idea-002 --priority=-5
  $ swarm idea edit idea-003 --no-after --no-tags
  $ swarm idea edit 3 5 --priority 10")]
#[command(group(ArgGroup::new("change").required(true).multiple(true)
    .args(["text", "after", "no_after", "tags", "no_tags", "priority"])))]
pub struct Edit {
    /// The ideas.
    #[arg(value_name = "ID", required = true)]
    pub ids: Vec<Typed<IdeaId>>,
    /// New text, for one idea; `-` reads it from standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub text: Option<String>,
    /// Replace the list of ideas that must be done first.
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub after: Vec<Typed<IdeaId>>,
    /// Stop waiting for other ideas.
    #[arg(long, conflicts_with = "after")]
    pub no_after: bool,
    /// Replace the tags; may be repeated.
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Remove all tags.
    #[arg(long, conflicts_with = "tags")]
    pub no_tags: bool,
    /// New priority; may be negative.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub priority: Option<i64>,
}

/// `idea retry`.
#[derive(Debug, Args)]
#[command(after_help = "\
The next attempt starts with no crashes and no waiting time counted, and with its full iterations \
and timeout. It continues from the \
last attempt's work and gets the output of the last check. Earlier failures still lower the idea's \
score.

Examples:
  $ swarm idea retry idea-003
  $ swarm idea retry 3 5
  $ swarm idea retry --all")]
pub struct Retry {
    /// The ideas.
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub ids: Vec<Typed<IdeaId>>,
    /// Retry every idea that is failed, timed out or blocked.
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
}

/// `idea cancel`.
#[derive(Debug, Args)]
#[command(after_help = "\
Commits of the idea stay under refs/swarm/rescue/. `swarm undo` takes the cancellation back.

Examples:
  $ swarm idea cancel idea-003
  $ swarm idea cancel 3 5
  $ swarm idea cancel --all")]
pub struct Cancel {
    /// The ideas.
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub ids: Vec<Typed<IdeaId>>,
    /// Cancel every idea that is pending, active, merging or blocked.
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
    /// With `--all`: cancel without asking.
    #[arg(short, long, requires = "all")]
    pub yes: bool,
}

/// `idea assign`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm idea assign idea-003
  $ swarm idea assign idea-003 --profile ed")]
pub struct Assign {
    /// The ideas.
    #[arg(value_name = "ID", required = true)]
    pub ids: Vec<Typed<IdeaId>>,
    /// The agent profile to use.
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<ProfileName>,
}

/// `idea hold`.
#[derive(Debug, Args)]
#[command(after_help = "\
A held idea stays pending, and ideas that come after it wait. An agent that works on it goes on; \
the hold is then for the next attempt. `start --until-idle` and `wait` do not wait for held ideas.

Examples:
  $ swarm idea hold idea-003
  $ swarm idea hold 3 5
  $ swarm idea hold --all")]
pub struct Hold {
    /// The ideas.
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub ids: Vec<Typed<IdeaId>>,
    /// Hold every pending idea.
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
}

/// `idea unhold`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm idea unhold idea-003
  $ swarm idea unhold --all")]
pub struct Unhold {
    /// The ideas.
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub ids: Vec<Typed<IdeaId>>,
    /// Release every held idea.
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
}

/// Runs the command.
pub fn run(verb: Idea, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Idea::Add(args) => add::add(args, context),
        Idea::List(args) => list(&args, context),
        Idea::Show(args) => show(&args, context),
        Idea::Edit(args) => edit(args, context),
        Idea::Retry(args) => retry(&args, context),
        Idea::Cancel(args) => cancel(&args, context),
        Idea::Assign(args) => assign(&args, context),
        Idea::Hold(args) => hold(&args, context),
        Idea::Unhold(args) => unhold(&args, context),
    }
}

fn change(context: &Context, command: &Command, words: String) -> Result<Done, CliError> {
    let answer = context.with_access(|access| access.execute(command))?;
    Ok(Done { answer, words })
}

/// The named ideas or, with `--all`, those that `fit`.
fn chosen(
    context: &Context,
    ids: &[Typed<IdeaId>],
    all: bool,
    fit: fn(&Value, IdeaStatus) -> bool,
) -> Result<Vec<Result<IdeaId, CliError>>, CliError> {
    context.with_access(|access| {
        if !all {
            return access.idea_ids(ids);
        }
        let ideas = access.ideas(None)?;
        let fits = |idea: &&Value| {
            let status = text(idea, "status");
            IdeaStatus::ALL
                .iter()
                .any(|one| one.as_str() == status && fit(idea, *one))
        };
        let of_idea = |idea: &Value| text(idea, "id").parse().ok().map(Ok);
        let ideas = ideas.as_array().into_iter().flatten().filter(fits);
        Ok(ideas.filter_map(of_idea).collect())
    })
}

fn retry(args: &Retry, context: &mut Context) -> Result<(), CliError> {
    let fits = |idea: &Value, status: IdeaStatus| status.is_bad() && idea["held"] != true;
    let ids = chosen(context, &args.ids, args.all, fits)?;
    if ids.is_empty() && !context.output.json {
        context
            .output
            .note("no idea is failed, timed out or blocked");
        return Ok(());
    }
    several::each(context, ids, args.all, |context, id| {
        let command = Command::RetryIdea { id: id.clone() };
        change(context, &command, format!("{id} will be worked on again"))
    })
}

fn assign(args: &Assign, context: &mut Context) -> Result<(), CliError> {
    let ids = context.with_access(|access| access.idea_ids(&args.ids))?;
    several::each(context, ids, false, |context, id| {
        let (id, profile) = (id.clone(), args.profile.clone());
        let words = format!("{id} assigned");
        change(context, &Command::AssignIdea { id, profile }, words)
    })
}

fn hold(args: &Hold, context: &mut Context) -> Result<(), CliError> {
    let pending = |_: &Value, status| status == IdeaStatus::Pending;
    let ids = chosen(context, &args.ids, args.all, pending)?;
    if ids.is_empty() && !context.output.json {
        context.output.note("no idea is pending");
        return Ok(());
    }
    several::each(context, ids, args.all, |context, id| {
        let command = Command::HoldIdea { id: id.clone() };
        let words = format!("{id} held\n  -> to let it start: swarm idea unhold {id}");
        change(context, &command, words)
    })
}

fn unhold(args: &Unhold, context: &mut Context) -> Result<(), CliError> {
    let held = |idea: &Value, _: IdeaStatus| idea["held"] == true;
    let ids = chosen(context, &args.ids, args.all, held)?;
    if ids.is_empty() && !context.output.json {
        context.output.note("no idea is held");
        return Ok(());
    }
    several::each(context, ids, args.all, |context, id| {
        let command = Command::UnholdIdea { id: id.clone() };
        change(context, &command, format!("{id} may start"))
    })
}

fn cancel(args: &Cancel, context: &mut Context) -> Result<(), CliError> {
    let ids = chosen(context, &args.ids, args.all, |_, status| is_open(status))?;
    if ids.is_empty() && !context.output.json {
        context.output.note("there is no open idea to cancel");
        return Ok(());
    }
    if args.all && !ids.is_empty() {
        let names: Vec<&str> = ids.iter().flatten().map(IdeaId::as_str).collect();
        let question = format!("Cancel {}?", names.join(", "));
        agree(context, args.yes, &question)?;
    }
    several::each(context, ids, args.all, |context, id| {
        let command = Command::CancelIdea { id: id.clone() };
        let words = format!(
            "{id} cancelled; commits that it had stay under refs/swarm/rescue/\n  -> take it back: \
            swarm undo"
        );
        change(context, &command, words)
    })
}

/// Whether there is still something to do, by swarm or by a person.
fn is_open(status: IdeaStatus) -> bool {
    match status {
        IdeaStatus::Pending | IdeaStatus::Active | IdeaStatus::Merging | IdeaStatus::Blocked => {
            true
        }
        IdeaStatus::Done | IdeaStatus::Failed | IdeaStatus::Timeout | IdeaStatus::Cancelled => {
            false
        }
    }
}

/// The ideas of `--after`, all of which must be meant clearly.
pub(in crate::cli) fn dependencies(
    access: &mut Access,
    typed: &[Typed<IdeaId>],
) -> Result<Vec<IdeaId>, CliError> {
    access.idea_ids(typed)?.into_iter().collect()
}

fn list(args: &List, context: &mut Context) -> Result<(), CliError> {
    context.look_back(&args.at)?;
    let wanted = args.status.as_deref();
    let status = IdeaStatus::ALL
        .into_iter()
        .find(|status| Some(status.as_str()) == wanted);
    if context.output.json {
        let ideas = context.with_access(|access| access.ideas(status))?;
        return context.output.document(&ideas);
    }
    let ideas = context.with_access(|access| access.ideas_open_first(status))?;
    let ideas = ideas.as_array().map_or(&[][..], Vec::as_slice);
    if ideas.is_empty() {
        let none = match wanted {
            Some(word) => format!("no ideas are {word}"),
            None => "no ideas yet\n  -> add one: swarm idea add \"...\"".into(),
        };
        context.output.note(none);
        return Ok(());
    }
    let page = render::idea_list::ideas(&context.output, ideas);
    write_page(&mut context.output, &page)
}

fn show(args: &Show, context: &mut Context) -> Result<(), CliError> {
    context.look_back(&args.at)?;
    let (id, mut idea) = context.with_access(|access| {
        let id = access.idea_id(&args.id)?;
        let idea = access.idea(&id)?;
        Ok((id, idea))
    })?;
    let story = idea_story::read(&context.repo()?, context.past.as_ref(), &id)?;
    if context.output.json {
        idea["story"] = to_value(&story)?;
        return context.output.document(&idea);
    }
    let page = render::idea::page(&context.output, &idea, &story, context.now());
    pager::show(&mut context.output, &page)
}

fn edit(args: Edit, context: &mut Context) -> Result<(), CliError> {
    if args.text.is_some() && args.ids.len() > 1 {
        let message = "a new text is for one idea only";
        return Err(CliError::new(Kind::Usage, message)
            .hint("name one idea: swarm idea edit ID --text TEXT"));
    }
    let (ids, after) = context.with_access(|access| {
        let ids = access.idea_ids(&args.ids)?;
        Ok((ids, dependencies(access, &args.after)?))
    })?;
    let edit = IdeaEdit {
        text: args.text.map(text_or_stdin).transpose()?,
        after: (args.no_after || !after.is_empty()).then_some(after),
        tags: (args.no_tags || !args.tags.is_empty()).then_some(args.tags),
        priority: args.priority,
    };
    several::each(context, ids, false, |context, id| {
        let (id, edit) = (id.clone(), edit.clone());
        let words = format!("{id} changed");
        change(context, &Command::EditIdea { id, edit }, words)
    })
}
