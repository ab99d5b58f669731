//! Derives the setup of worktrees from the lock files and manifests of a repository, for `swarm
//! init`.
//!
//! Invariant: as in [`super::detect`]. A package manager that needs no setup (cargo) gets none.

use super::detect::Look;
use super::node::Node;
use super::python::PythonTool;

/// Ignored files that worktrees usually need.
pub const LOCAL_FILES: [&str; 2] = [".env", ".env.local"];

/// The folder of Python's environment. It ignores itself, so nobody commits it.
pub const VENV: &str = ".venv";

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
    let node = Node::of(repo)?;
    let command = node.install(repo)?;
    let (inputs, because) = (node.inputs(), node.evidence());
    Some(found(repo, command, &inputs, because, Some("node_modules")))
}

fn python(repo: &Look<'_>) -> Option<FoundSetup> {
    let (command, inputs, writes) = PythonTool::of(repo)?.install(repo);
    Some(found(repo, &command, &inputs, inputs[0], writes))
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
        let groups = "[dependency-groups]\ndev = [\"ruff\"]\ntest = [\"pytest\"]\n";
        let with_group = "uv sync --locked --group test";
        gives(
            &[("pyproject.toml", groups), uv],
            with_group,
            inputs,
            with_uv,
        );
        let stated = format!("{groups}[tool.uv]\ndefault-groups = [\"test\"]\n");
        let stated = ("pyproject.toml", stated.as_str());
        gives(&[stated, uv], "uv sync --locked", inputs, with_uv);
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
        let end = "-r requirements.txt -r requirements-dev.txt && .venv/bin/python -m pip install \
            --quiet pytest";
        assert!(commands[0].ends_with(end), "{commands:?}");
        assert_eq!(inputs, ["requirements.txt", "requirements-dev.txt"]);
    }

    /// A Python project without a lock file is installed as these words of pip say.
    fn installs(files: &[(&str, &str)], packages: &str, inputs: &str) {
        let before = "python3 -m venv .venv && echo '*' > .venv/.gitignore && .venv/bin/python -m \
            pip install --quiet ";
        let setup = format!("{before}{packages}");
        gives(files, &setup, inputs, ".venv/bin/python -m pytest -q");
    }

    #[test]
    fn a_python_package_without_a_lock_file_is_installed_with_what_its_tests_need() {
        let table = "[project]\nname = \"a\"\n[project.optional-dependencies]\ndocs = []\n\
            tests = [\n  \"pytest>=9\",\n]\n";
        let dotted = "[build-system]\n[project]\noptional-dependencies.test = [ \"pytest\" ]\n";
        let none = "[project]\nname = \"a\"\n[tool.pytest.ini_options]\n";
        let inputs = "pyproject.toml";
        installs(&[("pyproject.toml", table)], "-e '.[tests]'", inputs);
        installs(&[("pyproject.toml", dotted)], "-e '.[test]'", inputs);
        installs(&[("pyproject.toml", none)], "-e . pytest", inputs);
        let old = [("setup.py", ""), ("pytest.ini", "")];
        installs(&old, "-e . pytest", "setup.py");
        let both = [("pyproject.toml", none), ("requirements.txt", "flask\n")];
        let inputs = "requirements.txt pyproject.toml";
        let second = "-r requirements.txt && .venv/bin/python -m pip install --quiet -e . pytest";
        installs(&both, second, inputs);
    }

    #[test]
    fn a_group_of_dependencies_is_installed_by_a_pip_that_knows_groups() {
        let text = "[project]\n[dependency-groups]\ndev = [\"pytest\"]\n";
        let (commands, _, _) = proposed(&[("pyproject.toml", text)]);
        let end = "&& .venv/bin/python -m pip install --quiet --upgrade pip && .venv/bin/python \
            -m pip install --quiet -e . --group dev";
        assert!(commands[0].ends_with(end), "{commands:?}");
    }

    #[test]
    fn node_projects_without_a_lock_file_are_installed_without_writing_one() {
        let package = |more: &str| {
            format!(r#"{{"scripts":{{"test":"node --test"}},"devDependencies":{{"a":"1"}}{more}}}"#)
        };
        let workspaces = r#","workspaces":["packages/*"]"#;
        for (more, setup, inputs, quality) in [
            (
                "",
                "npm install --no-package-lock",
                "package.json",
                "npm test",
            ),
            (
                workspaces,
                "npm install --no-package-lock",
                "**/package.json",
                "npm test",
            ),
            (
                r#","packageManager":"pnpm@9.1.0""#,
                "pnpm install --no-lockfile",
                "package.json",
                "pnpm test",
            ),
            (
                r#","packageManager":"yarn@1.22.0""#,
                "yarn install --no-lockfile",
                "package.json",
                "yarn test",
            ),
        ] {
            let package = package(more);
            gives(&[("package.json", &package)], setup, inputs, quality);
        }
    }

    #[test]
    fn without_anything_to_install_there_is_no_setup() {
        for files in [
            vec![],
            vec![("package.json", "{}")],
            vec![("package-lock.json", "{}")],
            vec![("go.mod", "")],
            vec![("pyproject.toml", "[project]")],
            vec![("pyproject.toml", "[tool.pytest.ini_options]")],
        ] {
            assert_eq!(proposed(&files).0, [""; 0], "{files:?}");
        }
    }
}
