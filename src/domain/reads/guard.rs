//! Whether an agent may change a file that somebody else changed since it read it.
//!
//! Invariant: only told files are refused, and only until they are read again. What is not
//! understood passes: this is a help for the agent, not a wall.

use serde::{Deserialize, Serialize};

use super::below;

/// Tools of Claude Code that change the file in their input.
pub const CHANGERS: [&str; 4] = ["Edit", "MultiEdit", "Write", "NotebookEdit"];
/// The one that reads it.
pub const READER: &str = "Read";
/// Claude Code's name of the moment before a call.
pub const BEFORE: &str = "PreToolUse";
/// Claude Code's name of the moment after a call that succeeded.
pub const AFTER: &str = "PostToolUse";

/// The files that an agent was told of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The agent's worktree, an absolute path.
    pub worktree: String,
    /// Relative to the worktree. A file's number is its place here.
    pub paths: Vec<String>,
}

/// A call of a tool, before or after it.
#[derive(Debug, Clone, Copy)]
pub struct ToolCall<'a> {
    /// The moment.
    pub event: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The folder that relative names are seen from.
    pub folder: &'a str,
    /// Names of its one file: as the agent wrote it, and as links lead to it.
    pub names: &'a [String],
}

/// What follows from a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Pass,
    /// The told file of this number was read again.
    ReadAgain(usize),
    /// The told file of this number must be read before it is changed.
    Refuse(usize),
}

/// Judges a call. `is_stale` tells whether a told file is there and was not read again: one that is
/// gone cannot be read.
pub fn judge(told: &Told, call: &ToolCall<'_>, is_stale: impl Fn(usize) -> bool) -> Verdict {
    let number = || {
        let mut names = call.names.iter();
        names.find_map(|name| told.number(call.folder, name))
    };
    if call.event == AFTER && call.tool == READER {
        return number().map_or(Verdict::Pass, Verdict::ReadAgain);
    }
    if call.event == BEFORE && CHANGERS.contains(&call.tool) {
        let stale = number().filter(|number| is_stale(*number));
        return stale.map_or(Verdict::Pass, Verdict::Refuse);
    }
    Verdict::Pass
}

impl Told {
    fn number(&self, folder: &str, name: &str) -> Option<usize> {
        let path = below(&self.worktree, folder, name)?;
        self.paths.iter().position(|told| *told == path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(call: (&str, &str), folder: &str, name: &str, stale: &[usize]) -> Verdict {
        let told = Told {
            worktree: "/r/w".to_owned(),
            paths: ["src/a.rs", "b c.md", "n.ipynb"].map(str::to_owned).into(),
        };
        let call = ToolCall {
            event: call.0,
            tool: call.1,
            folder,
            names: &[name.to_owned()],
        };
        judge(&told, &call, |number| stale.contains(&number))
    }

    #[test]
    fn a_told_file_is_refused_until_it_is_read_again() {
        for tool in CHANGERS {
            let judge = |stale: &[usize]| verdict((BEFORE, tool), "/r/w", "/r/w/src/a.rs", stale);
            assert_eq!(judge(&[0]), Verdict::Refuse(0), "{tool}");
            assert_eq!(judge(&[1, 2]), Verdict::Pass, "{tool}");
        }
        let read = verdict((AFTER, READER), "/r/w", "/r/w/b c.md", &[0, 1, 2]);
        assert_eq!(read, Verdict::ReadAgain(1));
    }

    #[test]
    fn a_name_may_be_relative_to_the_folder() {
        for (folder, name) in [
            ("/r/w", "src/a.rs"),
            ("/r/w/", "./src/a.rs"),
            ("/r/w/src", "a.rs"),
            ("/r/w/docs", "../src/a.rs"),
            ("/elsewhere", "/r/w/src/../src/a.rs"),
        ] {
            let refused = verdict((BEFORE, "Edit"), folder, name, &[0]);
            assert_eq!(refused, Verdict::Refuse(0), "{folder} {name}");
        }
    }

    #[test]
    fn everything_else_passes() {
        for (folder, name) in [
            ("/r/w", "src/b.rs"),
            ("/r/w", "a.rs"),
            ("/r", "src/a.rs"),
            ("/r/w", "../src/a.rs"),
            ("/r/w", "/src/a.rs"),
            ("/r/w", "/r/w2/src/a.rs"),
            ("/r/w", "/r/w"),
            ("", ""),
        ] {
            let passed = verdict((BEFORE, "Edit"), folder, name, &[0, 1, 2]);
            assert_eq!(passed, Verdict::Pass, "{folder} {name}");
        }
        for call in [
            (BEFORE, "Read"),
            (BEFORE, "Bash"),
            (BEFORE, "edit"),
            (AFTER, "Edit"),
            (AFTER, "Grep"),
            ("PostToolUseFailure", "Read"),
            ("", ""),
        ] {
            let verdict = verdict(call, "/r/w", "src/a.rs", &[0, 1, 2]);
            assert_eq!(verdict, Verdict::Pass, "{call:?}");
        }
    }

    #[test]
    fn a_link_to_a_told_file_counts_as_that_file() {
        let told = Told {
            worktree: "/r/w".to_owned(),
            paths: vec!["a".to_owned()],
        };
        let names = ["link".to_owned(), "/r/w/a".to_owned()];
        let call = ToolCall {
            event: BEFORE,
            tool: "Write",
            folder: "/r/w",
            names: &names,
        };
        assert_eq!(judge(&told, &call, |_| true), Verdict::Refuse(0));
    }
}
