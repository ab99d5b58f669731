//! `reference/cli.md`: every command, from its definition.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _};
use swarm::cli::args::Cli;

use super::{sentence, whole};

#[test]
fn commands() {
    let mut root = Cli::command().term_width(100);
    root.build();
    let mut page = String::from(
        "# Commands\n\n`swarm --help` and `swarm COMMAND --help` show the same. Data goes to \
        standard output, messages to standard error.\nWhere a command asks for a yes and there is \
        no terminal, it fails at once and names `--yes`.\n\n",
    );
    page.push_str("## Global options\n\nEvery command takes these.\n\n");
    for arg in root.get_arguments().filter(|arg| arg.is_global_set()) {
        page.push_str(&entry(arg));
    }
    page.push_str("\n## List of commands\n\n| command | does |\n| --- | --- |\n");
    let mut leaves = Vec::new();
    collect(&root, "swarm", &mut leaves);
    for (path, command) in &leaves {
        let about = command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        let anchor = path.replace(' ', "-");
        writeln!(page, "| [`{path}`](#{anchor}) | {} |", super::cell(&about)).unwrap();
    }
    for (path, command) in &leaves {
        page.push_str(&section(path, command));
    }
    whole("docs/reference/cli.md", &page);
}

/// The commands that do something, with their whole name.
fn collect<'a>(command: &'a Command, path: &str, found: &mut Vec<(String, &'a Command)>) {
    let shown = |sub: &&Command| !sub.is_hide_set() && sub.get_name() != "help";
    let subs: Vec<&Command> = command.get_subcommands().filter(shown).collect();
    if subs.is_empty() {
        found.push((path.to_owned(), command));
    }
    for sub in subs {
        collect(sub, &format!("{path} {}", sub.get_name()), found);
    }
}

fn section(path: &str, command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about());
    let about = sentence(&about.map(ToString::to_string).unwrap_or_default());
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let mut text = format!("\n## {path}\n\n{about}\n\n```text\n{usage}\n```\n");
    let own = |arg: &&Arg| !arg.is_global_set() && !arg.is_hide_set() && arg.get_id() != "help";
    let args: Vec<&Arg> = command.get_arguments().filter(own).collect();
    if !args.is_empty() {
        text.push('\n');
    }
    for arg in args {
        text.push_str(&entry(arg));
    }
    if let Some(after) = command.get_after_long_help().or(command.get_after_help()) {
        text.push_str(&below(&after.to_string()));
    }
    text
}

/// An argument as an item of a list.
fn entry(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let value: Vec<String> = names.iter().map(|name| format!("<{name}>")).collect();
    let takes_value = arg.get_action().takes_values();
    let value = if takes_value {
        value.join(" ")
    } else {
        String::new()
    };
    let mut forms: Vec<String> = Vec::new();
    if let Some(short) = arg.get_short() {
        forms.push(format!("-{short}"));
    }
    if let Some(long) = arg.get_long() {
        forms.push(format!("--{long}"));
    }
    let name = match forms.as_slice() {
        [] => value,
        forms => format!("{} {value}", forms.join(", ")),
    };
    let help = arg.get_long_help().or(arg.get_help());
    let help = sentence(&help.map(ToString::to_string).unwrap_or_default());
    let mut text = format!(
        "- `{}`: {}",
        name.trim(),
        help.split_whitespace().collect::<Vec<_>>().join(" ")
    );
    let default: Vec<String> = arg
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    if takes_value && !default.is_empty() {
        write!(text, " Default: `{}`.", default.join(" ")).unwrap();
    }
    text.push('\n');
    let values = arg.get_possible_values();
    if takes_value && values.iter().any(|value| value.get_help().is_some()) {
        for value in values {
            let help = value
                .get_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            writeln!(text, "  - `{}`: {}", value.get_name(), sentence(&help)).unwrap();
        }
    } else if takes_value && !values.is_empty() {
        let values: Vec<String> = values
            .iter()
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        writeln!(text, "  One of {}.", values.join(", ")).unwrap();
    }
    text
}

/// What stands below the options: paragraphs as they are, what is set out by hand and examples as
/// code.
fn below(text: &str) -> String {
    let mut told = String::new();
    for paragraph in text.split("\n\n") {
        let examples = paragraph.starts_with("Example");
        let set_out = paragraph.lines().any(|line| line.starts_with(' '));
        if examples {
            let (title, lines) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
            let lines: Vec<&str> = lines.lines().map(str::trim_start).collect();
            write!(told, "\n{title}\n\n```text\n{}\n```\n", lines.join("\n")).unwrap();
        } else if set_out {
            write!(told, "\n```text\n{paragraph}\n```\n").unwrap();
        } else {
            write!(told, "\n{paragraph}\n").unwrap();
        }
    }
    told
}
