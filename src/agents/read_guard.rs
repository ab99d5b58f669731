//! The hook of Claude Code that has an agent read a file again before it changes it, if somebody
//! else changed that file since: `swarm __guard FOLDER`, with the run's folder.
//!
//! Invariant: the hook needs no daemon and writes only empty marks in the run's folder. Where it
//! cannot work, the call passes. The adapter adds its files; Claude Code calls it.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Deserialize;
use serde_json::{Value, json};

use super::text::{head, one_line};
use crate::domain::reads::guard::{
    AFTER, BEFORE, CHANGERS, READER, Told, ToolCall, Verdict, judge,
};
use crate::plain_file;

/// Hidden subcommand of the hook.
pub const SUBCOMMAND: &str = "__guard";

/// File of the run's folder that names the hook.
const SETTINGS: &str = "guard-settings.json";
/// File of the run's folder with the told files.
const TOLD: &str = "changed-files.json";
/// Beginning of the name of a mark: the told file of this number was read again.
const MARK: &str = "read-again-";
/// Most bytes of a call, which may hold the content of a file, and of the list.
const MOST: u64 = 64 * 1024 * 1024;
/// Longest name of a file in a message, in bytes.
const LONGEST: usize = 300;
/// Seconds after which Claude Code stops the hook and goes on.
const TIMEOUT: u32 = 10;
/// Exit code with which Claude Code refuses the call and shows the model standard error.
const REFUSED: u8 = 2;

/// The hook for one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardHook {
    program: String,
    folder: String,
    told: Told,
}

impl GuardHook {
    /// The hook for a run in this worktree whose agent was told of these paths. The run's files are
    /// in `folder`. `None` if a path is not UTF-8.
    pub fn new(program: &Path, folder: &Path, worktree: &Path, paths: Vec<String>) -> Option<Self> {
        let text = |path: &Path| path.to_str().map(str::to_owned);
        Some(Self {
            program: text(program)?,
            folder: text(folder)?,
            told: Told {
                worktree: text(worktree)?,
                paths,
            },
        })
    }

    /// Path of the settings that Claude Code is to read.
    pub fn settings_file(&self) -> OsString {
        Path::new(&self.folder).join(SETTINGS).into()
    }

    /// The files of the run's folder.
    pub fn files(&self) -> [(&'static str, Vec<u8>); 2] {
        let told = json!(self.told).to_string();
        [
            (SETTINGS, self.settings().to_string().into_bytes()),
            (TOLD, told.into_bytes()),
        ]
    }

    fn settings(&self) -> Value {
        let [program, folder] = [&self.program, &self.folder].map(|text| quoted(text));
        let command = format!("{program} {SUBCOMMAND} {folder}");
        let hook = json!({"type": "command", "command": command, "timeout": TIMEOUT});
        let on = |tools: &str| json!([{"matcher": tools, "hooks": [hook]}]);
        json!({"hooks": {BEFORE: on(&CHANGERS.join("|")), AFTER: on(READER)}})
    }
}

/// One word of a shell command.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// What the hook is told of a call, as far as it matters.
#[derive(Debug, Deserialize)]
struct HookInput {
    hook_event_name: String,
    tool_name: String,
    cwd: String,
    tool_input: ToolInput,
}

#[derive(Debug, Deserialize)]
struct ToolInput {
    file_path: Option<String>,
    notebook_path: Option<String>,
}

/// Runs the hook with the arguments after its subcommand. Exit code 2 refuses the call.
pub fn main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let folder = PathBuf::from(args.next().unwrap_or_default());
    match answer(&folder, io::stdin().lock()) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(path)) => {
            let path = one_line(&path);
            eprintln!(
                "{} was changed by somebody else since you read it. Read it again, then repeat \
                your edit.",
                head(&path, LONGEST)
            );
            ExitCode::from(REFUSED)
        }
        Err(error) => {
            eprintln!("{SUBCOMMAND}: this call is not checked: {error}");
            ExitCode::SUCCESS
        }
    }
}

/// The told file for which the call is refused. Marks a file that was read again.
fn answer(folder: &Path, input: impl Read) -> io::Result<Option<String>> {
    let input: HookInput = serde_json::from_slice(&bytes(input)?)?;
    let told: Told = serde_json::from_slice(&bytes(plain_file::open(&folder.join(TOLD))?)?)?;
    let ToolInput {
        file_path,
        notebook_path,
    } = input.tool_input;
    let Some(file) = file_path.or(notebook_path) else {
        return Ok(None);
    };
    let resolved = through_links(&told.worktree, &Path::new(&input.cwd).join(&file));
    let names: Vec<String> = [file].into_iter().chain(resolved).collect();
    let call = ToolCall {
        event: &input.hook_event_name,
        tool: &input.tool_name,
        folder: &input.cwd,
        names: &names,
    };
    let mark = |number: usize| folder.join(format!("{MARK}{number}"));
    let is_stale = |number: usize| {
        let file = told.paths.get(number);
        let is_there = file.is_some_and(|file| Path::new(&told.worktree).join(file).is_file());
        is_there && fs::symlink_metadata(mark(number)).is_err()
    };
    match judge(&told, &call, is_stale) {
        Verdict::Pass => Ok(None),
        Verdict::ReadAgain(number) => make_mark(&mark(number)).map(|()| None),
        Verdict::Refuse(number) => Ok(told.paths.get(number).cloned()),
    }
}

/// The file that a path leads to, as a path below the worktree; `None` if that is elsewhere.
fn through_links(worktree: &str, path: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    let rest = path.strip_prefix(fs::canonicalize(worktree).ok()?).ok()?;
    Some(Path::new(worktree).join(rest).to_str()?.to_owned())
}

/// Several calls may make the same mark at once.
fn make_mark(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

fn bytes(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::process::Command;

    use super::*;

    /// A worktree `w` with two told files and another one, and the folder `run`.
    struct Lab {
        dir: tempfile::TempDir,
    }

    impl Lab {
        fn new() -> Self {
            let lab = Self {
                dir: tempfile::tempdir().unwrap(),
            };
            fs::create_dir_all(lab.at("w/src")).unwrap();
            fs::create_dir(lab.at("run")).unwrap();
            for file in ["w/src/a.rs", "w/b c.md", "w/untold", "outside"] {
                fs::write(lab.at(file), "x").unwrap();
            }
            let paths = ["b c.md", "gone", "src/a.rs"].map(str::to_owned).into();
            let hook = GuardHook::new(Path::new("swarm"), &lab.at("run"), &lab.at("w"), paths);
            for (name, content) in hook.unwrap().files() {
                fs::write(lab.at("run").join(name), content).unwrap();
            }
            lab
        }

        fn at(&self, path: &str) -> PathBuf {
            self.dir.path().join(path)
        }

        fn answer(&self, input: &str) -> io::Result<Option<String>> {
            answer(&self.at("run"), input.as_bytes())
        }

        fn call(
            &self,
            event: &str,
            tool: &str,
            key: &str,
            file: impl AsRef<Path>,
        ) -> Option<String> {
            let input = json!({"session_id": "s", "hook_event_name": event, "tool_name": tool,
                "cwd": self.at("w"), "tool_input": {key: file.as_ref(), "old_string": ["x"]}});
            self.answer(&input.to_string()).unwrap()
        }

        fn edit(&self, file: impl AsRef<Path>) -> Option<String> {
            self.call(BEFORE, "Edit", "file_path", file)
        }

        fn read(&self, file: impl AsRef<Path>) {
            assert_eq!(self.call(AFTER, READER, "file_path", file), None);
        }
    }

    #[test]
    fn each_told_file_must_be_read_before_it_is_changed() {
        let lab = Lab::new();
        let told = Some("src/a.rs".to_owned());
        for tool in ["Edit", "MultiEdit", "Write"] {
            let refused = lab.call(BEFORE, tool, "file_path", lab.at("w/src/a.rs"));
            assert_eq!(refused, told, "{tool}");
        }
        let refused = lab.call(BEFORE, "NotebookEdit", "notebook_path", "src/a.rs");
        assert_eq!(refused, told);
        lab.read("b c.md");
        lab.read(lab.at("w/untold"));
        assert_eq!(lab.edit("src/a.rs"), told);
        assert_eq!(lab.edit(lab.at("w/b c.md")), None);
        lab.read("src/a.rs");
        lab.read("src/a.rs");
        assert_eq!(lab.edit(lab.at("w/src/a.rs")), None);
    }

    #[test]
    fn other_files_and_a_file_that_is_gone_are_not_refused() {
        let lab = Lab::new();
        for file in [
            "untold",
            "new",
            "gone",
            "../outside",
            "/etc/passwd",
            "src",
            "",
        ] {
            assert_eq!(lab.edit(file), None, "{file}");
        }
        // Somebody made it again.
        fs::write(lab.at("w/gone"), "x").unwrap();
        assert_eq!(lab.edit("gone"), Some("gone".to_owned()));
    }

    #[test]
    fn links_are_resolved_only_within_the_worktree() {
        let lab = Lab::new();
        symlink("src/a.rs", lab.at("w/link")).unwrap();
        symlink(lab.at("w"), lab.at("other-name")).unwrap();
        symlink(lab.at("outside"), lab.at("w/out")).unwrap();
        let told = Some("src/a.rs".to_owned());
        assert_eq!(lab.edit("link"), told);
        assert_eq!(lab.edit(lab.at("other-name/src/a.rs")), told);
        assert_eq!(lab.edit("out"), None);
        lab.read("link");
        assert_eq!(lab.edit("src/a.rs"), None);
    }

    #[test]
    fn what_is_not_understood_passes() {
        let lab = Lab::new();
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let with = |file: &str, cwd: &str| {
            format!(
                r#"{{"hook_event_name": "PreToolUse", "tool_name": "Edit", "cwd": {cwd},
                "tool_input": {{"file_path": {file}}}}}"#
            )
        };
        for input in [
            "",
            "null",
            "[]",
            "{}",
            "{",
            "\u{0}",
            &deep,
            &with("7", "\"/\""),
            &with("[\"src/a.rs\"]", "\"/\""),
            &with("\"src/a.rs\"", "null"),
            &with(&deep, "\"/\""),
        ] {
            assert!(lab.answer(input).is_err(), "{input:.80}");
        }
        for file in [
            r#""\u0000""#,
            r#""\ud83d\ude00""#,
            "null",
            r#""../../../../../..""#,
        ] {
            let answer = lab.answer(&with(file, "\"/nowhere\""));
            assert_eq!(answer.unwrap(), None, "{file}");
        }
        let long = format!("\"{}src/a.rs\"", "../".repeat(100_000));
        assert_eq!(lab.answer(&with(&long, "\"/\"")).unwrap(), None);
        fs::write(lab.at("run").join(TOLD), "{").unwrap();
        let good = with("\"src/a.rs\"", "\"/\"");
        assert!(lab.answer(&good).is_err());
        fs::rename(lab.at("run"), lab.at("elsewhere")).unwrap();
        assert!(lab.answer(&good).is_err());
    }

    #[test]
    fn a_shell_runs_the_hook_wherever_its_program_is() {
        let lab = Lab::new();
        let folder = lab.at("it's $HOME; \"here\"");
        fs::create_dir(&folder).unwrap();
        let program = folder.join("a swarm");
        fs::write(&program, "#!/bin/sh\nprintf '%s|' \"$@\"\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let hook = GuardHook::new(&program, &folder, &lab.at("w"), vec![]).unwrap();
        let settings = hook.settings();
        for moment in [BEFORE, AFTER] {
            let command = &settings["hooks"][moment][0]["hooks"][0]["command"];
            let mut shell = Command::new("sh");
            let output = shell
                .args(["-c", command.as_str().unwrap()])
                .output()
                .unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            assert_eq!(said, format!("{SUBCOMMAND}|{}|", folder.display()));
        }
    }
}
