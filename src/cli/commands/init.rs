//! `swarm init`: sets up a repository. What is written is decided in
//! [`config::init`](crate::config::init).

use std::ffi::OsString;
use std::path::Path;

use clap::Args;
use serde_json::json;

use crate::agents::environment::Environment;
use crate::agents::{self, Profile};
use crate::cli::confirm::agree;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::terminal::safe;
use crate::config::init::detect::{Detected, FoundAgent, detect};
use crate::config::init::path_dependencies::{MANIFESTS, PathDependency, path_dependencies};
use crate::config::init::plan::{Choices, InitPlan, PROFILE, plan_init};
use crate::config::init::setup::{LOCAL_FILES, VENV};
use crate::config::init::trust_by_path::{TRUSTED_BY_PATH, trust_notes};
use crate::config::init::write::{check_free, write};
use crate::config::{Adapter, MergeSign};
use crate::daemon::Paths;
use crate::daemon::checkpoints::retire_all;
use crate::daemon::preflight::{self, CommitNote, Preflight, Seen, commit_notes};
use crate::git::{GitError, PathStatus, Places, Repo as GitRepo};
use crate::journal::{SecondNames, StateLock};
use crate::remove;

/// `init`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm init
  $ swarm init --agent claude --target main --yes
  $ swarm init --agent command --yes -- python3 tools/agent.py
  $ swarm init --agent acp --yes -- my-agent --acp")]
pub struct Init {
    /// The agent to use: claude, codex, opencode, gemini, aider, `command` for a program of your
    /// own, or `acp` for one that speaks the Agent Client Protocol. Default: the first installed
    /// agent that looks ready to work.
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// The branch that finished work lands on. Default: the branch that is checked out.
    #[arg(long, value_name = "BRANCH")]
    pub target: Option<String>,
    /// Write the files without asking.
    #[arg(long, short)]
    pub yes: bool,
    /// Go on with the swarm that was in this repository before `.swarm` was removed: its ideas and
    /// its history come back.
    #[arg(long, conflicts_with = "new")]
    pub restore: bool,
    /// Start over, without what an earlier swarm in this repository knew.
    #[arg(long)]
    pub new: bool,
    /// The program and its arguments, for `--agent command` or `--agent acp`.
    #[arg(last = true, value_name = "PROGRAM")]
    pub command: Vec<String>,
}

/// Shows what it will write, asks, and writes.
pub fn run(args: &Init, context: &mut Context) -> Result<(), CliError> {
    let repo = GitRepo::open(&context.start_folder()?).map_err(refused)?;
    let root = repo.root().to_owned();
    check_free(&root).map_err(refused)?;
    let earlier = earlier_log(args, &root)?;
    if let Some(target) = &args.target
        && !repo.target_exists(target).map_err(refused)?
    {
        return Err(no_such_branch(target));
    }
    let choices = Choices {
        agent: args.agent.clone(),
        command: args.command.clone(),
        target: args.target.clone(),
        branch: repo.head_branch().map_err(refused)?,
    };
    let path: OsString = std::env::var_os("PATH").unwrap_or_default();
    let mut detected = detect(&root, &path);
    let seen = look_at(&root, &detected);
    // Agents that can work come first.
    let unfit = |agent: &FoundAgent| {
        seen.iter()
            .any(|it| it.adapter.name() == agent.name && !it.is_fit())
    };
    detected.agents.sort_by_key(unfit);
    let (local, unignored) = ask_git(&repo, &detected).map_err(refused)?;
    detected.copy = local;
    let manifests = repo.matching_in_checkout(&MANIFESTS).map_err(refused)?;
    add_build(&repo, &mut detected, &manifests);
    let outside = path_dependencies(&root, &manifests);
    let links = outside.iter().filter_map(PathDependency::link);
    // An installation finds them there.
    detected.setup.splice(0..0, links);
    let mut plan = plan_init(&choices, &detected).map_err(refused)?;
    plan.notes.extend(unignored);
    tell_of_agents(&mut plan, &seen);
    show(&plan, &root.display().to_string(), context);
    agree(context, args.yes, "Write this?")?;
    if let Some(earlier) = earlier.as_ref().filter(|_| args.new) {
        forget(&repo, earlier)?;
    }
    choose_folder(&repo, context)?;
    let mut notes = notes_on_folder(&repo, &outside).map_err(refused)?;
    notes.extend(notes_on_commits(&repo));
    for note in &notes {
        context.output.note(format!("  note: {}", safe(note)));
    }
    plan.notes.extend(notes);
    settle_layout(&repo, &mut plan, context).map_err(refused)?;
    write(&root, &plan).map_err(refused)?;
    if let Some(earlier) = earlier.filter(|_| args.restore) {
        earlier.restore().map_err(refused)?;
        if repo.check_out_tracked(".swarm").map_err(refused)? {
            let note = "What git tracks in .swarm is as git has it.";
            context.output.note(note);
        }
    }
    done(&plan, context)
}

fn choose_folder(repo: &GitRepo, context: &mut Context) -> Result<(), CliError> {
    let places = Places::of_environment(None);
    let folder = repo.settle_folder(&places).map_err(no_place)?;
    if let Some(note) = folder.note {
        context.output.note(safe(&note));
    }
    Ok(())
}

/// Adds `.swarm` to a sparse checkout, and says what else in the layout should be changed.
fn settle_layout(
    repo: &GitRepo,
    plan: &mut InitPlan,
    context: &mut Context,
) -> Result<(), GitError> {
    let mut notes = Vec::new();
    if repo.include_config()? {
        notes.push("Added .swarm to your sparse checkout (git sparse-checkout add).".to_owned());
    }
    let findings = repo.probe_layout()?.into_iter();
    notes.extend(findings.map(|it| format!("{}. Change it: {}", it.what, it.way_out)));
    for note in &notes {
        context.output.note(format!("  note: {}", safe(note)));
    }
    plan.notes.extend(notes);
    Ok(())
}

/// The event log of an earlier swarm in this repository, which somebody has to decide on.
fn earlier_log(args: &Init, root: &Path) -> Result<Option<SecondNames>, CliError> {
    let earlier = Paths::new(root).second_names().filter(SecondNames::is_any);
    match &earlier {
        Some(_) if !args.restore && !args.new => Err(CliError::refused(
            "there was a swarm in this repository; its .swarm is gone, but its ideas and its \
            history are kept in the git directory",
        )
        .hint("go on with it: swarm init --restore")
        .hint("start over: swarm init --new")),
        None if args.restore => Err(CliError::refused(
            "there is no earlier swarm in this repository that could be restored",
        )
        .hint("set it up: swarm init")),
        Some(_) | None => Ok(earlier),
    }
}

/// Drops what an earlier swarm knew.
fn forget(repo: &GitRepo, earlier: &SecondNames) -> Result<(), CliError> {
    let paths = Paths::new(repo.root());
    let _lock = StateLock::acquire(&paths.private).map_err(refused)?;
    retire_all(repo).map_err(refused)?;
    earlier.forget().map_err(refused)?;
    // A command may have brought the log back; it stays under its second name.
    remove::tree_if_there(&paths.state)
        .and_then(|()| remove::file_if_there(&paths.ideas()))
        .map_err(refused)
}

/// The ignored files that worktrees need, and notes about folders that the setup fills and that git
/// does not ignore.
fn ask_git(repo: &GitRepo, detected: &Detected) -> Result<(Vec<String>, Vec<String>), GitError> {
    let mut local = Vec::new();
    for file in LOCAL_FILES {
        let there = std::fs::symlink_metadata(repo.root().join(file));
        let is_file = there.is_ok_and(|there| there.is_file());
        if is_file && repo.path_status(file)? == PathStatus::Ignored {
            local.push(file.to_owned());
        }
    }
    let mut notes = Vec::new();
    for found in &detected.setup {
        // A lock file that is not committed is not in a worktree.
        for input in found.inputs.iter().filter(|input| !input.contains('*')) {
            if repo.path_status(input)? == PathStatus::Ignored {
                local.push(input.clone());
            }
        }
        let Some(folder) = found.writes else { continue };
        // The slash makes it a folder, also where there is none yet.
        if repo.path_status(&format!("{folder}/"))? == PathStatus::Untracked {
            let then = match folder {
                VENV => "so the setup fills it again for each idea and merge",
                _ => "so agents would commit it",
            };
            notes.push(format!(
                "`{}` fills {folder}, which git does not ignore, {then}. Add `{folder}/` to \
                .gitignore.",
                found.command
            ));
        }
    }
    Ok((local, notes))
}

/// Lets a workspace be built before its tests where they need that.
fn add_build(repo: &GitRepo, detected: &mut Detected, manifests: &[String]) {
    let packages = manifests.iter().filter(|it| it.ends_with("package.json"));
    let packages: Vec<String> = packages.cloned().collect();
    detected.add_build(repo.root(), &packages, |path| {
        repo.path_status(path)
            .is_ok_and(|status| status == PathStatus::Ignored)
    });
}

/// What a person has to do because agents work in another folder.
fn notes_on_folder(repo: &GitRepo, outside: &[PathDependency]) -> Result<Vec<String>, GitError> {
    let folder = repo.worktrees_folder();
    let further = outside.iter();
    let mut notes: Vec<String> = further
        .filter_map(|it| it.note(repo.root(), &folder))
        .collect();
    let files = repo.matching_in_checkout(&TRUSTED_BY_PATH)?;
    notes.extend(trust_notes(&folder, |file| {
        files.iter().any(|it| it == file)
    }));
    Ok(notes)
}

/// What a person should know of swarm's own commits before the first one.
fn notes_on_commits(repo: &GitRepo) -> Vec<String> {
    match commit_notes(MergeSign::Auto, repo) {
        Ok(notes) => {
            let text = |note: CommitNote| match note.way_out {
                Some(way_out) => format!("{}: {way_out}", note.what),
                None => format!("{}.", note.what),
            };
            notes.into_iter().map(text).collect()
        }
        Err(error) => vec![format!("swarm cannot commit yet: {error}")],
    }
}

/// Checks the agents that were found and that swarm knows, as profiles with default settings.
fn look_at(root: &Path, detected: &Detected) -> Vec<Seen> {
    let found = |adapter: &Adapter| {
        let mut agents = detected.agents.iter();
        agents.any(|agent| agent.name == adapter.name())
    };
    let known = Adapter::PROGRAMS.into_iter().filter(found);
    let named = |profile| Profile {
        name: PROFILE.to_owned(),
        ..profile
    };
    let profiles: Vec<Profile> = known.map(preflight::plain).map(named).collect();
    let inherited: Environment = std::env::vars_os().collect();
    let preflight = Preflight {
        root,
        inherited: &inherited,
        pass: &[],
        target: None,
    };
    preflight.inspect_all(&profiles)
}

/// Adds notes about the chosen agent: what was found, its faults, and what it may do.
fn tell_of_agents(plan: &mut InitPlan, seen: &[Seen]) {
    let taken: Vec<&str> = plan
        .config
        .agents
        .profiles
        .values()
        .map(|profile| profile.adapter.name())
        .collect();
    let is_taken = |name: &str| taken.contains(&name);
    let known = Adapter::PROGRAMS.into_iter();
    let permits = known
        .filter(|adapter| is_taken(adapter.name()))
        .filter_map(|adapter| agents::adapter(adapter).program_info())
        .map(|about| format!("Permissions: {}", about.permits));
    let mut notes: Vec<String> = Vec::new();
    for one in seen.iter().filter(|one| is_taken(one.adapter.name())) {
        notes.push(format!("Found: {}.", one.summary()));
        let faults = one.faults.iter();
        notes.extend(faults.map(|fault| format!("{} ({}).", fault.what, fault.advice)));
        notes.extend(one.doubts.iter().map(|doubt| format!("{doubt}.")));
    }
    notes.extend(permits);
    plan.notes.splice(0..0, notes);
}

fn no_such_branch(target: &str) -> CliError {
    CliError::refused(format!(
        "there is no branch `{}` for work to land on",
        safe(target)
    ))
    .hint(format!("create it: git branch {}", safe(target)))
    .hint("or leave out --target to use the branch that is checked out: swarm init")
}

fn no_place(error: GitError) -> CliError {
    let GitError::NoPlace { why } = error else {
        return refused(error);
    };
    CliError::refused(format!("no folder for the worktrees of agents: {why}"))
        .hint("name another folder for it: XDG_STATE_HOME=DIR swarm init")
        .hint("where .swarm is there already: swarm config set --local worktree.root DIR")
}

fn refused(error: impl std::error::Error) -> CliError {
    CliError::refused(error.to_string())
}

fn show(plan: &InitPlan, root: &str, context: &mut Context) {
    let output = &mut context.output;
    output.note(format!("Setting up {}:", safe(root)));
    if let Some(target) = &plan.config.target {
        output.note(format!("  work lands on   {}", safe(target)));
    }
    for (name, profile) in &plan.config.agents.profiles {
        // An agent that swarm knows has no command line of its own.
        let line = match profile.command.as_slice() {
            [] if profile.adapter == Adapter::Demo => "scripted, for trying things out".to_owned(),
            [] => profile.adapter.name().to_owned(),
            words => words.join(" "),
        };
        output.note(format!("  agent `{}`      {}", safe(name), safe(&line)));
    }
    for quality in &plan.quality {
        let (command, because) = (safe(&quality.command), safe(&quality.because));
        output.note(format!("  checked by      {command}  (from {because})"));
    }
    for setup in &plan.setup {
        let (command, because) = (safe(&setup.command), safe(&setup.because));
        output.note(format!("  set up by       {command}  (from {because})"));
    }
    for file in &plan.config.worktree.copy {
        let file = safe(file);
        output.note(format!(
            "  copied          {file}  (in your checkout, ignored by git)"
        ));
    }
    output.note(format!(
        "  will write      {} files in .swarm/",
        plan.files.len()
    ));
    for note in &plan.notes {
        output.note(format!("  note: {}", safe(note)));
    }
}

fn done(plan: &InitPlan, context: &mut Context) -> Result<(), CliError> {
    if context.output.json {
        let files: Vec<String> = plan
            .files
            .iter()
            .map(|(path, _)| format!(".swarm/{}", path.display()))
            .collect();
        let document =
            json!({ "files": files, "config": plan.config.redacted(), "notes": plan.notes });
        return context.output.document(&document);
    }
    let next = if plan.config.agents.profiles.is_empty() {
        "Done. `swarm start` needs an agent first, see the note above. Then:"
    } else {
        "Done. Next, commit .swarm/, add ideas and start:"
    };
    context.output.note(next);
    context
        .output
        .note("  git add .swarm && git commit -m \"Set up swarm\"");
    context
        .output
        .note("  swarm idea add \"add a --version flag\"");
    context.output.note("  swarm start");
    Ok(())
}
