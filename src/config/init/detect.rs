//! Detects the installed agents, and the quality and setup commands of a repository, for `swarm
//! init`.
//!
//! Invariant: reads only, runs nothing. A quality command is derived from a file in the
//! repository's root and names that file as its evidence. Without evidence there is no command.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::node::{Node, entries};
use super::python::PythonTool;
use super::setup::{FoundSetup, setup};

/// The agents to look for, in order of preference.
pub const KNOWN_AGENTS: [&str; 5] = ["claude", "codex", "opencode", "gemini", "aider"];

/// The result of [`detect`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detected {
    /// Installed agents, in order of preference.
    pub agents: Vec<FoundAgent>,
    /// Quality commands of the project.
    pub quality: Vec<FoundCommand>,
    /// Setup commands of its worktrees.
    pub setup: Vec<FoundSetup>,
    /// The build of a workspace, which its tests may need.
    pub build: Option<&'static str>,
    /// Ignored files of the person's checkout that worktrees need. Only git knows them, so the
    /// caller fills this in.
    pub copy: Vec<String>,
}

/// An installed agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundAgent {
    /// One of [`KNOWN_AGENTS`].
    pub name: &'static str,
    /// Path of its program.
    pub program: PathBuf,
}

/// A quality command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundCommand {
    /// Command for `sh -c`.
    pub command: String,
    /// Evidence for it, such as `Cargo.toml`.
    pub because: String,
    /// Whether its program is installed and executable on this machine.
    pub runnable: bool,
}

/// Looks for agents on `path` (a `PATH` value) and for quality commands in `repo_root`.
pub fn detect(repo_root: &Path, path: &OsStr) -> Detected {
    let look = Look {
        root: repo_root,
        path: path.to_owned(),
    };
    Detected {
        agents: agents(path),
        quality: quality(&look),
        setup: setup(&look),
        build: Node::of(&look).and_then(|node| node.build(&look)),
        copy: Vec::new(),
    }
}

impl Detected {
    /// Puts the build of a workspace before its tests, if a package of it is used by a file that
    /// `is_built`: a fresh worktree has none.
    pub fn add_build(
        &mut self,
        root: &Path,
        manifests: &[String],
        is_built: impl Fn(&str) -> bool,
    ) {
        let Some(build) = self.build else { return };
        let is_tests = |found: &FoundCommand| found.because.contains("package.json");
        let Some(at) = self.quality.iter().position(is_tests) else {
            return;
        };
        for manifest in manifests {
            let text = fs::read(root.join(manifest)).unwrap_or_default();
            let package: Value = serde_json::from_slice(&text).unwrap_or_default();
            let folder = manifest.trim_end_matches("package.json");
            let mut entries = entries(&package).into_iter();
            let path = |entry: &str| format!("{folder}{}", entry.trim_start_matches("./"));
            if let Some(entry) = entries.find(|entry| is_built(&path(entry))) {
                let found = FoundCommand {
                    command: build.to_owned(),
                    because: format!("{entry} in {manifest}, which git ignores"),
                    runnable: self.quality[at].runnable,
                };
                return self.quality.insert(at, found);
            }
        }
    }
}

fn agents(path: &OsStr) -> Vec<FoundAgent> {
    let found = |name: &&'static str| {
        let program = find_program(name, path)?;
        Some(FoundAgent { name, program })
    };
    KNOWN_AGENTS.iter().filter_map(found).collect()
}

/// The first executable file named `name` in the absolute directories of `path`.
pub(crate) fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|program| is_executable(program))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn quality(look: &Look<'_>) -> Vec<FoundCommand> {
    let ecosystems = [
        Look::cargo,
        Look::node,
        Look::python,
        Look::go,
        Look::maven,
        Look::gradle,
        Look::ruby,
        Look::elixir,
        Look::php,
    ];
    let mut found: Vec<FoundCommand> = ecosystems
        .iter()
        .filter_map(|look_for| look_for(look))
        .collect();
    if found.is_empty() {
        found.extend(look.make().or_else(|| look.bats()));
    }
    found
}

/// Limit on the bytes read from one file.
const MAX_LOOK: u64 = 1024 * 1024;

/// A repository, and the programs of this machine.
pub(super) struct Look<'a> {
    root: &'a Path,
    path: OsString,
}

impl Look<'_> {
    fn cargo(&self) -> Option<FoundCommand> {
        self.has("Cargo.toml")
            .then(|| self.found("cargo test", "Cargo.toml"))
    }

    fn node(&self) -> Option<FoundCommand> {
        let (command, because) = Node::of(self)?.test()?;
        Some(self.found(command, &because))
    }

    /// The file that says that the project is tested by pytest, and why.
    pub(super) fn pytest(&self) -> Option<String> {
        let stated = self.has("pytest.ini").then_some("pytest.ini");
        let names = [
            "pyproject.toml",
            "tox.ini",
            "setup.cfg",
            "requirements-dev.txt",
            "requirements.txt",
        ];
        let mentions = |name: &&str| self.text(name).is_some_and(|text| text.contains("pytest"));
        let file = stated.or_else(|| names.into_iter().find(mentions))?;
        Some(if file == "pytest.ini" {
            file.to_owned()
        } else {
            format!("pytest in {file}")
        })
    }

    fn python(&self) -> Option<FoundCommand> {
        let because = self.pytest()?;
        let python = match PythonTool::of(self) {
            Some(tool) => tool.python(),
            None if self.installed("python") || !self.installed("python3") => "python",
            None => "python3",
        };
        Some(self.found(&format!("{python} -m pytest -q"), &because))
    }

    fn go(&self) -> Option<FoundCommand> {
        self.has("go.mod")
            .then(|| self.found("go test ./...", "go.mod"))
    }

    fn maven(&self) -> Option<FoundCommand> {
        let command = if self.has("mvnw") {
            "./mvnw -q -B test"
        } else {
            "mvn -q -B test"
        };
        self.has("pom.xml").then(|| self.found(command, "pom.xml"))
    }

    fn gradle(&self) -> Option<FoundCommand> {
        let file = ["build.gradle", "build.gradle.kts"]
            .into_iter()
            .find(|name| self.has(name))?;
        let command = if self.has("gradlew") {
            "./gradlew test"
        } else {
            "gradle test"
        };
        Some(self.found(command, file))
    }

    fn ruby(&self) -> Option<FoundCommand> {
        let both = self.has("Gemfile") && self.root.join("spec").is_dir();
        both.then(|| self.found("bundle exec rspec", "Gemfile and spec/"))
    }

    fn elixir(&self) -> Option<FoundCommand> {
        self.has("mix.exs")
            .then(|| self.found("mix test", "mix.exs"))
    }

    fn php(&self) -> Option<FoundCommand> {
        let file = ["phpunit.xml", "phpunit.xml.dist"]
            .into_iter()
            .find(|name| self.has(name))?;
        Some(self.found("vendor/bin/phpunit", file))
    }

    /// Tests of shell programs.
    fn bats(&self) -> Option<FoundCommand> {
        let mut files = fs::read_dir(self.root.join("test")).ok()?.flatten();
        let any =
            files.any(|file| Path::new(&file.file_name()).extension() == Some("bats".as_ref()));
        any.then(|| self.found("bats test", "test/*.bats"))
    }

    /// Tried last, because a Makefile often only calls one of the other tools.
    fn make(&self) -> Option<FoundCommand> {
        let text = ["GNUmakefile", "makefile", "Makefile"]
            .into_iter()
            .find_map(|name| self.text(name))?;
        let target = ["test", "check"]
            .into_iter()
            .find(|target| has_target(&text, target))?;
        Some(self.found(
            &format!("make {target}"),
            &format!("target `{target}` in the Makefile"),
        ))
    }

    fn found(&self, command: &str, because: &str) -> FoundCommand {
        FoundCommand {
            command: command.to_owned(),
            because: because.to_owned(),
            runnable: self.is_runnable(command),
        }
    }

    /// Whether the first program of a command is installed. The setup makes what lies in a folder
    /// of packages.
    pub(super) fn is_runnable(&self, command: &str) -> bool {
        let mut words = command.split(' ').filter(|word| !word.contains('='));
        let program = words.next().unwrap_or_default();
        if program.starts_with(".venv/") {
            self.installed("python3")
        } else if program.starts_with("vendor/") {
            self.installed("php")
        } else if let Some(own) = program.strip_prefix("./") {
            is_executable(&self.root.join(own))
        } else {
            self.installed(program)
        }
    }

    fn installed(&self, program: &str) -> bool {
        find_program(program, &self.path).is_some()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.root.join(name).is_file()
    }

    /// Reads the first [`MAX_LOOK`] bytes of a regular file; `None` if there is none.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let path = self.root.join(name);
        let file = path.is_file().then(|| File::open(&path).ok())??;
        let mut bytes = Vec::new();
        file.take(MAX_LOOK).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Whether the Makefile has a rule for `target`, as opposed to an assignment `target := x`.
fn has_target(makefile: &str, target: &str) -> bool {
    makefile.lines().any(|line| {
        let Some((targets, rest)) = line.split_once(':') else {
            return false;
        };
        let rule = !rest.trim_start_matches(':').starts_with('=') && !line.starts_with(['\t', '#']);
        rule && targets.split_whitespace().any(|name| name == target)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use tempfile::TempDir;

    use super::*;

    fn tree(files: &[(&str, &str)]) -> TempDir {
        let dir = TempDir::new().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    fn commands(files: &[(&str, &str)]) -> Vec<String> {
        let dir = tree(files);
        let found = detect(dir.path(), OsStr::new(""));
        found
            .quality
            .into_iter()
            .map(|found| found.command)
            .collect()
    }

    #[test]
    fn commands_are_derived_from_files_in_the_root() {
        let test = r#"{"scripts":{"test":"vitest run"}}"#;
        for (files, expected) in [
            (vec![("Cargo.toml", "")], "cargo test"),
            (vec![("package.json", test)], "npm test"),
            (
                vec![("package.json", test), ("pnpm-lock.yaml", "")],
                "pnpm test",
            ),
            (vec![("package.json", test), ("yarn.lock", "")], "yarn test"),
            (
                vec![("package.json", test), ("bun.lock", "")],
                "bun run test",
            ),
            (vec![("pytest.ini", "")], "python -m pytest -q"),
            (
                vec![("pyproject.toml", "[tool.pytest.ini_options]")],
                "python -m pytest -q",
            ),
            (
                vec![("tox.ini", "commands = pytest")],
                "python -m pytest -q",
            ),
            (vec![("go.mod", "")], "go test ./..."),
            (vec![("pom.xml", "")], "mvn -q -B test"),
            (vec![("pom.xml", ""), ("mvnw", "")], "./mvnw -q -B test"),
            (vec![("build.gradle.kts", "")], "gradle test"),
            (
                vec![("build.gradle", ""), ("gradlew", "")],
                "./gradlew test",
            ),
            (
                vec![("Gemfile", ""), ("spec/a_spec.rb", "")],
                "bundle exec rspec",
            ),
            (vec![("mix.exs", "")], "mix test"),
            (
                vec![("Makefile", "all: x\nbuild test: x\n\techo\n")],
                "make test",
            ),
            (vec![("Makefile", "check:\n\techo\n")], "make check"),
            (
                vec![("Makefile", "test:\n"), ("Cargo.toml", "")],
                "cargo test",
            ),
        ] {
            assert_eq!(commands(&files), [expected], "{files:?}");
        }
    }

    #[test]
    fn without_evidence_there_is_no_command() {
        let stub = r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
        for files in [
            vec![],
            vec![("package.json", stub)],
            vec![("package.json", "{broken")],
            vec![("package.json", r#"{"scripts":{}}"#)],
            vec![("pyproject.toml", "[project]")],
            vec![("Gemfile", "")],
            vec![("CMakeLists.txt", "")],
            vec![(
                "Makefile",
                "test := 1\ntest ::= 2\n# test: x\nrun:\n\ttest: x\nlatest: y\n",
            )],
            vec![("crates/a/Cargo.toml", "")],
            vec![("Cargo.toml/x", "a directory of that name")],
        ] {
            assert_eq!(commands(&files), [""; 0], "{files:?}");
        }
    }

    #[test]
    fn a_repository_with_two_languages_gets_both_commands() {
        let test = r#"{"scripts":{"test":"x"}}"#;
        assert_eq!(
            commands(&[("Cargo.toml", ""), ("package.json", test)]),
            ["cargo test", "npm test"]
        );
    }

    #[test]
    fn a_workspace_is_built_before_its_tests_where_its_packages_are_used_as_built() {
        let root = r#"{"workspaces":["p/*"],"scripts":{"test":"t","build":"b"}}"#;
        let alone = r#"{"scripts":{"test":"t","build":"b"}}"#;
        let built = r#"{"exports":{".":{"types":"./dist/a.d.ts","import":"./dist/a.js"}}}"#;
        let source = r#"{"main":"src/a.js","exports":{".":{"types":"./dist/a.d.ts"}}}"#;
        for (root, package, expected) in [
            (root, built, &["npm run build", "npm test"][..]),
            (root, source, &["npm test"]),
            (alone, built, &["npm test"]),
        ] {
            let dir = tree(&[("package.json", root), ("p/a/package.json", package)]);
            let mut found = detect(dir.path(), OsStr::new(""));
            let manifests = ["package.json", "p/a/package.json"].map(str::to_owned);
            found.add_build(dir.path(), &manifests, |path| path.starts_with("p/a/dist/"));
            let commands = found.quality.iter().map(|it| it.command.as_str());
            assert_eq!(commands.collect::<Vec<_>>(), expected, "{root} {package}");
        }
    }

    #[test]
    fn programs_are_executable_files_in_absolute_directories() {
        let bin = tree(&[
            ("codex", ""),
            ("claude", ""),
            ("gemini/x", ""),
            ("cargo", ""),
            ("python3", ""),
        ]);
        for name in ["codex", "cargo", "python3"] {
            fs::set_permissions(bin.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = std::env::join_paths([Path::new(""), Path::new("."), bin.path()]).unwrap();
        let repo = tree(&[("Cargo.toml", ""), ("go.mod", ""), ("pytest.ini", "")]);
        let found = detect(repo.path(), &path);
        assert_eq!(found.agents.len(), 1);
        assert_eq!(
            (found.agents[0].name, &found.agents[0].program),
            ("codex", &bin.path().join("codex"))
        );
        let quality: Vec<_> = found
            .quality
            .iter()
            .map(|f| (&*f.command, f.runnable))
            .collect();
        assert_eq!(
            quality,
            [
                ("cargo test", true),
                ("python3 -m pytest -q", true),
                ("go test ./...", false)
            ]
        );
    }
}
