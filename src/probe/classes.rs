//! The class of a tracked file, by its path: only files of the class source are replaced by
//! garbage.
//!
//! Invariant: pure. What decides whether a check passes without executing the tree (tests, tool
//! settings, manifests) is never source, because garbage in it makes every check fail.

use serde::{Deserialize, Serialize};

/// What a tracked file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Code that the project is made of.
    Source,
    /// Tests and their data.
    Test,
    /// What the checks run or read as their settings.
    Gate,
    /// Pipelines of a forge.
    Ci,
    /// What names the project's dependencies.
    Manifest,
    /// The exact versions of dependencies.
    Lock,
    /// Data and settings.
    Config,
    /// Terms of use.
    Licence,
    /// Text for people, and everything that no other class has.
    Docs,
}

const CI: &[&str] = &[".github/", ".gitlab/", ".circleci/", ".buildkite/"];
const CI_FILES: &[&str] = &[
    ".gitlab-ci.yml",
    ".travis.yml",
    "azure-pipelines.yml",
    "jenkinsfile",
    "appveyor.yml",
];
const LOCKS: &[&str] = &[
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "cargo.lock",
    "go.sum",
    "go.work.sum",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "pipfile.lock",
    "gemfile.lock",
    "composer.lock",
    "mix.lock",
    "flake.lock",
    "deno.lock",
];
const MANIFESTS: &[&str] = &[
    "package.json",
    "pnpm-workspace.yaml",
    "deno.json",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "pipfile",
    "cargo.toml",
    "go.mod",
    "go.work",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gemfile",
    "composer.json",
    "mix.exs",
    "package.swift",
    "meson.build",
    "build.zig",
];
const GATES: &[&str] = &[
    "makefile",
    "gnumakefile",
    "justfile",
    "rakefile",
    "dockerfile",
    "cmakelists.txt",
    "configure",
    "configure.ac",
    "conftest.py",
    "noxfile.py",
    "tasks.py",
    "tox.ini",
    "pytest.ini",
    "gulpfile.js",
    "gruntfile.js",
    "rustfmt.toml",
    "clippy.toml",
    "build.rs",
    "gradlew",
    "mvnw",
    ".gitattributes",
    ".gitmodules",
];
const LICENCES: &[&str] = &["license", "licence", "copying", "notice", "unlicense"];
const TEST_FOLDERS: &[&str] = &[
    "test",
    "tests",
    "__tests__",
    "spec",
    "specs",
    "testdata",
    "fixtures",
    "e2e",
    "test-d",
    "__snapshots__",
];
/// Folders whose shell scripts run the checks.
const SCRIPT_FOLDERS: &[&str] = &["scripts", "script", "ci", "tools", "hack"];
const DOC_FOLDERS: &[&str] = &["docs", "doc"];
const SHELL: &[&str] = &["sh", "bash", "zsh", "ksh"];
/// Endings of code. Whatever else has an ending is settings or text.
const SOURCE: &[&str] = &[
    "py", "pyx", "pyi", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte",
    "rs", "go", "c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "m", "mm", "s", "asm", "java",
    "kt", "kts", "scala", "groovy", "clj", "cljs", "cs", "fs", "vb", "swift", "dart", "rb", "php",
    "pl", "pm", "lua", "r", "jl", "ex", "exs", "erl", "hrl", "hs", "ml", "mli", "elm", "zig",
    "nim", "d", "f90", "pas", "el", "lisp", "scm", "vim", "fish", "sql", "proto", "graphql", "css",
    "scss", "less", "html",
];
const CONFIG: &[&str] = &[
    "json",
    "jsonc",
    "json5",
    "yaml",
    "yml",
    "toml",
    "ini",
    "cfg",
    "conf",
    "xml",
    "properties",
    "env",
    "tsbuildinfo",
];

/// The class of a file by its path in the repository. `runs_itself`: it begins with `#!`, which
/// only matters where its name has no ending.
pub fn class_of(path: &str, runs_itself: bool) -> Class {
    let lower = path.to_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let in_folder = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, Some(ending)),
        Some(_) | None => (name, None),
    };
    let is_any = |names: &[&str]| names.contains(&name);
    if CI.iter().any(|folder| lower.starts_with(folder)) || is_any(CI_FILES) {
        Class::Ci
    } else if is_any(LOCKS) {
        Class::Lock
    } else if is_any(MANIFESTS) || name.starts_with("requirements") && ending == Some("txt") {
        Class::Manifest
    } else if is_licence(name) && ending.is_none_or(|it| !SOURCE.contains(&it)) {
        Class::Licence
    } else if is_gate(folders, name, ending) || is_script(ending) && in_folder(SCRIPT_FOLDERS) {
        Class::Gate
    } else if in_folder(TEST_FOLDERS) || is_test(stem, ending) {
        Class::Test
    } else if in_folder(DOC_FOLDERS) {
        Class::Docs
    } else {
        by_ending(name, ending, runs_itself)
    }
}

fn by_ending(name: &str, ending: Option<&str>, runs_itself: bool) -> Class {
    match ending {
        Some(ending) if SOURCE.contains(&ending) || SHELL.contains(&ending) => Class::Source,
        Some(ending) if CONFIG.contains(&ending) => Class::Config,
        None if name.starts_with('.') => Class::Config,
        None if runs_itself => Class::Source,
        Some(_) | None => Class::Docs,
    }
}

fn is_licence(name: &str) -> bool {
    LICENCES.iter().any(|word| name.starts_with(word))
}

fn is_script(ending: Option<&str>) -> bool {
    ending.is_some_and(|ending| SHELL.contains(&ending))
}

fn is_gate(folders: &str, name: &str, ending: Option<&str>) -> bool {
    let is_settings = name.contains(".config.") || name.starts_with(".eslintrc");
    let builds = ["mk", "cmake", "am", "in", "csproj", "gemspec"];
    let is_build_probe = folders == "build" && ending == Some("rs");
    GATES.contains(&name)
        || is_settings
        || is_build_probe
        || ending.is_some_and(|ending| builds.contains(&ending))
        || folders.split('/').next() == Some(".cargo")
        || folders.split('/').any(|folder| folder == ".husky")
}

/// Whether the name is that of a test: `test_a.py`, `a_test.go`, `a.test.ts`, `a.test-d.ts`,
/// `ATest.java`, `a_spec.rb`, `a.bats`.
fn is_test(stem: &str, ending: Option<&str>) -> bool {
    let Some(ending) = ending else {
        return false;
    };
    let is_code = SOURCE.contains(&ending) || SHELL.contains(&ending);
    let words = ["test", "tests", "spec", "test-d"];
    let last = stem.rsplit(['.', '_', '-']).next().unwrap_or(stem);
    let is_jvm = ["java", "kt", "scala", "groovy", "cs"].contains(&ending)
        && (stem.ends_with("test") || stem.ends_with("tests") || stem.ends_with("spec"));
    ending == "bats"
        || ending == "snap"
        || is_code
            && (words.contains(&last)
                || stem.ends_with(".test-d")
                || stem.starts_with("test_")
                || stem.starts_with("test-")
                || is_jvm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_once_taken_for_source_have_their_own_class() {
        for (path, class) in [
            ("license", Class::Licence),
            ("CONTRIBUTORS", Class::Docs),
            ("INDEX", Class::Docs),
            ("index.test-d.ts", Class::Test),
            ("build/probe.rs", Class::Gate),
            ("tasks/main.yml", Class::Config),
            ("docs/conf.py", Class::Docs),
        ] {
            assert_eq!(class_of(path, false), class, "{path}");
        }
    }

    #[test]
    fn each_class_has_its_files() {
        for (path, class) in [
            ("src/calc/add.py", Class::Source),
            ("index.js", Class::Source),
            ("calc.py", Class::Source),
            ("index.d.ts", Class::Source),
            ("examples/demo.rs", Class::Source),
            ("fuzz/fuzz_targets/parse.rs", Class::Source),
            ("libexec/rbenv-init.sh", Class::Source),
            ("src/license.rs", Class::Source),
            ("latest.js", Class::Source),
            ("src/contest.c", Class::Source),
            ("tests/test_calc.py", Class::Test),
            ("pkg/uuid_test.go", Class::Test),
            ("test_parse.py", Class::Test),
            ("src/a.spec.ts", Class::Test),
            ("src/test/java/CalcTest.java", Class::Test),
            ("spec/models/user_spec.rb", Class::Test),
            ("test.js", Class::Test),
            ("init.bats", Class::Test),
            ("Makefile", Class::Gate),
            ("scripts/check.sh", Class::Gate),
            ("eslint.config.js", Class::Gate),
            ("tests/conftest.py", Class::Gate),
            ("build.rs", Class::Gate),
            (".github/workflows/ci.yml", Class::Ci),
            ("pyproject.toml", Class::Manifest),
            ("crates/a/Cargo.toml", Class::Manifest),
            ("requirements-dev.txt", Class::Manifest),
            ("web/package-lock.json", Class::Lock),
            ("settings/base.yaml", Class::Config),
            (".editorconfig", Class::Config),
            ("LICENSE-MIT", Class::Licence),
            ("README.md", Class::Docs),
            ("notes.txt", Class::Docs),
        ] {
            assert_eq!(class_of(path, false), class, "{path}");
        }
    }

    #[test]
    fn a_file_without_an_ending_is_source_only_if_it_runs_itself() {
        assert_eq!(class_of("bin/tool", false), Class::Docs);
        assert_eq!(class_of("bin/tool", true), Class::Source);
    }
}
