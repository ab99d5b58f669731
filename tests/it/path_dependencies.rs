//! Projects that depend on a folder beside their checkout, made ready by `swarm init` alone: their
//! checks find it from a worktree, with the real package managers. And programs that trust files
//! by their path.

use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::harness::Sandbox;
use crate::harness::required_tools::are_missing;

/// Long enough for compilers on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// Lets the toolchains of whoever runs the tests be found.
fn passed(command: &mut Command) -> &mut Command {
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let of_home = || Some(std::env::home_dir()?.join(folder).into());
        if let Some(value) = std::env::var_os(name).or_else(of_home) {
            command.env(name, value);
        }
    }
    command
}

/// A project with `other` beside it, on which it depends. `lock` writes its lock file.
fn project(files: &[(&str, &str)], lock: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "/target\n/node_modules\n");
    for (name, content) in files {
        sandbox.write(name, content);
    }
    let mut shell = sandbox.command("sh");
    passed(&mut shell).args(["-ec", lock]);
    sandbox.run(&mut shell, b"", LIMIT).ok();
    sandbox.commit("A project");
    sandbox
}

/// Sets swarm up; returns what it said.
fn init(sandbox: &Sandbox) -> String {
    let agent = format!(
        "OUT='{}' exec sh '{}'",
        sandbox.path("out").display(),
        sandbox.path("agent.sh").display()
    );
    let args = ["init", "--yes", "--agent", "command", "--", "sh", "-c"];
    let mut init = sandbox.swarm_command(&args);
    let ran = sandbox.run(passed(init.arg(agent)), b"", LIMIT);
    ran.ok();
    sandbox.commit("Set up swarm");
    ran.stderr
}

/// Lands one idea, with the checks that `init` found.
fn land(sandbox: &Sandbox, file: &str) {
    let idea = sandbox.idea(&format!("write {file} x; say COMPLETE"));
    let mut start = sandbox.swarm_command(&["start", "--no-web", "--until-idle"]);
    let ran = sandbox.run(passed(&mut start), b"", LIMIT);
    let ideas = sandbox.ideas();
    let landed = ideas
        .iter()
        .any(|it| it["id"] == idea.as_str() && it["status"] == "done");
    assert!(landed, "{ran}\n{ideas:#?}");
}

#[test]
fn cargo_finds_a_crate_beside_the_checkout_and_the_link_is_taken_for_no_worktree() {
    if are_missing(&["cargo"]) {
        return;
    }
    let sandbox = project(
        &[
            ("../other/Cargo.toml", "[package]\nname = \"other\"\n"),
            ("../other/src/lib.rs", "pub fn two() -> u8 {\n    2\n}\n"),
            (
                "Cargo.toml",
                "[workspace]\nmembers = [\"a\"]\nresolver = \"2\"\n",
            ),
            (
                "a/Cargo.toml",
                "[package]\nname = \"a\"\n[dependencies]\nother = { path = \"../../other\" }\n",
            ),
            (
                "a/src/lib.rs",
                "#[test]\nfn two() {\n    assert_eq!(other::two(), 2);\n}\n",
            ),
        ],
        "cargo generate-lockfile --offline",
    );
    let said = init(&sandbox);
    let link = "set up by       ln -sfn \"$SWARM_REPO/../other\" ../other  (from a path in a/Cargo";
    assert!(said.contains(link), "{said}");
    land(&sandbox, "a.txt");
    let beside = sandbox.worktrees().join("other");
    let there = fs::canonicalize(sandbox.path("other")).unwrap();
    assert_eq!(fs::canonicalize(&beside).unwrap(), there);
    sandbox.swarm(&["clean"]).ok();
    land(&sandbox, "b.txt");
    assert_eq!(fs::canonicalize(&beside).unwrap(), there);
}

#[test]
fn go_finds_a_module_beside_the_checkout() {
    if are_missing(&["go"]) {
        return;
    }
    let sandbox = project(
        &[
            ("../other/go.mod", "module example.org/other\n\ngo 1.18\n"),
            (
                "../other/o.go",
                "package other\n\nfunc Two() int { return 2 }\n",
            ),
            (
                "go.mod",
                "module example.org/a\n\ngo 1.18\n\nrequire example.org/other v0.0.0\n\n\
                replace example.org/other => ../other\n",
            ),
            (
                "a.go",
                "package a\n\nimport \"example.org/other\"\n\nvar Two = other.Two()\n",
            ),
        ],
        "go build ./...",
    );
    init(&sandbox);
    // A test would compile much of the standard library.
    let build = ["config", "set", "qualityCommands", "[\"go build ./...\"]"];
    sandbox.swarm(&build).ok();
    land(&sandbox, "a.txt");
}

#[test]
fn npm_finds_a_package_beside_the_checkout() {
    if are_missing(&["npm"]) {
        return;
    }
    let other = r#"{"name": "other", "version": "1.0.0", "main": "index.js"}"#;
    let package = r#"{"name": "a", "dependencies": {"other": "file:../other"},
        "scripts": {"test": "node test.js"}}"#;
    let sandbox = project(
        &[
            ("../other/package.json", other),
            ("../other/index.js", "exports.two = 2;\n"),
            ("package.json", package),
            (
                "test.js",
                "require(\"assert\").equal(require(\"other\").two, 2);\n",
            ),
        ],
        "npm install --offline --no-audit --no-fund",
    );
    init(&sandbox);
    land(&sandbox, "a.txt");
}

#[test]
fn init_says_how_to_trust_the_folder_of_the_worktrees_and_what_it_does_not_link() {
    let sandbox = project(
        &[
            ("mise.toml", "[env]\nA = \"1\"\n"),
            (".envrc", "export B=1\n"),
            (".tool-versions", "nodejs 20.0.0\n"),
        ],
        "true",
    );
    // Two folders up, and down again.
    let above = fs::canonicalize(sandbox.path("")).unwrap();
    let name = above.file_name().unwrap().to_str().unwrap();
    let further = format!("o = {{ path = \"../../{name}/home\" }}\n");
    sandbox.write("Cargo.toml", &further);
    let said = init(&sandbox);
    let folder = sandbox.worktrees();
    let link = folder.parent().unwrap().join(name);
    let folder = folder.display();
    for words in [
        format!("mise settings add trusted_config_paths '{folder}'"),
        format!("[whitelist] prefix = [\"{folder}\"]"),
        format!("Link it: ln -s '{}' '{}'", above.display(), link.display()),
    ] {
        let lines = said.lines().filter(|line| line.contains(&words));
        assert_eq!(lines.count(), 1, "{words}: {said}");
    }
    assert!(!said.contains("tool-versions"), "{said}");
    assert!(!said.contains("ln -sfn"), "{said}");
}
