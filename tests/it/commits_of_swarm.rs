//! Swarm's own commits: whose name they carry, how they are signed, which hooks they skip.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::Sandbox;
use crate::harness::required_tools::are_missing;

/// A swarm in a repository that signs with an ssh key that needs no passphrase.
fn with_ssh_key() -> Sandbox {
    let sandbox = Sandbox::new();
    let key = sandbox.path("home/key");
    let mut make = sandbox.command("ssh-keygen");
    make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key);
    sandbox.run(&mut make, b"", crate::harness::PATIENCE).ok();
    let public = std::fs::read_to_string(sandbox.path("home/key.pub")).unwrap();
    let signers = sandbox.path("home/signers");
    std::fs::write(&signers, format!("* {public}")).unwrap();
    for (name, value) in [
        ("gpg.format", "ssh"),
        ("user.signingKey", key.to_str().unwrap()),
        ("gpg.ssh.allowedSignersFile", signers.to_str().unwrap()),
        ("commit.gpgSign", "true"),
    ] {
        sandbox.git(&["config", name, value]);
    }
    sandbox
}

#[test]
fn a_landing_is_signed_as_the_persons_commits_are_or_nothing_lands() {
    if are_missing(&["ssh"]) {
        return;
    }
    let sandbox = with_ssh_key();
    let init = sandbox.swarm(&["init", "--yes", "--agent", "command", "--", "true"]);
    assert!(
        init.to_string().contains("signs its own with the same key"),
        "{init}"
    );
    sandbox.configure(&serde_json::json!({}));
    sandbox.idea("write new.txt one; commit; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    let merge = sandbox.git(&["log", "-1", "--format=%G? %s"]);
    assert!(merge.starts_with("G Merge idea-001"), "{merge}");

    std::fs::rename(sandbox.path("home/key"), sandbox.path("home/away")).unwrap();
    std::fs::rename(sandbox.path("home/key.pub"), sandbox.path("home/away.pub")).unwrap();
    sandbox.idea("write more.txt two; say COMPLETE");
    let start = ["start", "--until-idle", "--plain", "--no-web"];
    sandbox
        .swarm(&start)
        .refused(1, &["commit.gpgSign", "swarm config set merge.sign never"]);
    let doctor = sandbox.swarm(&["doctor"]);
    assert!(
        doctor.code == 1 && doctor.to_string().contains("commit.gpgSign"),
        "{doctor}"
    );
    sandbox
        .swarm(&["config", "set", "merge.sign", "never"])
        .ok();
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%G?"]).trim(), "N");
}

#[test]
fn a_start_refuses_to_make_up_an_identity_that_git_may_not_make_up() {
    let sandbox = Sandbox::ready();
    let doctor = sandbox.swarm(&["doctor"]);
    assert!(
        doctor.to_string().contains("git config user.name NAME"),
        "{doctor}"
    );
    sandbox.git(&["config", "user.useConfigOnly", "true"]);
    sandbox.idea("write new.txt one; commit; say COMPLETE");
    let start = ["start", "--until-idle", "--plain", "--no-web"];
    sandbox
        .swarm(&start)
        .refused(1, &["user.useConfigOnly", "git config user.email ADDRESS"]);
    assert_eq!(sandbox.idea_status("idea-001"), "pending");
    sandbox.git(&["config", "user.name", "Ann"]);
    sandbox.git(&["config", "user.email", "ann@example.org"]);
    assert_eq!(sandbox.run_until_idle(), 0);
    let author = sandbox.git(&["log", "-1", "--format=%an %ae"]);
    assert_eq!(author.trim(), "Ann ann@example.org");
}

#[test]
fn init_names_the_hooks_that_swarms_commits_skip() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "core.hooksPath", ".husky"]);
    sandbox.write(".husky/pre-commit", "#!/bin/sh\n");
    sandbox.write(".husky/commit-msg", "not executable\n");
    let chmod = sandbox.shell("chmod +x .husky/pre-commit");
    chmod.ok();
    let init = sandbox.swarm(&["init", "--yes", "--agent", "command", "--", "true"]);
    assert!(
        init.to_string()
            .contains("hooks of this repository (pre-commit);"),
        "{init}"
    );
    assert!(!init.to_string().contains("ignores their folder"), "{init}");
    // As husky 9 keeps them.
    sandbox.write(".husky/.gitignore", "*\n");
    let doctor = sandbox.swarm(&["doctor"]);
    let told = "Git ignores their folder .husky";
    assert!(doctor.to_string().contains(told), "{doctor}");
}

#[test]
fn a_key_that_is_lost_while_ideas_run_holds_the_landing_until_it_is_back() {
    if are_missing(&["ssh"]) {
        return;
    }
    let sandbox = with_ssh_key();
    sandbox.set_up();
    sandbox.idea("write new.txt one; commit; hold it; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    std::fs::rename(sandbox.path("home/key"), sandbox.path("home/away")).unwrap();
    sandbox.release("it");
    sandbox.wait_for("status names the key", || {
        let status = sandbox.swarm(&["status"]);
        status.stdout.contains("commit.gpgSign").then_some(())
    });
    let before = sandbox.head("main");
    std::fs::rename(sandbox.path("home/away"), sandbox.path("home/key")).unwrap();
    sandbox.swarm(&["merge", "retry", "idea-001"]).ok();
    sandbox.wait_idea("idea-001", "done");
    daemon.stop();
    assert_ne!(sandbox.head("main"), before);
    let merge = sandbox.git(&["log", "-1", "--format=%G? %s"]);
    assert!(merge.starts_with("G Merge idea-001"), "{merge}");
}

/// A hook of the repository.
fn hook(sandbox: &Sandbox, name: &str, script: &str) {
    let file = sandbox.repo().join(".git/hooks").join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&file, mode).unwrap();
}

#[test]
fn leftovers_that_a_commit_hook_rejects_go_back_to_the_agent() {
    let sandbox = Sandbox::ready();
    // It looks at what is staged, as hooks do, and at the message.
    hook(
        &sandbox,
        "pre-commit",
        "! git diff --cached | grep '^+bad' || { echo no bad lines; exit 1; }",
    );
    hook(&sandbox, "commit-msg", "grep -q idea-001 \"$1\"");
    sandbox
        .idea("if iteration 1; then write new.txt bad; else write new.txt good; fi; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.file_at("main", "new.txt"), "good");
    let failed = sandbox.logged("gateFailed");
    assert_eq!(failed.len(), 1, "{failed:?}");
}

#[test]
fn a_commit_hook_that_mends_files_costs_no_iteration() {
    let sandbox = Sandbox::ready();
    let mends =
        "grep -q ugly new.txt || exit 0; echo pretty >new.txt; echo files were changed; exit 1";
    hook(&sandbox, "pre-commit", mends);
    sandbox.idea("write new.txt ugly; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.file_at("main", "new.txt"), "pretty");
    assert_eq!(sandbox.logged("iterationStarted").len(), 1);
    let landed = sandbox.head("main");
    // What the hooks were shown leaves nothing behind.
    sandbox.assert_repository_clean();
    hook(&sandbox, "pre-commit", "exit 1");
    sandbox
        .swarm(&["config", "set", "merge.commitHooks", "false"])
        .ok();
    sandbox.idea("write more.txt more; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_ne!(sandbox.head("main"), landed);
}

/// The folder of husky, lefthook and pre-commit: `SWARM_HOOK_MANAGERS`, else installed now.
fn hook_managers() -> PathBuf {
    std::env::var_os("SWARM_HOOK_MANAGERS").map_or_else(installed, PathBuf::from)
}

fn installed() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("hook-managers");
    let mut install = Command::new(root.join("tests/it/install_hook_managers.sh"));
    install.arg(&place).stdin(Stdio::null());
    let done = install.stderr(Stdio::inherit()).output().unwrap();
    assert!(done.status.success(), "{install:?}: {}", done.status);
    String::from_utf8(done.stdout).unwrap().trim_end().into()
}

/// The hook that `install` sets up, from files of the repository, rejects bad leftovers once.
fn rejects_bad_leftovers(manager: &str, install: &[&str], files: &[(&str, &str)]) {
    let sandbox = Sandbox::ready();
    let bin = hook_managers();
    let program = bin.join(manager);
    for (name, text) in files {
        sandbox.write(name, text);
    }
    sandbox.commit("Add hooks");
    let run = |program: &Path| {
        let mut command = sandbox.command(program);
        sandbox
            .run(command.args(install), b"", crate::harness::PATIENCE)
            .ok();
    };
    run(&program);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let setup = format!("{} {}", program.display(), install.join(" "));
    sandbox.configure(&serde_json::json!({
        "worktree": {"setup": [setup], "env": {"LEFTHOOK_BIN": program, "PATH": path}},
    }));
    sandbox
        .idea("if iteration 1; then write new.txt bad; else write new.txt good; fi; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.file_at("main", "new.txt"), "good");
    assert_eq!(sandbox.logged("gateFailed").len(), 1, "{manager}");
}

#[test]
fn husky_rejects_leftovers() {
    if are_missing(&["npm", "python3"]) {
        return;
    }
    rejects_bad_leftovers(
        "husky",
        &[],
        &[(".husky/pre-commit", "! grep -q bad new.txt\n")],
    );
}

#[test]
fn lefthook_rejects_leftovers() {
    if are_missing(&["npm", "python3"]) {
        return;
    }
    let config = "pre-commit:\n  commands:\n    bad:\n      run: '! grep -q bad {staged_files}'\n";
    rejects_bad_leftovers("lefthook", &["install"], &[("lefthook.yml", config)]);
}

#[test]
fn pre_commit_rejects_leftovers() {
    if are_missing(&["npm", "python3"]) {
        return;
    }
    let config = "repos:\n- repo: local\n  hooks:\n  - id: bad\n    name: bad\n    \
                  language: pygrep\n    entry: bad\n    files: new.txt\n";
    rejects_bad_leftovers(
        "pre-commit",
        &["install"],
        &[(".pre-commit-config.yaml", config)],
    );
}
