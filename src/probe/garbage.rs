//! What a source file is replaced by.
//!
//! Invariant: pure. Polite garbage is valid where its language allows it and fails when it is
//! compiled or executed, so linters pass it. No parser accepts hard garbage: a line that begins
//! with a word or with `§` would be valid YAML.

use serde::{Deserialize, Serialize};

/// How bad the garbage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Manner {
    Polite,
    Hard,
}

const HARD: &str = "}§ canary ) ] ' \" ` <<< 0x\n";

/// The content that replaces the file, whose present content is `old`.
pub(super) fn garbage(path: &str, old: &[u8], manner: Manner) -> String {
    match manner {
        Manner::Polite => polite(path, old).unwrap_or_else(|| HARD.to_owned()),
        Manner::Hard => HARD.to_owned(),
    }
}

fn polite(path: &str, old: &[u8]) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((_, ending)) = name.rsplit_once('.') else {
        return script(&first_line(old));
    };
    Some(match ending {
        "py" => "raise SystemExit(\"canary\")\n".to_owned(),
        "js" | "mjs" | "cjs" | "jsx" => "throw new Error(\"canary\");\n".to_owned(),
        "ts" | "mts" | "cts" | "tsx" => {
            "const canary: number = \"canary\";\nthrow new Error(canary + \"\");\n".to_owned()
        }
        "rs" => "compile_error!(\"canary\");\n".to_owned(),
        "go" => format!("{}\n\nvar _ int = \"canary\"\n", package(old)?),
        "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" => "#error \"canary\"\n".to_owned(),
        "java" => "class Canary {\n    int canary = \"canary\";\n}\n".to_owned(),
        "sh" | "bash" | "zsh" | "ksh" => "exit 97\n".to_owned(),
        _ => return None,
    })
}

/// The clause without which a Go file cannot be parsed.
fn package(old: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(old);
    let clause = text.lines().find(|line| line.starts_with("package "));
    clause.map(str::to_owned)
}

fn first_line(old: &[u8]) -> String {
    let end = old.iter().position(|byte| *byte == b'\n');
    String::from_utf8_lossy(&old[..end.unwrap_or(old.len()).min(256)]).into_owned()
}

/// A program without an ending keeps its interpreter.
fn script(first: &str) -> Option<String> {
    let interpreter = first.strip_prefix("#!")?;
    let is = |name: &str| {
        let mut words = interpreter.split(['/', ' ']);
        words.any(|word| word.starts_with(name))
    };
    let body = if is("python") {
        "raise SystemExit(\"canary\")"
    } else if is("node") {
        "throw new Error(\"canary\");"
    } else if ["sh", "bash", "dash", "zsh", "ksh"].iter().any(|it| is(it)) {
        "exit 97"
    } else {
        return None;
    };
    Some(format!("{first}\n{body}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polite_garbage_is_valid_and_fails_when_it_is_used() {
        for (path, old, expected) in [
            ("a.py", "", "raise SystemExit(\"canary\")\n"),
            ("a.rs", "", "compile_error!(\"canary\");\n"),
            ("lib/x.sh", "#!/bin/sh\nrm -rf x\n", "exit 97\n"),
            (
                "bin/x",
                "#!/usr/bin/env bash\nls\n",
                "#!/usr/bin/env bash\nexit 97\n",
            ),
            (
                "u.go",
                "// Package uuid.\npackage uuid\nfunc A() {}\n",
                "package uuid\n\nvar _ int = \"canary\"\n",
            ),
            ("a.rb", "", HARD),
            ("bin/y", "#!/usr/bin/perl\n", HARD),
        ] {
            let got = garbage(path, old.as_bytes(), Manner::Polite);
            assert_eq!(got, expected, "{path}");
        }
    }

    #[test]
    fn hard_garbage_is_the_same_for_every_file() {
        assert_eq!(garbage("a.py", b"", Manner::Hard), HARD);
        assert_eq!(garbage("bin/x", b"#!/bin/sh\n", Manner::Hard), HARD);
    }
}
