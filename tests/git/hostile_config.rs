//! What an agent could put into the shared configuration, or leave running, and what it gets.

use std::fs;
use std::time::Duration;

use swarm::git::{GitError, KeepIgnored, LandOutcome, Repo, Settings, VERIFY};

use crate::fixture::{Fixture, environment, git, settings, try_git, write};
use crate::merging::merge;

/// Every program that git would start by itself, set to one that leaves a trace.
fn traps(fixture: &Fixture) -> std::path::PathBuf {
    let trap = fixture.dir.path().join("trap.sh");
    let trace = fixture.dir.path().join("sprung");
    fs::write(
        &trap,
        format!(
            "#!/bin/sh\necho \"$0 $@\" >>'{}'\nexit 0\n",
            trace.display()
        ),
    )
    .unwrap();
    let mut mode = fs::metadata(&trap).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    fs::set_permissions(&trap, mode).unwrap();
    let program = trap.to_str().unwrap();
    let hooks = fixture.dir.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    for hook in [
        "post-checkout",
        "pre-commit",
        "post-commit",
        "reference-transaction",
        "post-index-change",
        "post-merge",
        "pre-merge-commit",
        "commit-msg",
        "prepare-commit-msg",
    ] {
        fs::copy(&trap, hooks.join(hook)).unwrap();
        fs::copy(&trap, fixture.repo.common_dir().join("hooks").join(hook)).unwrap();
    }
    for (key, value) in [
        ("core.hooksPath", hooks.to_str().unwrap()),
        ("core.fsmonitor", program),
        ("core.pager", program),
        ("core.editor", program),
        ("core.sshCommand", program),
        ("core.askPass", program),
        ("sequence.editor", program),
        // Where signatures are wanted, this runs by design: see `signing`.
        ("gpg.program", program),
        ("log.showSignature", "true"),
        ("credential.helper", program),
        ("diff.external", program),
        ("alias.status", &format!("!{program}")),
        ("pager.status", program),
        ("submodule.recurse", "true"),
        ("rerere.enabled", "true"),
        ("merge.tool", program),
        ("status.showUntrackedFiles", "no"),
        ("core.quotePath", "true"),
        ("core.commentChar", "x"),
    ] {
        fixture.git(&["config", key, value]);
    }
    trace
}

#[test]
fn nothing_that_an_agent_configured_is_run() {
    let fixture = Fixture::new();
    let (path, _) = fixture.attempt(1, &[("src/b.txt", "agent\n")]);
    let trace = traps(&fixture);
    // Opened afterwards, so that even what is accepted as the repository's own is tried.
    let repo = Repo::open_with(&fixture.root(), settings(fixture.dir.path())).unwrap();
    write(&path, "left", "x");
    let seal = crate::commit_leftovers::want(&fixture, 1);
    let _ = fs::remove_file(&trace);
    repo.seal(&seal).unwrap();
    repo.inspect(&seal.name, seal.base, None).unwrap();
    let head = repo.branch_commit(&seal.branch).unwrap().unwrap();
    let commit = crate::merging::built(&repo.build_merge(&merge(head)).unwrap());
    repo.verify_tree(VERIFY, commit, &KeepIgnored::All).unwrap();
    let expected = repo.branch_commit("main").unwrap().unwrap();
    let want = swarm::git::Land {
        branch: "main".into(),
        expected,
        commit,
    };
    assert_eq!(repo.land(&want).unwrap(), LandOutcome::Landed);
    repo.start_resolution(&seal.name, &seal.branch, commit)
        .unwrap();
    repo.prepare_worktree(&swarm::git::Prepare {
        name: "ed-002-x".into(),
        branch: "agent/ed-002/x".into(),
        base: commit,
        from: None,
        saved: None,
        keep: KeepIgnored::All,
    })
    .unwrap();
    repo.drain_pool().unwrap();
    assert!(!trace.exists(), "{}", fs::read_to_string(&trace).unwrap());
}

#[test]
fn a_filter_that_turns_up_later_stops_every_call_with_its_name() {
    let fixture = Fixture::new();
    let trace = fixture.dir.path().join("sprung");
    fixture.git(&[
        "config",
        "filter.evil.smudge",
        &format!("touch '{}'; cat", trace.display()),
    ]);
    let refused = fixture.repo.prepare_worktree(&fixture.want(1));
    assert!(
        matches!(&refused, Err(GitError::ConfigChanged { key, .. }) if key == "filter.evil.smudge"),
        "{refused:?}"
    );
    assert!(!trace.exists());
    let trusted = Some(fixture.repo.programs());
    let again = Settings {
        trusted,
        ..settings(fixture.dir.path())
    };
    let again = Repo::open_with(&fixture.root(), again).unwrap();
    assert!(again.prepare_worktree(&fixture.want(1)).is_err());
    fixture.git(&["config", "--unset", "filter.evil.smudge"]);
    again.prepare_worktree(&fixture.want(1)).unwrap();
}

#[test]
fn the_repositorys_own_filter_works() {
    let fixture = Fixture::new();
    fixture.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    fixture.git(&["config", "filter.upper.smudge", "tr A-Z a-z"]);
    fixture.commit(&[
        (".gitattributes", "*.up filter=upper\n"),
        ("x.up", "text\n"),
    ]);
    let repo = Repo::open_with(&fixture.root(), settings(fixture.dir.path())).unwrap();
    let path = repo.prepare_worktree(&fixture.want(1)).unwrap().path;
    assert_eq!(fs::read_to_string(path.join("x.up")).unwrap(), "text\n");
    assert_eq!(fixture.git(&["show", "main:x.up"]), "TEXT");
}

#[test]
fn a_worktree_that_lost_its_pointer_never_leads_into_the_persons_checkout() {
    let fixture = Fixture::new();
    let path = fixture.prepare(1).path;
    write(&fixture.root(), "precious", "mine");
    fs::remove_file(path.join(".git")).unwrap();
    let release = swarm::git::Release {
        name: crate::fixture::name(1),
        branch: crate::fixture::branch(1),
        proof: swarm::git::Proof::Abandoned,
        identity: crate::fixture::identity(),
        time: crate::fixture::TIME,
        reuse: true,
    };
    fixture.repo.release_worktree(&release).unwrap();
    assert_eq!(crate::fixture::read(&fixture.root(), "precious"), "mine");
    assert_eq!(fixture.git(&["status", "--porcelain"]), "?? precious");
}

#[test]
fn a_git_that_outlives_its_daemon_is_seen() {
    let fixture = Fixture::new();
    assert!(fixture.repo.wait_for_orphans(Duration::ZERO).unwrap());
    let running = fixture.repo.common_dir().join("swarm/running");
    // What a git of ours does: hold the inherited lock until it ends.
    let lock = fs::File::open(&running).unwrap();
    lock.lock_shared().unwrap();
    let mut child = std::process::Command::new("cat")
        .env_clear()
        .envs(environment(fixture.dir.path()))
        .env("PATH", std::env::var_os("PATH").unwrap())
        .stdin(std::process::Stdio::piped())
        .stdout(lock)
        .spawn()
        .unwrap();
    assert!(
        !fixture
            .repo
            .wait_for_orphans(Duration::from_millis(50))
            .unwrap()
    );
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(
        fixture
            .repo
            .wait_for_orphans(Duration::from_secs(5))
            .unwrap()
    );
    assert!(try_git(&fixture.root(), &["status"]).status.success());
    git(&fixture.root(), &["status"]);
}

#[test]
fn attributes_of_the_repository_hide_no_line_from_a_review() {
    let fixture = Fixture::new();
    let files = [
        ("README", "hello\nbackdoor\n"),
        ("image", "\0one\n"),
        ("new.txt", "added\n"),
    ];
    let (_, tip) = fixture.attempt(1, &files);
    let honest = fixture.repo.preview_merge("main", tip).unwrap();
    write(&fixture.root(), ".git/info/attributes", "* -diff\n");
    let seen = fixture.repo.preview_merge("main", tip).unwrap();
    assert_eq!(seen.files, honest.files);
    let patch = String::from_utf8(seen.patch).unwrap();
    assert!(
        patch.contains("\n+backdoor\n") && patch.contains("\n+added\n"),
        "{patch}"
    );
    assert!(!patch.contains("+\0one"), "{patch}");
    assert_eq!(patch.matches("Binary files ").count(), 1, "{patch}");
    let commits = fixture.repo.preview_commits(None, tip).unwrap();
    assert_eq!(commits.patch, patch.as_bytes());
}
