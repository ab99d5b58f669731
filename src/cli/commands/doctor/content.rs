//! Whether git can write the files of worktrees: the programs of filters, and a partial clone.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::check::Check;
use crate::git::{Filter, Repo as GitRepo};
use crate::process::{self, Answer};

/// How long the shell may take to look up a builtin.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The checks of the content.
pub(super) fn content(git: &GitRepo) -> Vec<Check> {
    let mut checks = filters(git);
    if git.is_partial() {
        let what = "this is a partial clone: worktrees need its remote for files that are missing \
            here, and wait without it";
        checks.push(Check::ok("content", what));
    }
    checks
}

fn filters(git: &GitRepo) -> Vec<Check> {
    const NAME: &str = "filters";
    let used = match git.used_filters() {
        Ok(used) => used,
        Err(error) => return vec![Check::warn(NAME, error.to_string())],
    };
    let found: Vec<Check> = used.iter().filter_map(|it| problem(git, it)).collect();
    if found.is_empty() && !used.is_empty() {
        let names: Vec<&str> = used.iter().map(|filter| &*filter.name).collect();
        let what = format!("every filter can run ({})", names.join(", "));
        return vec![Check::ok(NAME, what)];
    }
    found
}

fn problem(git: &GitRepo, filter: &Filter) -> Option<Check> {
    const NAME: &str = "filters";
    let name = &filter.name;
    if filter.commands.is_empty() {
        let what = format!(
            "files use the filter `{name}`, which is not configured, so agents see them as they \
            are in the repository (encrypted, or pointers)"
        );
        let advice = "set the filter up here, as after a clone (git-crypt unlock, git lfs install)";
        return Some(Check::warn(NAME, what).advice(advice));
    }
    let mut programs = filter.commands.iter().map(|command| program(command));
    let missing = programs.find(|program| is_missing(git, program))?;
    let what = format!(
        "the filter `{name}` cannot run, so no worktree can be made: `{missing}` is not there"
    );
    let advice = format!("install {missing}, or change it: git config filter.{name}.smudge");
    Some(Check::fail(NAME, what).advice(advice))
}

/// Whether the shell would not find a program; a line that begins with anything else is not judged.
fn is_missing(git: &GitRepo, program: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+./ ".contains(&byte);
    let path = std::env::var("PATH")
        .ok()
        .map(|path| ("PATH".to_owned(), path));
    let env: BTreeMap<String, String> = path.into_iter().collect();
    if !program.bytes().all(is_name) || process::resolve_program(program, &env, git.root()).is_ok()
    {
        return false;
    }
    // It may be built into the shell.
    let args = ["-c", "command -v \"$0\"", program].map(str::to_owned);
    let answer = process::query_program(Path::new("/bin/sh"), &args, &env, git.root(), TIMEOUT);
    matches!(answer, Ok(Answer::Said { status, .. }) if !status.success())
}

/// The program that a filter's command begins with.
fn program(command: &str) -> &str {
    let command = command.trim_start();
    match command.chars().next() {
        Some(quote @ ('"' | '\'')) => command[1..].split(quote).next().unwrap_or_default(),
        _ => command.split_whitespace().next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_a_filter_is_its_first_word() {
        assert_eq!(program("git-lfs smudge -- %f"), "git-lfs");
        assert_eq!(program("\"git-crypt\" smudge"), "git-crypt");
        assert_eq!(program("'/opt/my filter' x"), "/opt/my filter");
    }
}
