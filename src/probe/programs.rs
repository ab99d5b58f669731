//! What a command runs, by its words: a test runner, a linter, git's view of changes.
//!
//! Invariant: pure, and only a help for [`judge`](super::judge): an unknown program is neither.

const RUNNERS: &[&str] = &[
    "pytest", "py.test", "unittest", "tox", "nox", "jest", "vitest", "mocha", "ava", "bats",
    "ctest", "phpunit", "rspec",
];
/// Programs that test when one of their words says so.
const BUILDERS: &[&str] = &[
    "cargo", "go", "npm", "pnpm", "yarn", "bun", "deno", "mvn", "mvnw", "gradle", "gradlew",
    "dotnet", "swift", "mix", "make", "gmake", "just",
];
const READERS: &[&str] = &[
    "ruff",
    "black",
    "isort",
    "flake8",
    "pylint",
    "mypy",
    "pyright",
    "eslint",
    "prettier",
    "xo",
    "oxlint",
    "oxfmt",
    "biome",
    "stylelint",
    "yamllint",
    "shellcheck",
    "shfmt",
    "gofmt",
    "golangci-lint",
    "rustfmt",
    "clang-format",
    "markdownlint",
    "actionlint",
    "hadolint",
    "codespell",
    "ansible-lint",
    "buf",
    "checkov",
    "checkstyle",
    "commitlint",
    "cspell",
    "detekt",
    "dprint",
    "helm",
    "htmlhint",
    "kubeconform",
    "ktlint",
    "lychee",
    "markdownlint-cli2",
    "mkdocs",
    "nixfmt",
    "phpcs",
    "phpstan",
    "pre-commit",
    "psalm",
    "redocly",
    "remark",
    "rubocop",
    "semgrep",
    "spectral",
    "sqlfluff",
    "standard",
    "stylua",
    "swiftlint",
    "taplo",
    "terraform",
    "textlint",
    "tflint",
    "tofu",
    "typos",
    "vale",
    "typos",
];
/// Programs that run the one named after them.
const WRAPPERS: &[&str] = &[
    "env", "time", "nice", "exec", "npx", "bunx", "xvfb-run", "command",
];
/// The same with a word between.
const RUN_WRAPPERS: &[&str] = &["uv", "poetry", "pipenv", "hatch", "pdm", "bundle"];

/// Whether some part of the command is a known test runner.
pub(super) fn is_test_runner(command: &str) -> bool {
    parts(command).iter().any(|words| runs_tests(words))
}

/// Whether some part of the command is a known linter or formatter, and none a test runner.
pub(super) fn is_reader(command: &str) -> bool {
    let quotes = |c: char| "\"'`$()".contains(c);
    let mut words = command.split(|c: char| c.is_whitespace() || quotes(c));
    let named = words.any(|word| READERS.contains(&program(word)));
    let words: Vec<&str> = command.split_whitespace().collect();
    let formats = words.windows(2).any(|pair| pair == ["cargo", "fmt"]);
    (named || formats) && !is_test_runner(command)
}

/// Programs whose server does the work, and may have been started before anything was replaced.
const SERVERS: &[&str] = &[
    "bazel",
    "bazelisk",
    "buck2",
    "docker",
    "docker-compose",
    "dotnet",
    "gradle",
    "gradlew",
    "mvnd",
    "pants",
    "podman",
];

/// Whether a process outside the command's own may do its work.
pub(super) fn works_elsewhere(command: &str) -> bool {
    let mut words = command.split_whitespace();
    words.any(|word| SERVERS.contains(&program(word)))
}

/// Whether the command looks at uncommitted changes, so that garbage alone makes it fail.
pub(super) fn looks_at_changes(command: &str) -> bool {
    let words: Vec<&str> = command.split_whitespace().collect();
    words.windows(2).any(|pair| {
        let looks = pair[1].starts_with("diff") || pair[1].starts_with("status");
        pair[0].ends_with("git") && looks
    })
}

/// Whether the command is about Python.
pub(super) fn is_python(command: &str) -> bool {
    let python = ["pytest", "python", "tox", "nox", "unittest"];
    command
        .split_whitespace()
        .any(|word| python.iter().any(|it| program(word).starts_with(it)))
}

/// Whether the command is about Node.js.
pub(super) fn is_node(command: &str) -> bool {
    let node = [
        "node", "npm", "npx", "pnpm", "yarn", "jest", "vitest", "mocha", "ava",
    ];
    let mut words = command.split_whitespace();
    words.any(|word| node.contains(&program(word)))
}

fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The simple commands of a command, without variables and wrappers.
fn parts(command: &str) -> Vec<Vec<&str>> {
    let separated = command.split(['&', '|', ';', '\n', '(', ')']);
    let words = separated.map(|part| {
        let mut words: Vec<&str> = part.split_whitespace().collect();
        while let Some(first) = words.first().copied() {
            let is_assignment = first.contains('=') && !first.starts_with('-');
            if is_assignment || WRAPPERS.contains(&program(first)) {
                words.remove(0);
            } else if RUN_WRAPPERS.contains(&program(first)) && words.len() > 2 {
                words.drain(..2);
            } else {
                break;
            }
        }
        words
    });
    words.filter(|words| !words.is_empty()).collect()
}

fn runs_tests(words: &[&str]) -> bool {
    let (name, rest) = (program(words[0]), &words[1..]);
    let has = |word: &str| rest.contains(&word);
    if name.starts_with("python") {
        let module = rest.iter().skip_while(|word| **word != "-m").nth(1);
        return module.is_some_and(|module| RUNNERS.contains(module));
    }
    if name == "node" {
        return has("--test");
    }
    let says_test = rest
        .iter()
        .any(|word| ["test", "check", "t", "nextest", "verify"].contains(word));
    let is_dry = has("-n") || has("--dry-run") || has("--no-run");
    // `cargo check` compiles, and `deno check` too.
    let compiles = ["cargo", "deno"].contains(&name) && !has("test") && !has("nextest");
    RUNNERS.contains(&name) || BUILDERS.contains(&name) && says_test && !is_dry && !compiles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_runners_are_known_by_their_words() {
        for command in [
            "pytest -q",
            ".venv/bin/python -m pytest -q",
            "ruff check . && pytest",
            "CI=1 npx vitest run",
            "uv run pytest",
            "cd sub && npm test",
            "cargo nextest run",
            "cargo test --workspace",
            "node --test",
            "make check",
            "./gradlew test",
        ] {
            assert!(is_test_runner(command), "{command}");
        }
        for command in [
            "true",
            "make -n test",
            "npm audit",
            "cargo check",
            "node index.js",
            "ruff check .",
            "test -f x",
            "python calc.py --selftest",
        ] {
            assert!(!is_test_runner(command), "{command}");
        }
    }

    #[test]
    fn readers_are_known_by_their_words() {
        for command in [
            "ruff check .",
            "test -z \"$(gofmt -l .)\"",
            "cargo fmt --check",
            "npx eslint .",
        ] {
            assert!(is_reader(command), "{command}");
        }
        for command in ["ruff check . && pytest", "true", "npm test"] {
            assert!(!is_reader(command), "{command}");
        }
    }

    #[test]
    fn a_command_whose_server_may_do_the_work_is_known() {
        assert!(works_elsewhere("./gradlew test"));
        assert!(works_elsewhere("CI=1 docker compose run app pytest"));
        assert!(!works_elsewhere("pytest tests/docker_test.py"));
    }

    #[test]
    fn a_command_that_looks_at_changes_is_known() {
        assert!(looks_at_changes("make gen && git diff --exit-code"));
        assert!(looks_at_changes("test -z \"$(git status --porcelain)\""));
        assert!(!looks_at_changes("git log && diff a b"));
    }
}
