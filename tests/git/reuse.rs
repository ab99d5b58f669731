//! One path for several ideas: what the next one finds in a worktree, and what it never does.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use swarm::git::{
    CONTROL, Earlier, FreshStart, KeepIgnored, Prepare, Prepared, Proof, Release, Saved, VERIFY,
    rescue_ref,
};

use crate::fixture::{Fixture, TIME, branch, commit_in, git, identity, name, read, try_git, write};
use crate::worktrees;

const W01: &str = "w01";

fn want(fixture: &Fixture, number: u32) -> Prepare {
    Prepare {
        name: W01.into(),
        ..fixture.want(number)
    }
}

fn prepare(fixture: &Fixture, number: u32) -> Prepared {
    let want = want(fixture, number);
    fixture.repo.prepare_worktree(&want).unwrap()
}

/// Prepared, and a run has begun in it.
fn used(fixture: &Fixture, number: u32) -> PathBuf {
    let path = prepare(fixture, number).path;
    fixture.repo.note_use(W01).unwrap();
    path
}

fn release(fixture: &Fixture, number: u32) {
    let want = Release {
        name: W01.into(),
        branch: branch(number),
        proof: Proof::Abandoned,
        identity: identity(),
        time: TIME,
        reuse: true,
    };
    fixture.repo.release_worktree(&want).unwrap();
}

fn rescued(fixture: &Fixture, number: u32, file: &str) -> String {
    fixture.git(&["show", &format!("{}:{file}", rescue_ref(&name(number)))])
}

fn nothing_but_ignored_files(path: &Path) {
    assert_eq!(git(path, &["status", "--porcelain"]), "");
}

#[test]
fn ignored_files_that_a_full_disk_may_have_cut_off_go_and_work_stays() {
    let fixture = Fixture::new();
    let path = used(&fixture, 1);
    write(&path, "ignored/build", "half of it");
    write(&path, "untracked", "work");
    write(&path, "README", "changed\n");
    fixture.repo.drop_ignored(W01).unwrap();
    assert!(!path.join("ignored").exists());
    assert_eq!(read(&path, "untracked"), "work");
    assert_eq!(read(&path, "README"), "changed\n");
    assert!(!prepare(&fixture, 1).warm, "its setup runs again");
}

#[test]
fn the_next_idea_finds_ignored_files_at_the_same_path() {
    let fixture = Fixture::new();
    let first = prepare(&fixture, 1);
    assert!(!first.warm);
    fixture.repo.note_use(W01).unwrap();
    write(&first.path, "ignored/build", "object files");
    write(&first.path, "untracked/deep/file", "u");
    write(&first.path, "README", "changed\n");
    fs::create_dir_all(first.path.join("empty/inner")).unwrap();
    let built = fs::metadata(first.path.join("src/a.txt")).unwrap();
    release(&fixture, 1);
    let second = prepare(&fixture, 2);
    assert!(second.warm);
    assert_eq!(second.path, first.path);
    assert_eq!(read(&second.path, "ignored/build"), "object files");
    assert_eq!(read(&second.path, "README"), "hello\n");
    let same = fs::metadata(second.path.join("src/a.txt")).unwrap();
    assert_eq!((same.mtime(), same.ino()), (built.mtime(), built.ino()));
    for gone in ["untracked", "empty"] {
        assert!(!second.path.join(gone).exists(), "{gone}");
    }
    assert_eq!(rescued(&fixture, 1, "untracked/deep/file"), "u");
    assert_eq!(rescued(&fixture, 1, "README"), "changed");
    fixture.check();
}

#[test]
fn a_worktree_is_cold_until_a_run_has_begun_in_it() {
    let fixture = Fixture::new();
    assert!(!prepare(&fixture, 1).warm);
    assert!(!prepare(&fixture, 1).warm, "asked again");
    // Its attempt ended before anything ran, and perhaps before the log had the outcome.
    release(&fixture, 1);
    assert!(!prepare(&fixture, 2).warm);
    fixture.repo.note_use(W01).unwrap();
    assert!(prepare(&fixture, 2).warm);
}

#[test]
fn files_stay_as_configured() {
    let fixture = Fixture::new();
    let files = [
        "ignored/cache/a",
        "ignored/cache/b.tmp",
        "ignored/out",
        "x.log",
    ];
    let kept = |number: u32, keep: KeepIgnored| {
        let path = used(&fixture, number);
        for file in files {
            write(&path, file, "x");
        }
        release(&fixture, number);
        let want = Prepare {
            keep,
            ..want(&fixture, number + 1)
        };
        let next = fixture.repo.prepare_worktree(&want).unwrap();
        let left = files.iter().filter(|file| next.path.join(file).exists());
        let left: Vec<&str> = left.copied().collect();
        release(&fixture, number + 1);
        (left.join(" "), next.warm)
    };
    let matching = |patterns: &[&str]| {
        KeepIgnored::Matching(patterns.iter().map(|&it| it.to_owned()).collect())
    };
    assert_eq!(kept(1, KeepIgnored::All), (files.join(" "), true));
    assert_eq!(kept(3, KeepIgnored::Nothing), (String::new(), false));
    // Something is gone that a setup may have made.
    let cache = kept(5, matching(&["cache/", "!*.tmp"]));
    assert_eq!(cache, ("ignored/cache/a ignored/cache/b.tmp".into(), false));
    assert_eq!(kept(7, matching(&["*"])), (files.join(" "), true));
    assert_eq!(kept(9, matching(&[])), (String::new(), false));
}

/// An agent's rules about ignored files are not the project's.
#[test]
fn an_environment_that_ignores_itself_goes_as_a_whole_and_the_setup_runs_again() {
    let fixture = Fixture::new();
    let path = used(&fixture, 1);
    for (name, text) in [
        (".gitignore", "*"),
        ("pyvenv.cfg", "home = /usr/bin"),
        ("bin/python", ""),
        ("lib/ignored/kept", "by the rules of the commit"),
    ] {
        write(&path, &format!(".venv/{name}"), text);
    }
    nothing_but_ignored_files(&path);
    release(&fixture, 1);
    let next = prepare(&fixture, 2);
    assert_eq!(next.path, path);
    assert!(!next.warm && !path.join(".venv").exists());
}

#[test]
fn only_committed_rules_keep_files() {
    let fixture = Fixture::new();
    fixture.commit(&[("sub/.gitignore", "/out\n!out/not\n"), ("sub/file", "x")]);
    let path = used(&fixture, 1);
    write(&fixture.root(), ".git/info/exclude", "*\n");
    let elsewhere = fixture.dir.path().join("excludes");
    fs::write(&elsewhere, "*\n").unwrap();
    git(
        &path,
        &["config", "core.excludesFile", elsewhere.to_str().unwrap()],
    );
    write(&path, "hidden/.gitignore", "*\n");
    write(&path, "hidden/program", "x");
    write(&path, "src/.gitignore", "*\n");
    write(&path, "src/program", "x");
    write(&path, ".gitignore", "*\n");
    write(&path, "program", "x");
    write(&path, "sub/deep/out", "x");
    for kept in [
        "sub/out/a",
        "ignored/.gitignore",
        "ignored/program",
        "src/x.log",
    ] {
        write(&path, kept, "!*\n");
    }
    release(&fixture, 1);
    fs::remove_file(fixture.root().join(".git/info/exclude")).unwrap();
    fixture.git(&["config", "--unset", "core.excludesFile"]);
    let next = prepare(&fixture, 2);
    assert!(next.warm);
    nothing_but_ignored_files(&next.path);
    let ignored = git(
        &next.path,
        &["status", "--porcelain", "--ignored=matching", "-uall"],
    );
    assert_eq!(ignored, "!! ignored/\n!! src/x.log\n!! sub/out/");
    assert!(next.path.join("ignored/program").exists());
    assert!(!next.path.join("sub/deep").exists());
    fixture.check();
}

#[test]
fn links_and_odd_modes_reach_nothing_outside_and_hold_nobody_up() {
    let fixture = Fixture::new();
    let outside = fixture.dir.path().join("outside");
    write(&outside, "ignored/precious", "p");
    write(&outside, "precious", "p");
    let path = used(&fixture, 1);
    symlink(&outside, path.join("link")).unwrap();
    fs::remove_dir_all(path.join("src")).unwrap();
    symlink(&outside, path.join("src")).unwrap();
    write(&path, "ignored/locked/file", "x");
    write(&path, "locked/file", "x");
    for locked in ["ignored/locked", "locked"] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o500);
        fs::set_permissions(path.join(locked), mode).unwrap();
    }
    write(&path, "nested/file", "n");
    git(&path.join("nested"), &["init", "-q"]);
    release(&fixture, 1);
    let next = prepare(&fixture, 2).path;
    nothing_but_ignored_files(&next);
    assert_eq!(read(&next, "src/b.txt"), "b\n");
    for gone in ["link", "locked", "nested"] {
        assert!(fs::symlink_metadata(next.join(gone)).is_err(), "{gone}");
    }
    assert_eq!(read(&outside, "precious"), "p");
    assert_eq!(read(&outside, "ignored/precious"), "p");
    let kept = swarm::git::kept_name(&name(1));
    assert_eq!(read(&fixture.repo.worktree_path(&kept), "nested/file"), "n");
    fixture.check();
}

#[test]
fn a_release_that_is_repeated_does_not_touch_the_next_attempt() {
    let fixture = Fixture::new();
    used(&fixture, 1);
    release(&fixture, 1);
    let path = used(&fixture, 2);
    write(&path, "README", "work of the second\n");
    release(&fixture, 1);
    assert_eq!(read(&path, "README"), "work of the second\n");
    assert_eq!(git(&path, &["branch", "--show-current"]), branch(2));
    fixture.check();
}

#[test]
fn what_is_kept_of_an_attempt_is_never_overwritten_by_the_next() {
    let fixture = Fixture::new();
    for number in 1..=3 {
        let path = used(&fixture, number);
        write(&path, "work", &number.to_string());
        write(&path, "inner/file", &number.to_string());
        git(&path.join("inner"), &["init", "-q"]);
        release(&fixture, number);
    }
    for number in 1..=3 {
        assert_eq!(rescued(&fixture, number, "work"), number.to_string());
        let kept = swarm::git::kept_name(&name(number));
        let kept = fixture.repo.worktree_path(&kept);
        assert_eq!(read(&kept, "inner/file"), number.to_string());
    }
    fixture.check();
}

/// After the end of the log was lost: the state takes `w01` for free, and it is not.
#[test]
fn an_attempt_that_the_log_does_not_know_loses_nothing() {
    let fixture = Fixture::new();
    let path = used(&fixture, 1);
    let tip = commit_in(&path, &[("x", "x")]);
    write(&path, "README", "uncommitted\n");
    let next = prepare(&fixture, 2);
    nothing_but_ignored_files(&next.path);
    assert_eq!(next.head, fixture.oid("main"));
    assert_eq!(rescued(&fixture, 1, "README"), "uncommitted");
    assert_eq!(fixture.oid(&branch(1)), tip);
    // Nor does one that an idea takes for its own earlier attempt.
    write(&next.path, "README", "of the second\n");
    let third = Prepare {
        from: Some(earlier(1)),
        ..want(&fixture, 3)
    };
    let third = fixture.repo.prepare_worktree(&third).unwrap();
    assert_eq!(third.head, tip);
    assert_eq!(rescued(&fixture, 2, "README"), "of the second");
    fixture.check();
}

fn earlier(number: u32) -> Earlier {
    Earlier {
        worktree: W01.into(),
        branch: branch(number),
    }
}

#[test]
fn an_idea_goes_on_at_its_path_and_begins_anew_there_if_it_left_nothing() {
    let fixture = Fixture::new();
    let path = used(&fixture, 1);
    write(&path, "ignored/build", "object files");
    let base = fixture.oid("main");
    let tip = fixture.commit(&[("mended", "x")]);
    let again = |number: u32| {
        let want = Prepare {
            base,
            from: Some(earlier(number - 1)),
            ..want(&fixture, number)
        };
        let anew = FreshStart {
            target: "main".into(),
            tip,
            identity: identity(),
            time: TIME,
        };
        let asked = fixture
            .repo
            .fresh_start_if_empty(want.clone(), anew.clone());
        let first = fixture.repo.prepare_worktree(&asked.unwrap()).unwrap();
        let asked = fixture.repo.fresh_start_if_empty(want, anew).unwrap();
        assert_eq!(fixture.repo.prepare_worktree(&asked).unwrap(), first);
        first
    };
    let second = again(2);
    assert_eq!((second.head, second.warm), (tip, true));
    assert_eq!(read(&path, "ignored/build"), "object files");
    write(&path, "README", "half done\n");
    let third = again(3);
    assert_eq!(third.path, path);
    assert_eq!(read(&path, "README"), "half done\n");
    assert_eq!(git(&path, &["branch", "--show-current"]), branch(3));
    fixture.check();
}

#[test]
fn what_an_agent_wrote_never_reaches_the_verification_worktree() {
    let fixture = Fixture::new();
    let main = fixture.oid("main");
    for number in 1..=2 {
        let path = used(&fixture, number);
        write(&path, "ignored/poison", "x");
        release(&fixture, number);
    }
    let keep = KeepIgnored::All;
    let first = fixture.repo.verify_tree(VERIFY, main, &keep).unwrap();
    assert!(!first.warm && !first.path.join("ignored").exists());
    assert_eq!(fixture.repo.pool_size().unwrap(), 1);
    assert!(!fixture.repo.verify_tree(VERIFY, main, &keep).unwrap().warm);
    fixture.repo.note_use("verify").unwrap();
    write(&first.path, "ignored/build", "its own");
    let second = fixture.repo.verify_tree(VERIFY, main, &keep).unwrap();
    assert!(second.warm);
    assert_eq!(read(&second.path, "ignored/build"), "its own");
    let third = fixture
        .repo
        .verify_tree(VERIFY, main, &KeepIgnored::Nothing)
        .unwrap();
    assert!(!third.warm && !third.path.join("ignored").exists());
    // An agent's worktree under its name is not taken for it.
    fixture.repo.drain_pool().unwrap();
    let path = used(&fixture, 3);
    write(&path, "ignored/poison", "x");
    let to = fixture.repo.worktree_path("verify");
    let moved = [
        "worktree",
        "move",
        path.to_str().unwrap(),
        to.to_str().unwrap(),
    ];
    assert!(try_git(&fixture.root(), &moved).status.success());
    let fourth = fixture.repo.verify_tree(VERIFY, main, &keep).unwrap();
    assert!(!fourth.warm && !fourth.path.join("ignored").exists());
    fixture.check();
}

#[test]
fn a_control_has_a_worktree_beside_the_verification_worktree_and_goes_like_idle_ones() {
    let fixture = Fixture::new();
    let main = fixture.oid("main");
    let keep = KeepIgnored::All;
    let verify = fixture.repo.verify_tree(VERIFY, main, &keep).unwrap();
    write(&verify.path, "ignored/build", "of merges");
    let control = fixture.repo.verify_tree(CONTROL, main, &keep).unwrap();
    assert!(!control.warm && !control.path.join("ignored").exists());
    assert_eq!(read(&verify.path, "ignored/build"), "of merges");
    fixture.repo.note_use(CONTROL).unwrap();
    fixture.repo.discard_leftovers(|_| true).unwrap();
    let again = fixture.repo.verify_tree(CONTROL, main, &keep).unwrap();
    assert!(again.warm);
    fixture.repo.discard_leftovers(|_| false).unwrap();
    assert!(verify.path.exists() && !control.path.exists());
    fixture.repo.drain_pool().unwrap();
    fixture.check();
}

#[test]
fn a_worktree_is_lent_only_if_all_of_it_is_on_its_branch() {
    type Adds = fn(&Fixture, &Path);
    let more: [(&str, Adds); 5] = [
        ("uncommitted files (mine.txt)", |_, path| {
            write(path, "mine.txt", "x");
        }),
        ("newer commits of its branch", |_, path| {
            commit_in(path, &[("b.txt", "x\n")]);
        }),
        ("another branch or commit", |_, path| {
            git(path, &["checkout", "-q", "--detach"]);
        }),
        ("a lock of yours (git worktree lock)", |fixture, path| {
            fixture.git(&["worktree", "lock", path.to_str().unwrap()]);
        }),
        ("files that git is told to ignore changes of", |_, path| {
            git(path, &["update-index", "--assume-unchanged", "README"]);
        }),
    ];
    for (what, add) in more {
        let fixture = Fixture::new();
        let (path, tip) = fixture.attempt(1, &[("a.txt", "x\n")]);
        add(&fixture, &path);
        let release = worktrees::release(1, Proof::Keep);
        let held = fixture.repo.lend_worktree(&release, tip).unwrap();
        assert_eq!(held.as_deref(), Some(what));
        assert_eq!(read(&path, "a.txt"), "x\n");
    }
}

#[test]
fn lent_work_stays_on_its_branch_and_gets_another_worktree() {
    let fixture = Fixture::new();
    let (path, tip) = fixture.attempt(1, &[("a.txt", "x\n")]);
    write(&path, "ignored/build", "left");
    let release = worktrees::release(1, Proof::Keep);
    for _ in 0..2 {
        let held = fixture.repo.lend_worktree(&release, tip).unwrap();
        assert_eq!(held, None);
    }
    assert!(!path.exists());
    assert_eq!(fixture.oid(&branch(1)), tip);
    let again = Prepare {
        name: "w02".into(),
        saved: Some(Saved { tip, wip: None }),
        ..fixture.want(1)
    };
    let prepared = fixture.repo.prepare_worktree(&again).unwrap();
    assert_eq!(prepared.head, tip);
    assert_eq!(read(&prepared.path, "a.txt"), "x\n");
    assert_eq!(git(&prepared.path, &["status", "--porcelain"]), "");
    fixture.check();
}
