//! Which tracked files a call of a tool reads, by its name and input.
//!
//! Invariant: only tracked files of the worktree are named, each once, as paths relative to it. A
//! shell command is not understood: each of its words that names such a file counts, so a file that
//! a program opens by itself is missed, and one that is only written may be named.

pub mod guard;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Most files that are noted.
const MOST: usize = 2_000;
/// Paths of which it is remembered whether they are tracked.
const REMEMBERED: usize = 20_000;

/// Tools that read the files named in their input, in lower case: of Claude Code, Gemini CLI,
/// opencode, and what the Agent Client Protocol calls the kind.
const READERS: &[&str] = &[
    "read",
    "notebookread",
    "read_file",
    "read_many_files",
    "view",
];

/// Tools that run a shell command, in lower case.
const SHELLS: &[&str] = &[
    "bash",
    "shell",
    "sh",
    "execute",
    "exec_command",
    "run_shell_command",
    "command_execution",
    "local_shell",
];

/// How a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Via {
    /// Quoted in the prompt.
    Prompt,
    /// By a tool that reads files.
    Tool,
    /// Named in a shell command.
    Shell,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Read {
    /// Its path relative to the worktree.
    pub path: String,
    /// How.
    pub via: Via,
}

/// Whether a tool's input is a shell command.
pub fn is_shell(tool: &str) -> bool {
    SHELLS.iter().any(|shell| tool.eq_ignore_ascii_case(shell))
}

/// The tracked files that a call reads, in the order of its input. `worktree` is an absolute path.
pub fn reads(
    (tool, input): (&str, &str),
    worktree: &str,
    is_tracked: impl Fn(&str) -> bool,
) -> Vec<Read> {
    let mut found: Vec<Read> = Vec::new();
    let mut add = |folder: &str, name: &str, via| {
        let path = below(worktree, folder, name).filter(|path| is_tracked(path));
        if let Some(path) = path
            && found.iter().all(|read| read.path != path)
        {
            found.push(Read { path, via });
        }
    };
    if is_shell(tool) {
        for quoted in quoted_words(input) {
            add(worktree, quoted, Via::Shell);
        }
        let mut folder = worktree.to_owned();
        let mut changes_folder = false;
        for word in plain_words(input) {
            if std::mem::replace(&mut changes_folder, word == "cd") {
                folder = resolve(&folder, word);
            }
            add(&folder, word, Via::Shell);
            if let Some((_, value)) = word.split_once('=') {
                add(&folder, value, Via::Shell);
            }
        }
    } else if READERS.iter().any(|it| tool.eq_ignore_ascii_case(it)) {
        for name in named(input) {
            add(worktree, name, Via::Tool);
        }
    }
    found
}

/// Collects what many calls read, each file once, and asks once whether a file is tracked.
pub struct Collector<'a> {
    worktree: String,
    is_tracked: Box<dyn Fn(&str) -> bool + 'a>,
    known: RefCell<BTreeMap<String, bool>>,
    found: BTreeSet<Read>,
}

impl<'a> Collector<'a> {
    /// For the calls of an agent in this worktree, an absolute path.
    pub fn new(worktree: String, is_tracked: impl Fn(&str) -> bool + 'a) -> Self {
        Self {
            worktree,
            is_tracked: Box::new(is_tracked),
            known: RefCell::default(),
            found: BTreeSet::new(),
        }
    }

    /// For calls of which nobody knows the worktree: collects nothing.
    pub fn nowhere() -> Self {
        Self::new(String::new(), |_| false)
    }

    /// Adds what a call reads, up to 2,000 files.
    pub fn add(&mut self, tool: &str, input: &str) {
        if self.found.len() >= MOST {
            return;
        }
        let is_tracked = |path: &str| {
            if let Some(known) = self.known.borrow().get(path) {
                return *known;
            }
            let is = (self.is_tracked)(path);
            let mut known = self.known.borrow_mut();
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(path.to_owned(), is);
            is
        };
        let new = reads((tool, input), &self.worktree, is_tracked);
        self.found.extend(new);
    }

    /// The files, by path and how they were read.
    pub fn finish(self) -> Vec<Read> {
        self.found.into_iter().take(MOST).collect()
    }
}

/// What may be a path in a reading tool's input: all texts of its JSON, or the input itself.
fn named(input: &str) -> Vec<&str> {
    if input.starts_with('{') {
        input.split('"').skip(1).step_by(2).collect()
    } else {
        vec![input]
    }
}

/// The parts of a command between quotes: paths with blanks in them.
fn quoted_words(command: &str) -> impl Iterator<Item = &str> {
    let by = |quote| command.split(quote).skip(1).step_by(2);
    by('"').chain(by('\''))
}

/// The words of a command, without quotes and what joins commands.
fn plain_words(command: &str) -> impl Iterator<Item = &str> {
    let parts = command.split(|c: char| c.is_whitespace() || "'\"`;|&()<>{}".contains(c));
    let bare = |word: &'_ str| !word.is_empty();
    parts
        .map(|word| word.trim_end_matches([',', ':']))
        .filter(move |word| bare(word))
}

/// The path relative to the worktree; `None` if it is not below it.
fn below(worktree: &str, folder: &str, name: &str) -> Option<String> {
    let path = resolve(folder, name);
    let rest = path.strip_prefix(worktree.trim_end_matches('/'))?;
    let rest = rest.strip_prefix('/')?;
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// `name` as an absolute path without `.` and `..`, seen from a folder.
fn resolve(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let start = if name.starts_with('/') { "" } else { folder };
    for part in start.split('/').chain(name.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
        .iter()
        .fold(String::new(), |path, part| path + "/" + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACKED: &[&str] = &["src/lib.rs", "src/a b.rs", "docs/x.md", "Makefile", "if"];

    fn read(tool: &str, input: &str) -> String {
        let tracked = |path: &str| TRACKED.contains(&path);
        let found = reads((tool, input), "/r/w", tracked);
        let found = found
            .iter()
            .map(|read| format!("{:?} {}", read.via, read.path));
        found.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn reading_tools_name_their_file_plainly_or_in_json() {
        for (tool, input) in [
            ("Read", "/r/w/src/lib.rs"),
            ("Read", "src/lib.rs"),
            ("read_file", "./src/../src/lib.rs"),
            ("read", r#"{"filePath":"/r/w/src/lib.rs","limit":10}"#),
            ("read_many_files", r#"{"include":["src/lib.rs","gone.rs"]}"#),
        ] {
            assert_eq!(read(tool, input), "Tool src/lib.rs", "{tool} {input}");
        }
        for (tool, input) in [
            ("Read", "/r/other/src/lib.rs"),
            ("Read", "/r/w2/src/lib.rs"),
            ("Read", "../../src/lib.rs"),
            ("Read", "/r/w/target/x"),
            ("Read", "/r/w"),
            ("Read", ""),
            ("Write", "/r/w/src/lib.rs"),
            ("WebFetch", "src/lib.rs"),
        ] {
            assert_eq!(read(tool, input), "", "{tool} {input}");
        }
    }

    #[test]
    fn words_of_a_shell_command_that_name_a_tracked_file_are_read() {
        for (command, expected) in [
            ("cat src/lib.rs", "Shell src/lib.rs"),
            ("sed -n '1,9p' ./src/lib.rs | head", "Shell src/lib.rs"),
            (
                "bash -lc 'cat src/lib.rs && wc docs/x.md'",
                "Shell src/lib.rs, Shell docs/x.md",
            ),
            (
                "cat \"src/a b.rs\" src/lib.rs",
                "Shell src/a b.rs, Shell src/lib.rs",
            ),
            ("cat </r/w/docs/x.md;make", "Shell docs/x.md"),
            (
                "grep -n x --file=docs/x.md src/lib.rs:",
                "Shell docs/x.md, Shell src/lib.rs",
            ),
            (
                "cd src && cat lib.rs; cd ..; cat Makefile",
                "Shell src/lib.rs, Shell Makefile",
            ),
            ("cat src/lib.rs src/lib.rs", "Shell src/lib.rs"),
            ("cat src/*.rs", ""),
            ("cat /etc/passwd ../src/lib.rs", ""),
            ("", ""),
        ] {
            for tool in ["Bash", "command_execution", "run_shell_command"] {
                assert_eq!(read(tool, command), expected, "{command}");
            }
        }
    }

    #[test]
    fn a_collector_has_each_file_once_and_asks_once_for_each() {
        let asked = RefCell::new(Vec::new());
        let mut collector = Collector::new("/r/w".into(), |path| {
            asked.borrow_mut().push(path.to_owned());
            TRACKED.contains(&path)
        });
        for _ in 0..2 {
            collector.add("Bash", "cat docs/x.md gone");
            collector.add("Read", "Makefile");
        }
        let found: Vec<_> = collector.finish();
        let paths: Vec<&str> = found.iter().map(|read| read.path.as_str()).collect();
        assert_eq!(paths, ["Makefile", "docs/x.md"]);
        assert_eq!(asked.into_inner(), ["cat", "docs/x.md", "gone", "Makefile"]);

        let mut many = Collector::new("/r/w".into(), |_| true);
        for number in 0..=MOST {
            many.add("Read", &format!("{number}.txt"));
        }
        assert_eq!(many.finish().len(), MOST);

        let mut nowhere = Collector::nowhere();
        nowhere.add("Read", "/Makefile");
        assert_eq!(nowhere.finish(), []);
    }
}
