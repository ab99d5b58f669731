//! Every command on a page is run as it stands there, and shows what stands below it.

use std::fmt::Write as _;
use std::fs;

use clap::{Command, CommandFactory as _, Parser as _};
use swarm::cli::args::Cli;

use crate::page::{self, Block, HOW_TO_BLESS, Page, Part, blesses, root};
use crate::same::{Order, is_same, renewed};
use crate::stage::Stage;

/// Pages without a command that is run.
const NOT_RUN: &[&str] = &["docs/SUMMARY.md"];

macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        const PAGES: &[&str] = &[$($path),*];
        $(
            #[test]
            fn $name() {
                check($path);
            }
        )*
    };
}

pages! {
    readme: "README.md",
    getting_started: "docs/getting-started.md",
    install: "docs/install.md",
    worktrees_and_checks: "docs/worktrees-and-checks.md",
    agents: "docs/agents.md",
    memory: "docs/memory.md",
    reviewing_and_landing: "docs/reviewing-and-landing.md",
    conflicts: "docs/conflicts.md",
    earlier_states: "docs/earlier-states.md",
    provenance: "docs/provenance.md",
    moving: "docs/moving.md",
    interventions: "docs/interventions.md",
    checkpoints_and_rollback: "docs/checkpoints-and-rollback.md",
    hooks: "docs/hooks.md",
    notifications: "docs/notifications.md",
    budgets_and_limits: "docs/budgets-and-limits.md",
    service: "docs/service.md",
    troubleshooting: "docs/troubleshooting.md",
    recovery: "docs/recovery.md",
    page: "docs/page.md",
    security: "docs/security.md",
}

#[test]
fn every_page_with_commands_is_run() {
    let runs = |page: &Page| {
        page.blocks().any(|block| {
            ["console", "sh"].contains(&&*block.language) && block.note("not run").is_none()
        })
    };
    let missing: Vec<String> = page::all()
        .into_iter()
        .filter(|path| !PAGES.contains(&&**path) && !NOT_RUN.contains(&&**path))
        .filter(|path| runs(&Page::read(path)))
        .collect();
    assert!(
        missing.is_empty(),
        "not among the pages of tests/docs/commands.rs: {missing:?}"
    );
}

#[test]
fn what_is_not_run_says_why_and_is_well_formed() {
    let mut wrong = Vec::new();
    for path in page::all() {
        let page = Page::read(&path);
        for block in page.blocks() {
            let Some(why) = block.note("not run") else {
                continue;
            };
            let place = format!("{path}:{}", block.begin);
            if why.is_empty() {
                wrong.push(format!("{place}: `not run` without a reason"));
            }
            for line in page.inside(block) {
                if let Some(error) = malformed(line) {
                    wrong.push(format!("{place}: {line}: {error}"));
                }
            }
        }
        for (index, line) in page.prose() {
            for span in line.split('`').skip(1).step_by(2) {
                if let Some(error) = unknown(span) {
                    wrong.push(format!("{path}:{}: `{span}`: {error}", index + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with the `swarm` commands of a line of shell.
fn malformed(line: &str) -> Option<String> {
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let words = split(line);
    let commands = words.split(|word| ["&&", "|", ";", "||"].contains(&word.as_str()));
    commands
        .filter(|words| words.first().is_some_and(|first| first == "swarm"))
        .find_map(|words| Cli::try_parse_from(words).err())
        .filter(clap::Error::use_stderr)
        .map(|error| error.to_string())
}

/// What a span of code in the text names that the command line does not have.
fn unknown(span: &str) -> Option<String> {
    let mut words = span.split_whitespace();
    if words.next() != Some("swarm") {
        return None;
    }
    let mut command = Cli::command();
    command.build();
    let mut command: &Command = &command;
    // Behind `--` stand the words of another program.
    for word in words.take_while(|word| *word != "--") {
        if let Some(option) = word.strip_prefix("--").filter(|option| !option.is_empty()) {
            let option = option.split('=').next().unwrap_or_default();
            let mut options = command.get_arguments().filter_map(clap::Arg::get_long);
            if !options.any(|known| known == option) && option != "help" && option != "version" {
                return Some(format!("there is no --{option}"));
            }
        } else if command.has_subcommands() && word.starts_with(|c: char| c.is_ascii_lowercase()) {
            match command.find_subcommand(word) {
                Some(sub) => command = sub,
                None => return Some(format!("there is no command {word}")),
            }
        }
    }
    None
}

/// The words of a line, as a shell takes them, as far as the pages need it.
fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut was_quoted = false;
    for c in line.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                was_quoted = true;
            }
            (' ', None) => {
                if !words.last().unwrap().is_empty() || was_quoted {
                    words.push(String::new());
                }
                was_quoted = false;
            }
            ('#', None) if words.last().unwrap().is_empty() => break,
            (c, _) => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    let redirected = words
        .iter()
        .position(|word| word.starts_with('>') || word.starts_with('<'));
    words.truncate(redirected.unwrap_or(words.len()));
    words
}

/// A command of a block and the lines below it.
struct Typed {
    command: String,
    /// From where to where its output stands on the page.
    begin: usize,
    end: usize,
}

fn typed(page: &Page, block: &Block) -> Vec<Typed> {
    let mut all: Vec<Typed> = Vec::new();
    for at in block.begin..block.end {
        let line = &page.lines[at];
        match (line.strip_prefix("$ "), all.last_mut()) {
            (Some(command), _) => all.push(Typed {
                command: command.to_owned(),
                begin: at + 1,
                end: at + 1,
            }),
            (None, Some(last)) if last.command.ends_with('\\') && line.starts_with("> ") => {
                last.command.push('\n');
                last.command.push_str(&line[2..]);
                (last.begin, last.end) = (at + 1, at + 1);
            }
            // Empty lines between two commands are the page's own.
            (None, Some(last)) if !line.is_empty() => last.end = at + 1,
            (None, Some(_)) => {}
            (None, None) => panic!("{}:{}: a console block begins with `$ `", page.path, at + 1),
        }
    }
    all
}

/// Lines of a page, and what they become.
struct Change {
    begin: usize,
    end: usize,
    lines: Vec<String>,
    /// Whether the program says something else now, and not only at another time.
    is_stale: bool,
}

fn check(path: &str) {
    let page = Page::read(path);
    let mut stage = Stage::new();
    let mut wrong = String::new();
    let mut changes: Vec<Change> = Vec::new();
    for part in &page.parts {
        match part {
            Part::Setup(script) => stage.set_up(script),
            Part::Block(block) => act(&page, block, &mut stage, &mut wrong, &mut changes),
        }
    }
    drop(stage);
    // The outputs of one page name the same commits, so all of them come from one run.
    if blesses() && changes.iter().any(|change| change.is_stale) {
        let mut lines = page.lines.clone();
        for change in changes.iter().rev() {
            lines.splice(change.begin..change.end, change.lines.clone());
        }
        fs::write(root().join(path), lines.join("\n") + "\n").unwrap();
        println!("{path}: {} outputs written", changes.len());
    }
    assert!(
        wrong.is_empty(),
        "{path} does not show what the program does; {HOW_TO_BLESS}\n{wrong}"
    );
}

fn act(
    page: &Page,
    block: &Block,
    stage: &mut Stage,
    wrong: &mut String,
    changes: &mut Vec<Change>,
) {
    let place = format!("{}:{}", page.path, block.begin);
    if block.note("not run").is_some() {
        return;
    }
    let content = page.inside(block).join("\n") + "\n";
    if let Some(file) = block.note("file") {
        return stage.write(file, &content);
    }
    if block.note("config").is_some() {
        let checked = stage
            .configure(&content)
            .map(|()| stage.run("swarm config check"));
        match checked {
            Ok(ran) if ran.code == 0 => {}
            Ok(ran) => writeln!(wrong, "{place}: {}", ran.shown.join("\n")).unwrap(),
            Err(error) => writeln!(wrong, "{place}: {error}").unwrap(),
        }
        return;
    }
    match &*block.language {
        "sh" => {
            let ran = stage.run(&format!("set -e\n{content}"));
            if ran.code != 0 {
                writeln!(
                    wrong,
                    "{place}: exit code {}\n{}",
                    ran.code,
                    ran.shown.join("\n")
                )
                .unwrap();
            }
        }
        "console" => type_in(page, block, stage, wrong, changes),
        _ => {}
    }
}

fn type_in(
    page: &Page,
    block: &Block,
    stage: &mut Stage,
    wrong: &mut String,
    changes: &mut Vec<Change>,
) {
    let order = match block.note("any order") {
        Some(_) => Order::Any,
        None => Order::Kept,
    };
    let all = typed(page, block);
    let count = all.len();
    for (index, typed) in all.into_iter().enumerate() {
        let place = format!("{}:{}", page.path, typed.begin);
        let ran = stage.run(&typed.command);
        let wanted = block.note("exit").filter(|_| index + 1 == count);
        let wanted: i32 = wanted.map_or(0, |code| code.parse().unwrap());
        if ran.code != wanted {
            let shown = ran.shown.join("\n");
            writeln!(
                wrong,
                "{place}: $ {}\nexit code {} instead of {wanted}\n{shown}",
                typed.command, ran.code
            )
            .unwrap();
        }
        let shown = &page.lines[typed.begin..typed.end];
        let is_stale = !is_same(shown, &ran.shown, order);
        if blesses() {
            changes.push(Change {
                begin: typed.begin,
                end: typed.end,
                lines: renewed(shown, &ran.shown, order),
                is_stale,
            });
        } else if is_stale {
            let (shown, said) = (shown.join("\n"), ran.shown.join("\n"));
            writeln!(
                wrong,
                "{place}: $ {}\n--- the page\n{shown}\n--- the program\n{said}",
                typed.command
            )
            .unwrap();
        }
    }
}
