//! Derives the setup of worktrees from the lock files of a repository, for `swarm init`.
//!
//! Invariant: as in [`super::detect`]. A package manager that needs no setup (cargo) gets none.

use super::detect::Look;

/// Ignored files that worktrees usually need.
pub const LOCAL_FILES: [&str; 2] = [".env", ".env.local"];

/// A setup command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSetup {
    /// Command for `sh -c`.
    pub command: String,
    /// Files that it depends on: the lock file, and the manifest that must match it.
    pub inputs: Vec<String>,
    /// Evidence for it, such as `package-lock.json`.
    pub because: String,
    /// Folder that it fills and that git should ignore, if it is in the worktree.
    pub writes: Option<&'static str>,
    /// Whether its program is installed and executable on this machine.
    pub runnable: bool,
}

/// The setup commands of a repository.
pub(super) fn setup(repo: &Look<'_>) -> Vec<FoundSetup> {
    let ecosystems = [node, python, ruby, go, php];
    ecosystems
        .into_iter()
        .filter_map(|look_for| look_for(repo))
        .collect()
}

fn node(repo: &Look<'_>) -> Option<FoundSetup> {
    let locks = [
        ("package-lock.json", "npm ci"),
        ("npm-shrinkwrap.json", "npm ci"),
        ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
        ("yarn.lock", yarn(repo)),
        ("bun.lock", "bun install --frozen-lockfile"),
        ("bun.lockb", "bun install --frozen-lockfile"),
    ];
    let mut locks = locks.into_iter();
    let (lock, command) = locks.find(|(lock, _)| repo.has(lock))?;
    let inputs = [lock, "package.json"];
    repo.has("package.json")
        .then(|| found(repo, command, &inputs, lock, Some("node_modules")))
}

/// Yarn 1 and later versions write different lock files, and name the option differently.
fn yarn(repo: &Look<'_>) -> &'static str {
    let text = repo.text("yarn.lock");
    if text.is_some_and(|text| text.contains("__metadata:")) {
        "yarn install --immutable"
    } else {
        "yarn install --frozen-lockfile"
    }
}

/// How Python's packages are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PythonTool {
    Uv,
    Poetry,
    /// `requirements.txt`, in a virtual environment.
    Pip,
}

impl PythonTool {
    pub(super) fn of(repo: &Look<'_>) -> Option<Self> {
        let evidence = [
            ("uv.lock", Self::Uv),
            ("poetry.lock", Self::Poetry),
            ("requirements.txt", Self::Pip),
        ];
        let mut evidence = evidence.into_iter();
        evidence.find(|(file, _)| repo.has(file)).map(|(_, it)| it)
    }

    /// The Python of the environment that the setup makes.
    pub(super) fn python(self) -> &'static str {
        match self {
            Self::Uv => "uv run --no-sync python",
            Self::Poetry => "poetry run python",
            Self::Pip => ".venv/bin/python",
        }
    }
}

fn python(repo: &Look<'_>) -> Option<FoundSetup> {
    let project = "pyproject.toml";
    match PythonTool::of(repo)? {
        PythonTool::Uv => {
            let text = repo.text(project).unwrap_or_default();
            let extras = text.contains("[project.optional-dependencies]");
            let command = if extras {
                "uv sync --locked --all-extras"
            } else {
                "uv sync --locked"
            };
            let inputs = ["uv.lock", project];
            Some(found(repo, command, &inputs, "uv.lock", Some(".venv")))
        }
        PythonTool::Poetry => {
            let command = "poetry install --no-interaction";
            let inputs = ["poetry.lock", project];
            Some(found(repo, command, &inputs, "poetry.lock", None))
        }
        PythonTool::Pip => Some(pip(repo)),
    }
}

/// A virtual environment that ignores itself: older versions of Python do not see to that.
fn pip(repo: &Look<'_>) -> FoundSetup {
    let names = ["requirements.txt", "requirements-dev.txt"];
    let files: Vec<&str> = names.into_iter().filter(|file| repo.has(file)).collect();
    let mut packages: Vec<String> = files.iter().map(|file| format!("-r {file}")).collect();
    let has_pytest = |file: &&str| repo.text(file).is_some_and(|text| text.contains("pytest"));
    if repo.pytest().is_some() && !files.iter().any(has_pytest) {
        packages.push("pytest".to_owned());
    }
    let command = format!(
        "python3 -m venv .venv && echo '*' > .venv/.gitignore && .venv/bin/python -m pip install \
        --quiet {}",
        packages.join(" ")
    );
    found(repo, &command, &files, files[0], None)
}

fn ruby(repo: &Look<'_>) -> Option<FoundSetup> {
    let lock = "Gemfile.lock";
    let command = "BUNDLE_FROZEN=true bundle install --quiet";
    repo.has(lock)
        .then(|| found(repo, command, &[lock, "Gemfile"], lock, None))
}

fn go(repo: &Look<'_>) -> Option<FoundSetup> {
    let sums = "go.sum";
    repo.has(sums)
        .then(|| found(repo, "go mod download", &[sums, "go.mod"], sums, None))
}

fn php(repo: &Look<'_>) -> Option<FoundSetup> {
    let lock = "composer.lock";
    let command = "composer install --no-interaction --no-progress";
    let inputs = [lock, "composer.json"];
    repo.has(lock)
        .then(|| found(repo, command, &inputs, lock, Some("vendor")))
}

fn found(
    repo: &Look<'_>,
    command: &str,
    inputs: &[&str],
    because: &str,
    writes: Option<&'static str>,
) -> FoundSetup {
    FoundSetup {
        command: command.to_owned(),
        inputs: inputs.iter().map(ToString::to_string).collect(),
        because: because.to_owned(),
        writes,
        runnable: repo.is_runnable(command),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use std::ffi::OsStr;
    use std::fs;

    use crate::config::init::detect::detect;

    fn proposed(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(dir.path().join(name), text).unwrap();
        }
        let found = detect(dir.path(), OsStr::new(""));
        let setup = found.setup.iter();
        (
            setup.clone().map(|it| it.command.clone()).collect(),
            setup.flat_map(|it| it.inputs.clone()).collect(),
            found.quality.into_iter().map(|it| it.command).collect(),
        )
    }

    /// These files give this setup, these inputs and this quality command.
    fn gives(files: &[(&str, &str)], setup: &str, inputs: &str, quality: &str) {
        let (commands, found, checks) = proposed(files);
        assert_eq!(commands.join("; "), setup, "{files:?}");
        assert_eq!(found.join(" "), inputs, "{files:?}");
        assert_eq!(checks.join("; "), quality, "{files:?}");
    }

    #[test]
    fn node_projects_install_what_their_lock_file_names() {
        let package = ("package.json", r#"{"scripts":{"test":"vitest run"}}"#);
        let berry = "__metadata:\n  version: 8\n";
        for (lock, text, setup, quality) in [
            ("package-lock.json", "", "npm ci", "npm test"),
            ("npm-shrinkwrap.json", "", "npm ci", "npm test"),
            (
                "pnpm-lock.yaml",
                "",
                "pnpm install --frozen-lockfile",
                "pnpm test",
            ),
            (
                "yarn.lock",
                "# yarn lockfile v1\n",
                "yarn install --frozen-lockfile",
                "yarn test",
            ),
            ("yarn.lock", berry, "yarn install --immutable", "yarn test"),
            (
                "bun.lock",
                "",
                "bun install --frozen-lockfile",
                "bun run test",
            ),
        ] {
            let inputs = format!("{lock} package.json");
            gives(&[package, (lock, text)], setup, &inputs, quality);
        }
    }

    #[test]
    fn python_projects_get_an_environment_and_are_checked_in_it() {
        let pytest = ("pytest.ini", "");
        let extras = (
            "pyproject.toml",
            "[project.optional-dependencies]\ntest = [\"pytest\"]\n",
        );
        let uv = ("uv.lock", "");
        let with_uv = "uv run --no-sync python -m pytest -q";
        let inputs = "uv.lock pyproject.toml";
        gives(&[pytest, uv], "uv sync --locked", inputs, with_uv);
        let all = "uv sync --locked --all-extras";
        gives(&[extras, uv], all, inputs, with_uv);
        gives(
            &[pytest, ("poetry.lock", "")],
            "poetry install --no-interaction",
            "poetry.lock pyproject.toml",
            "poetry run python -m pytest -q",
        );
        gives(
            &[("requirements.txt", "pytest\n")],
            "python3 -m venv .venv && echo '*' > .venv/.gitignore && .venv/bin/python -m pip \
            install --quiet -r requirements.txt",
            "requirements.txt",
            ".venv/bin/python -m pytest -q",
        );
    }

    #[test]
    fn other_projects_install_what_their_lock_file_names() {
        gives(
            &[("Gemfile", ""), ("Gemfile.lock", "")],
            "BUNDLE_FROZEN=true bundle install --quiet",
            "Gemfile.lock Gemfile",
            "",
        );
        gives(
            &[("go.mod", ""), ("go.sum", "")],
            "go mod download",
            "go.sum go.mod",
            "go test ./...",
        );
        gives(
            &[("composer.lock", ""), ("phpunit.xml", "")],
            "composer install --no-interaction --no-progress",
            "composer.lock composer.json",
            "vendor/bin/phpunit",
        );
        let cargo = [("Cargo.toml", ""), ("Cargo.lock", "")];
        gives(&cargo, "", "", "cargo test");
    }

    #[test]
    fn pytest_is_installed_where_the_requirements_do_not_name_it() {
        let files = [
            ("requirements.txt", "flask\n"),
            ("requirements-dev.txt", "ruff\n"),
            ("pytest.ini", ""),
        ];
        let (commands, inputs, _) = proposed(&files);
        let end = "pip install --quiet -r requirements.txt -r requirements-dev.txt pytest";
        assert!(commands[0].ends_with(end), "{commands:?}");
        assert_eq!(inputs, ["requirements.txt", "requirements-dev.txt"]);
    }

    #[test]
    fn without_a_lock_file_there_is_no_setup() {
        for files in [
            vec![],
            vec![("package.json", "{}")],
            vec![("package-lock.json", "{}")],
            vec![("go.mod", "")],
            vec![("pyproject.toml", "[project]")],
        ] {
            assert_eq!(proposed(&files).0, [""; 0], "{files:?}");
        }
    }
}
