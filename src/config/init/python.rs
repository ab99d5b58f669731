//! How a Python project is installed and tested: by its lock file, else in a virtual environment
//! of its own, in which the project itself is installed too.
//!
//! The virtual environment ignores itself: older versions of Python do not see to that.

use super::detect::Look;
use super::setup::VENV;

/// Names of extras and dependency groups that hold what tests need, in order of preference.
const OF_TESTS: [&str; 4] = ["tests", "test", "testing", "dev"];

const PROJECT: &str = "pyproject.toml";

/// How Python's packages are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PythonTool {
    Uv,
    Poetry,
    /// A virtual environment.
    Pip,
}

impl PythonTool {
    /// `None` for a project that installs nothing.
    pub(super) fn of(repo: &Look<'_>) -> Option<Self> {
        if repo.has("uv.lock") {
            Some(Self::Uv)
        } else if repo.has("poetry.lock") {
            Some(Self::Poetry)
        } else {
            let installs = repo.has("requirements.txt") || is_package(repo);
            (installs && (repo.has("requirements.txt") || repo.pytest().is_some()))
                .then_some(Self::Pip)
        }
    }

    /// The Python of the environment that the setup makes.
    pub(super) fn python(self) -> &'static str {
        match self {
            Self::Uv => "uv run --no-sync python",
            Self::Poetry => "poetry run python",
            Self::Pip => ".venv/bin/python",
        }
    }

    /// The command that installs, the files that it depends on (the evidence first), and the
    /// folder that it fills and that git should ignore.
    pub(super) fn install(
        self,
        repo: &Look<'_>,
    ) -> (String, Vec<&'static str>, Option<&'static str>) {
        match self {
            Self::Uv => {
                let text = repo.text(PROJECT).unwrap_or_default();
                let all = if extras(&text).is_empty() {
                    ""
                } else {
                    " --all-extras"
                };
                let group = group_of_tests(&text);
                let group = group.map_or_else(String::new, |group| format!(" --group {group}"));
                let command = format!("uv sync --locked{all}{group}");
                (command, vec!["uv.lock", PROJECT], Some(VENV))
            }
            Self::Poetry => {
                let command = "poetry install --no-interaction".to_owned();
                (command, vec!["poetry.lock", PROJECT], None)
            }
            Self::Pip => pip(repo),
        }
    }
}

/// The group of dependencies that tests need and that uv leaves out: it installs `dev`, unless the
/// project says what it installs.
fn group_of_tests(pyproject: &str) -> Option<&'static str> {
    if keys_of(pyproject, "tool.uv").contains(&"default-groups".to_owned()) {
        return None;
    }
    let groups = keys_of(pyproject, "dependency-groups");
    let mut known = OF_TESTS.into_iter().filter(|known| *known != "dev");
    known.find(|known| groups.iter().any(|group| group == known))
}

/// Whether pip can install the project itself.
fn is_package(repo: &Look<'_>) -> bool {
    let tables = |text: &str| has_table(text, "project") || has_table(text, "build-system");
    repo.has("setup.py") || repo.text(PROJECT).is_some_and(|text| tables(&text))
}

fn pip(repo: &Look<'_>) -> (String, Vec<&'static str>, Option<&'static str>) {
    let text = repo.text(PROJECT).unwrap_or_default();
    let of = |names: Vec<String>| {
        let mut known = OF_TESTS.into_iter();
        known.find(|known| names.iter().any(|name| name == known))
    };
    let (extra, group) = (of(extras(&text)), of(keys_of(&text, "dependency-groups")));
    let requirements = ["requirements.txt", "requirements-dev.txt"];
    let files: Vec<&str> = requirements
        .into_iter()
        .filter(|file| repo.has(file))
        .collect();
    let in_file = |file: &&str| repo.text(file).is_some_and(|text| text.contains("pytest"));
    let in_files = files.iter().any(in_file);
    let in_extra = extra.or(group).is_some() && text.contains("\"pytest");
    let required: Vec<String> = files.iter().map(|file| format!("-r {file}")).collect();
    let mut packages = Vec::new();
    let mut inputs = files;
    if is_package(repo) {
        packages.push(extra.map_or("-e .".into(), |extra| format!("-e '.[{extra}]'")));
        let manifests = [PROJECT, "setup.py", "setup.cfg"];
        inputs.extend(manifests.into_iter().filter(|file| repo.has(file)));
    }
    packages.extend(group.map(|group| format!("--group {group}")));
    if repo.pytest().is_some() && !in_files && !in_extra {
        packages.push("pytest".to_owned());
    }
    // By themselves, because hashes there would be asked of everything else.
    let lists = [required.join(" "), packages.join(" ")];
    let lists = lists.iter().filter(|list| !list.is_empty());
    let installs = lists.map(|list| format!(".venv/bin/python -m pip install --quiet {list}"));
    // Groups need a pip that is newer than what most versions of Python bring.
    let newer = group.map_or(
        "",
        |_| ".venv/bin/python -m pip install --quiet --upgrade pip && ",
    );
    let command = format!(
        "python3 -m venv .venv && echo '*' > .venv/.gitignore && {newer}{}",
        installs.collect::<Vec<_>>().join(" && ")
    );
    (command, inputs, Some(VENV))
}

/// Names of the project's extras. TOML lets them stand in a table of their own, or with dots below
/// `[project]`.
fn extras(pyproject: &str) -> Vec<String> {
    let dotted = keys_of(pyproject, "project").into_iter();
    let dotted = dotted.filter_map(|key| {
        let name = key.strip_prefix("optional-dependencies.");
        name.map(str::to_owned)
    });
    keys_of(pyproject, "project.optional-dependencies")
        .into_iter()
        .chain(dotted)
        .collect()
}

fn has_table(toml: &str, table: &str) -> bool {
    toml.lines().any(|line| table_of(line) == Some(table))
}

/// Keys of a table of a TOML file, one a line. Reads no values, so it needs no parser: the lines of
/// a list begin with a quote or a bracket.
fn keys_of(toml: &str, table: &str) -> Vec<String> {
    let mut inside = false;
    let mut keys = Vec::new();
    for line in toml.lines() {
        if let Some(name) = table_of(line) {
            inside = name == table;
        } else if let Some((key, _)) = line.split_once('=').filter(|_| inside) {
            let key = key.trim();
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            if !key.is_empty() && key.chars().all(plain) {
                keys.push(key.to_owned());
            }
        }
    }
    keys
}

/// The name in `[name]`.
fn table_of(line: &str) -> Option<&str> {
    let line = line.trim_end();
    let name = line.strip_prefix('[')?.split(']').next()?;
    let header = line.contains(']') && !name.starts_with('[') && !name.contains('"');
    header.then(|| name.trim())
}
