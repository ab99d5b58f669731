//! kill -9 at every labelled point: the same call, made again, ends as if nothing had happened.
//!
//! A child (this test binary, started again for the one test [`crash_child`]) does the act and dies
//! at the point.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use swarm::git::{
    BuildOutcome, Earlier, Finish, FreshStart, GitError, KeepIgnored, Land, LandOutcome, Oid,
    Prepare, Proof, Release, Repo, Sealed, VERIFY,
};

use crate::fixture::{
    Fixture, TIME, branch, changed_line, commit_in, earlier, git, identity, name, read, settings,
    write,
};
use crate::{commit_leftovers, landing, merging, resolution};

const SCENARIO: &str = "SWARM_TEST_SCENARIO";
const ROOT: &str = "SWARM_TEST_ROOT";

/// An act and its arguments, to be done in a child and again here.
pub enum Act {
    Prepare(Prepare),
    /// With the target's commit.
    PrepareAnew(Prepare, Oid),
    Release(Release),
    Seal(swarm::git::Seal),
    Land(Land),
    Start(Oid),
    Finish,
    Abort,
    Drain,
    Verify(Oid),
}

fn oid(text: &str) -> Oid {
    Oid::from_str(text).unwrap()
}

/// The arguments as words, since they go through a variable.
fn words(act: &Act) -> String {
    match act {
        Act::Prepare(want) => format!("prepare {}", wanted(want)),
        Act::PrepareAnew(want, tip) => format!("anew {} {tip}", wanted(want)),
        Act::Release(want) => match &want.proof {
            Proof::Contained { tip, .. } => format!("release {} {} {tip}", want.name, want.branch),
            Proof::Abandoned | Proof::Keep => format!("release {} {} -", want.name, want.branch),
        },
        Act::Seal(want) => format!("seal {}", want.base),
        Act::Land(want) => format!("land {} {}", want.expected, want.commit),
        Act::Start(target) => format!("start {target}"),
        Act::Finish => "finish".into(),
        Act::Abort => "abort".into(),
        Act::Drain => "drain".into(),
        Act::Verify(commit) => format!("verify {commit}"),
    }
}

fn wanted(want: &Prepare) -> String {
    let from = want.from.as_ref().map_or("-".into(), |from| {
        format!("{}={}", from.worktree, from.branch)
    });
    format!("{} {} {} {from}", want.name, want.branch, want.base)
}

fn prepare(name: &str, branch: &str, base: &str, from: &str) -> Prepare {
    let from = from.split_once('=').map(|(worktree, branch)| Earlier {
        worktree: worktree.into(),
        branch: branch.into(),
    });
    Prepare {
        name: name.into(),
        branch: branch.into(),
        base: oid(base),
        from,
        saved: None,
        keep: KeepIgnored::All,
    }
}

pub fn release(number: u32, proof: Proof) -> Release {
    Release {
        name: name(number),
        branch: branch(number),
        proof,
        identity: identity(),
        time: TIME,
        reuse: true,
    }
}

fn act(repo: &Repo, words: &str) -> String {
    let words: Vec<&str> = words.split(' ').collect();
    match words[..] {
        ["prepare", name, branch, base, from] => {
            let want = prepare(name, branch, base, from);
            format!("{:?}", repo.prepare_worktree(&want).unwrap())
        }
        ["anew", name, branch, base, from, tip] => {
            let anew = FreshStart {
                target: "main".into(),
                tip: oid(tip),
                identity: identity(),
                time: TIME,
            };
            let want = prepare(name, branch, base, from);
            let want = repo.fresh_start_if_empty(want, anew).unwrap();
            format!("{:?}", repo.prepare_worktree(&want).unwrap())
        }
        ["release", name, branch, tip] => {
            let proof = if tip == "-" {
                Proof::Abandoned
            } else {
                Proof::Contained {
                    tip: oid(tip),
                    target: "main".into(),
                }
            };
            let want = Release {
                name: name.into(),
                branch: branch.into(),
                ..release(1, proof)
            };
            format!("{:?}", repo.release_worktree(&want).unwrap().branch_deleted)
        }
        ["seal", base] => {
            let want = swarm::git::Seal {
                hooks: false,
                name: name(1),
                branch: branch(1),
                base: oid(base),
                message: "Work of an idea\n".into(),
                identity: identity(),
                time: TIME,
            };
            let Sealed::Done { head, .. } = repo.seal(&want).unwrap() else {
                panic!()
            };
            head.to_string()
        }
        ["land", expected, commit] => {
            let want = Land {
                branch: "main".into(),
                expected: oid(expected),
                commit: oid(commit),
            };
            let outcome = repo.land(&want).unwrap();
            assert!(
                matches!(outcome, LandOutcome::Landed | LandOutcome::AlreadyLanded),
                "{outcome:?}"
            );
            String::new()
        }
        ["start", target] => format!(
            "{:?}",
            repo.start_resolution(&name(1), &branch(1), oid(target))
                .unwrap()
        ),
        ["finish"] => match repo.finish_resolution(&resolution::finish(1)).unwrap() {
            Finish::Finished { head } => head.to_string(),
            // Finished and tidied up by the killed call.
            Finish::NotStarted => repo.branch_commit(&branch(1)).unwrap().unwrap().to_string(),
            open @ Finish::StillConflicted { .. } => panic!("{open:?}"),
        },
        ["abort"] => {
            repo.abort_resolution(&resolution::finish(1)).unwrap();
            String::new()
        }
        ["drain"] => format!("{:?}", repo.drain_pool().unwrap()),
        ["verify", commit] => repo
            .verify_tree(VERIFY, oid(commit), &KeepIgnored::All)
            .unwrap()
            .path
            .display()
            .to_string(),
        _ => panic!("{words:?}"),
    }
}

/// Not a test of its own: what the others start and kill.
#[test]
fn crash_child() {
    let (Ok(scenario), Ok(root)) = (std::env::var(SCENARIO), std::env::var(ROOT)) else {
        return;
    };
    let root = Path::new(&root);
    let repo = Repo::open_with(root, settings(root.parent().unwrap())).unwrap();
    act(&repo, &scenario);
}

/// Does the act in a child that dies at the point.
fn child(fixture: &Fixture, words: &str, point: &str) -> std::process::ExitStatus {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "crash_points::crash_child",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(SCENARIO, words)
        .env(ROOT, fixture.root())
        .env(swarm::crash::VARIABLE, point)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap()
}

fn killed_at(fixture: &Fixture, words: &str, point: &str) {
    let status = child(fixture, words, point);
    assert_eq!(
        status.signal(),
        Some(9),
        "{words} never reached {point}: {status}"
    );
}

/// For each point: a new fixture, the kill there, the same again, and what must hold.
pub fn at_each(points: &[&str], make: impl Fn() -> (Fixture, Act), holds: impl Fn(&Fixture, &str)) {
    for point in points {
        let (fixture, wanted) = make();
        let words = words(&wanted);
        killed_at(&fixture, &words, point);
        let first = act(&fixture.repo, &words);
        assert_eq!(act(&fixture.repo, &words), first, "{point}");
        holds(&fixture, &first);
        fixture.check();
        fixture.repo.drain_pool().unwrap();
        fixture.check();
    }
}

fn prepared_whole(fixture: &Fixture, _: &str) {
    on_its_branch(fixture);
    let path = fixture.repo.worktree_path(&name(1));
    assert_eq!(read(&path, "README"), "hello\n");
}

#[test]
fn preparing() {
    let points = [
        "git.prepare.before-branch",
        "git.prepare.after-branch",
        "git.prepare.before-mark",
        "git.prepare.before-name",
        "git.rename.between",
    ];
    let make = || {
        let fixture = Fixture::new();
        let want = Act::Prepare(fixture.want(1));
        (fixture, want)
    };
    at_each(&points, make, |fixture, prepared| {
        prepared_whole(fixture, prepared);
        assert!(prepared.contains("warm: false"), "{prepared}");
    });
}

#[test]
fn preparing_from_the_pool() {
    let points = [
        "git.rename.between#1",
        "git.prepare.before-branch",
        "git.prepare.after-branch",
        "git.reset.before-files",
        "git.reset.after-files",
        "git.clean.listed",
        "git.prepare.before-mark",
        "git.prepare.before-name",
        "git.rename.between#2",
    ];
    let make = || {
        let fixture = Fixture::new();
        let before = Prepare {
            name: name(1),
            ..fixture.want(2)
        };
        let path = fixture.repo.prepare_worktree(&before).unwrap().path;
        fixture.repo.note_use(&name(1)).unwrap();
        write(&path, "old", "x");
        write(&path, "ignored/build", "object files");
        let release = Release {
            name: name(1),
            ..release(2, Proof::Abandoned)
        };
        fixture.repo.release_worktree(&release).unwrap();
        let want = Act::Prepare(fixture.want(1));
        (fixture, want)
    };
    at_each(&points, make, |fixture, prepared| {
        assert!(prepared.contains("warm: true"), "{prepared}");
        let path = fixture.repo.worktree_path(&name(1));
        assert_eq!(read(&path, "ignored/build"), "object files");
        let expected = format!("## {}", branch(1));
        assert_eq!(git(&path, &["status", "--porcelain", "--branch"]), expected);
    });
}

#[test]
fn taking_over_in_place() {
    let points = [
        "git.take.before-branch",
        "git.take.after-branch",
        "git.take.before-delete",
        "git.take.before-mark",
    ];
    let make = || {
        let fixture = Fixture::new();
        let (path, _) = fixture.attempt(1, &[("x", "x")]);
        fixture.repo.note_use(&name(1)).unwrap();
        write(&path, "README", "half done\n");
        write(&path, "ignored/build", "object files");
        let want = Prepare {
            name: name(1),
            from: Some(earlier(1)),
            ..fixture.want(2)
        };
        (fixture, Act::Prepare(want))
    };
    at_each(&points, make, |fixture, prepared| {
        let path = fixture.repo.worktree_path(&name(1));
        let expected = format!("## {}\n M README", branch(2));
        assert_eq!(git(&path, &["status", "--porcelain", "--branch"]), expected);
        assert_eq!(read(&path, "ignored/build"), "object files");
        assert!(prepared.contains("warm: true"), "{prepared}");
        assert!(!fixture.git(&["branch", "--list"]).contains(&branch(1)));
    });
}

#[test]
fn moving_a_spoilt_worktree_aside() {
    let make = || {
        let fixture = Fixture::new();
        let (path, _) = fixture.attempt(1, &[("x", "x")]);
        std::fs::remove_file(path.join(".git")).unwrap();
        git(&path, &["init", "-q"]);
        let want = Prepare {
            name: name(1),
            from: Some(earlier(1)),
            ..fixture.want(2)
        };
        (fixture, Act::Prepare(want))
    };
    at_each(&["git.rename.between#1"], make, |fixture, _| {
        let path = fixture.repo.worktree_path(&name(1));
        assert_eq!(git(&path, &["branch", "--show-current"]), branch(2));
        assert_eq!(read(&path, "x"), "x");
        let kept = fixture.repo.worktree_path(&swarm::git::kept_name(&name(1)));
        assert!(kept.join(name(1)).join(".git").is_dir());
    });
}

#[test]
fn taking_over() {
    let points = [
        "git.rename.between#1",
        "git.take.before-branch",
        "git.take.after-branch",
        "git.take.before-delete",
        "git.prepare.before-name",
        "git.rename.between#2",
    ];
    let make = || {
        let fixture = Fixture::new();
        let (path, _) = fixture.attempt(2, &[("x", "x")]);
        write(&path, "README", "half done\n");
        write(&path, "untracked", "u");
        let want = Prepare {
            from: Some(earlier(2)),
            ..fixture.want(1)
        };
        (fixture, Act::Prepare(want))
    };
    at_each(&points, make, |fixture, _| {
        let path = fixture.repo.worktree_path(&name(1));
        let expected = format!("## {}\n M README\n?? untracked", branch(1));
        assert_eq!(git(&path, &["status", "--porcelain", "--branch"]), expected);
        assert!(!fixture.git(&["branch", "--list"]).contains(&branch(2)));
    });
}

/// An attempt that left nothing, and a target that has gone on since.
fn left_behind() -> (Fixture, Prepare, Oid) {
    let fixture = Fixture::new();
    let before = Prepare {
        name: name(1),
        ..fixture.want(2)
    };
    fixture.repo.prepare_worktree(&before).unwrap();
    let from = Earlier {
        worktree: name(1),
        branch: branch(2),
    };
    let want = Prepare {
        from: Some(from),
        ..fixture.want(1)
    };
    let tip = fixture.commit(&[("mended", "x")]);
    (fixture, want, tip)
}

fn starts_at_the_target(fixture: &Fixture, _: &str) {
    let path = fixture.repo.worktree_path(&name(1));
    let expected = format!("## {}", branch(1));
    assert_eq!(git(&path, &["status", "--porcelain", "--branch"]), expected);
    assert_eq!(read(&path, "mended"), "x");
    assert!(!fixture.git(&["branch", "--list"]).contains(&branch(2)));
}

#[test]
fn preparing_anew() {
    let points = [
        "git.release.before-rename",
        "git.rename.between#1",
        "git.release.after-rename",
        "git.rename.between#2",
        "git.release.before-branch",
        "git.release.before-delete",
        "git.rename.between#3",
        "git.prepare.before-branch",
        "git.prepare.after-branch",
        "git.prepare.before-name",
        "git.rename.between#4",
    ];
    let make = || {
        let (fixture, want, tip) = left_behind();
        (fixture, Act::PrepareAnew(want, tip))
    };
    at_each(&points, make, starts_at_the_target);
}

#[test]
fn work_of_any_kind_is_gone_on_from() {
    let leave: [&dyn Fn(&Path); 3] = [
        &|path| write(path, "untracked", "u"),
        &|path| write(path, "README", "half done\n"),
        &|path| {
            commit_in(path, &[("done", "x")]);
        },
    ];
    for leave in leave {
        let (fixture, want, tip) = left_behind();
        leave(&fixture.repo.worktree_path(&name(1)));
        let before = wanted(&want);
        act(&fixture.repo, &format!("anew {before} {tip}"));
        let path = fixture.repo.worktree_path(&name(1));
        assert!(!path.join("mended").exists());
        let status = git(&path, &["status", "--porcelain"]);
        assert!(!status.is_empty() || path.join("done").exists());
    }
}

#[test]
fn releasing() {
    let points = [
        "git.release.before-nested#1",
        "git.release.before-nested#2",
        "git.release.before-rename",
        "git.rename.between#1",
        "git.release.after-rename",
        "git.rename.between#2",
        "git.release.before-branch",
        "git.release.before-delete",
    ];
    let make = || {
        let fixture = Fixture::new();
        let (path, tip) = fixture.attempt(1, &[("x", "x")]);
        write(&path, "untracked", "u");
        for nested in ["one", "deep/two"] {
            write(&path, &format!("{nested}/inner"), nested);
            git(&path.join(nested), &["init", "-q"]);
        }
        fixture.git(&["merge", "-q", &branch(1)]);
        let proof = Proof::Contained {
            tip,
            target: "main".into(),
        };
        (fixture, Act::Release(release(1, proof)))
    };
    at_each(&points, make, |fixture, deleted| {
        assert_eq!(deleted, "true");
        let kept = fixture.repo.worktree_path(&swarm::git::kept_name(&name(1)));
        for nested in ["one", "deep/two"] {
            assert_eq!(read(&kept, &format!("{nested}/inner")), nested);
            git(&kept.join(nested), &["status"]);
        }
        assert_eq!(fixture.repo.pool_size().unwrap(), 1);
        let rescue = swarm::git::rescue_ref(&name(1));
        assert_eq!(
            fixture
                .git(&["log", "--oneline", &format!("main..{rescue}")])
                .lines()
                .count(),
            1
        );
        assert_eq!(fixture.git(&["show", &format!("{rescue}:untracked")]), "u");
    });
}

#[test]
fn draining() {
    let make = || {
        let fixture = Fixture::new();
        fixture.prepare(1);
        fixture
            .repo
            .release_worktree(&release(1, Proof::Abandoned))
            .unwrap();
        (fixture, Act::Drain)
    };
    at_each(&["git.discard.between"], make, |fixture, _| {
        assert_eq!(fixture.worktrees(), ["repo"]);
    });
}

#[test]
fn verifying() {
    let make = || {
        let fixture = Fixture::new();
        let commit = Act::Verify(fixture.oid("main"));
        (fixture, commit)
    };
    at_each(&["git.rename.between"], make, |fixture, path| {
        let path = Path::new(path);
        let main = fixture.oid("main").to_string();
        assert_eq!(git(path, &["rev-parse", "HEAD"]), main);
        let changed = ["status", "--porcelain", "--untracked-files=no"];
        assert_eq!(git(path, &changed), "");
    });
}

#[test]
fn sealing_uncommitted_work() {
    let make = || {
        let fixture = Fixture::new();
        let (path, _) = fixture.attempt(1, &[("x", "x")]);
        write(&path, "left", "l");
        let want = commit_leftovers::want(&fixture, 1);
        (fixture, Act::Seal(want))
    };
    at_each(
        &[
            "git.seal.after-add",
            "git.seal.before-ref",
            "git.seal.after-ref",
        ],
        make,
        sealed,
    );
    let detached = || {
        let (fixture, want) = make();
        let path = fixture.repo.worktree_path(&name(1));
        git(&path, &["checkout", "-q", "--detach"]);
        commit_in(&path, &[("y", "y")]);
        (fixture, want)
    };
    at_each(&["git.seal.brought-back"], detached, sealed);
}

fn sealed(fixture: &Fixture, head: &str) {
    let path = fixture.repo.worktree_path(&name(1));
    assert_eq!(fixture.oid(&branch(1)).to_string(), head);
    assert_eq!(
        git(&path, &["status", "--porcelain", "--branch"]),
        format!("## {}", branch(1))
    );
    assert_eq!(read(&path, "left"), "l");
}

#[test]
fn landing_on_a_checkout_with_work_in_it() {
    let points = [
        "git.land.noted",
        "git.land.followed",
        "git.land.before-ref",
        "git.land.after-ref",
    ];
    let make = || {
        let fixture = Fixture::new();
        let commit = landing::prepared_merge(&fixture);
        write(&fixture.root(), "README", "being edited\n");
        let want = landing::land(&fixture, commit);
        (fixture, Act::Land(want))
    };
    at_each(&points, make, |fixture, _| {
        assert_eq!(fixture.git(&["status", "--porcelain"]), " M README");
        assert_eq!(
            (
                read(&fixture.root(), "src/b.txt"),
                read(&fixture.root(), "README")
            ),
            ("agent\n".into(), "being edited\n".into())
        );
        assert!(!fixture.root().join(".git/swarm-landing").exists());
    });
}

#[test]
fn a_landing_that_is_not_made_again_is_undone() {
    for point in ["git.land.noted", "git.land.followed", "git.land.before-ref"] {
        let fixture = Fixture::new();
        let want = landing::land(&fixture, landing::prepared_merge(&fixture));
        let want = Land {
            expected: fixture.oid("main"),
            ..want
        };
        write(&fixture.root(), "README", "being edited\n");
        killed_at(&fixture, &words(&Act::Land(want.clone())), point);
        fixture.repo.settle_checkouts().unwrap();
        assert_eq!(
            fixture.git(&["status", "--porcelain"]),
            " M README",
            "{point}"
        );
        assert_eq!(
            (fixture.oid("main"), read(&fixture.root(), "src/b.txt")),
            (want.expected, "b\n".into())
        );
        // Another landing than the killed one.
        killed_at(&fixture, &words(&Act::Land(want.clone())), point);
        let (_, source) = fixture.attempt(3, &[("third", "3")]);
        let BuildOutcome::Built { commit, .. } =
            fixture.repo.build_merge(&merging::merge(source)).unwrap()
        else {
            panic!()
        };
        assert_eq!(
            fixture.repo.land(&Land { commit, ..want }).unwrap(),
            LandOutcome::Landed
        );
        assert_eq!(
            fixture.git(&["status", "--porcelain"]),
            " M README",
            "{point}"
        );
        assert_eq!(read(&fixture.root(), "src/b.txt"), "b\n");
    }
}

/// Index and files are the merge's, the branch is not.
fn killed_landing() -> (Fixture, Land) {
    let fixture = Fixture::new();
    let want = landing::land(&fixture, landing::prepared_merge(&fixture));
    let want = Land {
        expected: fixture.oid("main"),
        ..want
    };
    killed_at(
        &fixture,
        &words(&Act::Land(want.clone())),
        "git.land.followed",
    );
    (fixture, want)
}

/// The branch has moved; index and files were not written when the machine stopped.
fn stopped_landing() -> (Fixture, Land) {
    let fixture = Fixture::new();
    let want = landing::land(&fixture, landing::prepared_merge(&fixture));
    landing::half_written(&fixture, &want);
    let new = want.commit.to_string();
    fixture.git(&["update-ref", "refs/heads/main", &new]);
    (fixture, want)
}

#[test]
fn what_a_person_did_after_a_killed_landing_stays_until_it_is_moved_aside() {
    for name in ["gone", "src/b.txt", "src/deep/new"] {
        for make in [killed_landing, stopped_landing] {
            let (fixture, _) = make();
            let root = fixture.root();
            write(&root, name, "mine\n");
            let mut given = String::new();
            for _ in 0..2 {
                match fixture.repo.settle_checkouts() {
                    Err(GitError::ChangedSince { files, command, .. }) => {
                        assert_eq!(files, [name]);
                        given = command;
                    }
                    other => panic!("{other:?}"),
                }
                assert_eq!(read(&root, name), "mine\n");
            }
            let mut shell = Command::new("sh");
            assert!(shell.args(["-c", &given]).status().unwrap().success());
            fixture.repo.settle_checkouts().unwrap();
            assert_eq!(read(&root, &format!("{name}.mine")), "mine\n");
            let shown = fixture.git(&["status", "--porcelain", "-uall"]);
            assert_eq!(shown, format!("?? {name}.mine"));
        }
    }
}

/// The person has taken the index back: nothing is in the way.
#[test]
fn after_a_killed_landing_only_what_a_person_did_since_is_a_change() {
    let (fixture, _) = killed_landing();
    write(&fixture.root(), "src/b.txt", "mine\n");
    fixture.git(&["reset", "-q"]);
    fixture.repo.settle_checkouts().unwrap();
    assert_eq!(fixture.git(&["status", "--porcelain"]), " M src/b.txt");
}

#[test]
fn a_person_who_commits_after_a_killed_landing_keeps_the_commit() {
    let (fixture, want) = killed_landing();
    fixture.git(&["commit", "-q", "-m", "what is this?"]);
    let found = fixture.oid("main");
    assert_eq!(
        fixture.repo.land(&want).unwrap(),
        LandOutcome::TargetMoved { found: Some(found) }
    );
    assert_eq!(
        (fixture.git(&["status", "--porcelain"]), fixture.oid("main")),
        (String::new(), found)
    );
    assert_eq!(read(&fixture.root(), "src/b.txt"), "agent\n");
}

fn conflicting() -> (Fixture, Oid) {
    let fixture = Fixture::new();
    fixture.attempt(
        1,
        &[
            ("src/b.txt", "agent\n"),
            ("src/a.txt", &changed_line(2, "agent")),
        ],
    );
    let target = fixture.commit(&[("src/b.txt", "person\n"), ("other", "o")]);
    (fixture, target)
}

#[test]
fn starting_a_resolution() {
    let make = || {
        let (fixture, target) = conflicting();
        (fixture, Act::Start(target))
    };
    at_each(
        &["git.resolve.noted", "git.resolve.merged"],
        make,
        |fixture, files| {
            assert_eq!(files, "[\"src/b.txt\"]");
            let path = fixture.repo.worktree_path(&name(1));
            assert_eq!(
                git(&path, &["status", "--porcelain"]),
                "A  other\nUU src/b.txt"
            );
        },
    );
}

/// The start that follows a kill is killed itself, while it takes away what the first one left.
#[test]
fn starting_a_resolution_over() {
    let (fixture, target) = conflicting();
    let start = words(&Act::Start(target));
    killed_at(&fixture, &start, "git.resolve.merged");
    killed_at(&fixture, &start, "git.reset.before-files");
    assert_eq!(act(&fixture.repo, &start), "[\"src/b.txt\"]");
    let path = fixture.repo.worktree_path(&name(1));
    let status = git(&path, &["status", "--porcelain", "--branch"]);
    assert_eq!(status, format!("## {}\nA  other\nUU src/b.txt", branch(1)));
    fixture.check();
}

#[test]
fn aborting_a_resolution() {
    let make = || {
        let (fixture, target) = conflicting();
        let repo = &fixture.repo;
        repo.start_resolution(&name(1), &branch(1), target).unwrap();
        write(&repo.worktree_path(&name(1)), "src/b.txt", "half settled\n");
        (fixture, Act::Abort)
    };
    at_each(
        &["git.reset.before-files", "git.reset.after-files"],
        make,
        |fixture, _| {
            on_its_branch(fixture);
            let kept = format!("{}:src/b.txt", swarm::git::rescue_ref(&name(1)));
            assert_eq!(fixture.git(&["show", &kept]), "half settled");
        },
    );
}

#[test]
fn bringing_back_what_a_resolver_threw_away() {
    let make = || {
        let (fixture, target) = conflicting();
        let repo = &fixture.repo;
        repo.start_resolution(&name(1), &branch(1), target).unwrap();
        let path = repo.worktree_path(&name(1));
        git(&path, &["reset", "--hard", "-q", "MERGE_HEAD"]);
        (fixture, Act::Start(target))
    };
    at_each(
        &[
            "git.resolve.thrown-away",
            "git.reset.before-files",
            "git.reset.after-files",
        ],
        make,
        |fixture, files| {
            assert_eq!(files, "[\"src/b.txt\"]");
            assert_eq!(
                fixture.git(&["show", &format!("{}:src/b.txt", branch(1))]),
                "agent"
            );
        },
    );
}

#[test]
fn laying_a_conflict_out_again_keeps_what_was_settled() {
    let make = || {
        let (fixture, target) = conflicting();
        let repo = &fixture.repo;
        repo.start_resolution(&name(1), &branch(1), target).unwrap();
        write(&repo.worktree_path(&name(1)), "src/b.txt", "both\n");
        let later = fixture.commit(&[("third", "t\n")]);
        (fixture, Act::Start(later))
    };
    at_each(
        &[
            "git.reset.before-files",
            "git.reset.after-files",
            "git.resolve.noted",
            "git.resolve.merged",
        ],
        make,
        |fixture, files| {
            assert_eq!(files, "[\"src/b.txt\"]");
            let path = fixture.repo.worktree_path(&name(1));
            assert_eq!(read(&path, "src/b.txt"), "both\n");
            assert_eq!(read(&path, "third"), "t\n");
            assert!(fixture.repo.saved_resolution(&name(1)).unwrap().is_some());
        },
    );
}

/// Whichever call was killed, whichever comes next goes on with it.
#[test]
fn bringing_back_goes_on_with_any_call() {
    for killed in ["start", "finish", "abort"] {
        for next in ["start", "finish", "abort"] {
            let (fixture, target) = conflicting();
            let repo = &fixture.repo;
            let tip = fixture.oid(&branch(1));
            let start = || repo.start_resolution(&name(1), &branch(1), target).unwrap();
            start();
            let path = repo.worktree_path(&name(1));
            git(&path, &["reset", "--hard", "-q", "MERGE_HEAD"]);
            let act = match killed {
                "start" => Act::Start(target),
                "finish" => Act::Finish,
                _ => Act::Abort,
            };
            killed_at(&fixture, &words(&act), "git.resolve.thrown-away");
            assert_eq!(fixture.oid(&branch(1)), target, "not yet back");
            match next {
                "start" => assert_eq!(start(), ["src/b.txt"]),
                "finish" => {
                    let files = vec!["src/b.txt".into()];
                    let finished = repo.finish_resolution(&resolution::finish(1)).unwrap();
                    assert_eq!(finished, Finish::StillConflicted { files });
                }
                _ => {
                    assert!(repo.abort_resolution(&resolution::finish(1)).unwrap());
                    on_its_branch(&fixture);
                }
            }
            assert_eq!(fixture.oid(&branch(1)), tip, "{killed}, then {next}");
            fixture.check();
        }
    }
}

#[test]
fn a_conflict_whose_work_was_brought_back_starts_over_with_any_call() {
    for next in ["start", "finish", "abort"] {
        let (fixture, target) = conflicting();
        let repo = &fixture.repo;
        let tip = fixture.oid(&branch(1));
        let start = || repo.start_resolution(&name(1), &branch(1), target).unwrap();
        start();
        let path = repo.worktree_path(&name(1));
        git(&path, &["reset", "--hard", "-q", "MERGE_HEAD"]);
        killed_at(&fixture, &words(&Act::Finish), "git.resolve.brought-back");
        assert_eq!(fixture.oid(&branch(1)), tip, "back");
        match next {
            "start" => assert_eq!(start(), ["src/b.txt"]),
            "finish" => {
                let files = vec!["src/b.txt".into()];
                let finished = repo.finish_resolution(&resolution::finish(1)).unwrap();
                assert_eq!(finished, Finish::StillConflicted { files });
            }
            _ => {
                assert!(repo.abort_resolution(&resolution::finish(1)).unwrap());
                on_its_branch(&fixture);
            }
        }
        assert_eq!(fixture.oid(&branch(1)), tip, "{next}");
        fixture.check();
    }
}

/// On its branch, and nothing uncommitted.
fn on_its_branch(fixture: &Fixture) {
    let path = fixture.repo.worktree_path(&name(1));
    assert_eq!(
        git(&path, &["status", "--porcelain", "--ignored", "--branch"]),
        format!("## {}", branch(1))
    );
}

#[test]
fn finishing_a_resolution() {
    let make = || {
        let (fixture, target) = conflicting();
        fixture
            .repo
            .start_resolution(&name(1), &branch(1), target)
            .unwrap();
        write(&fixture.repo.worktree_path(&name(1)), "src/b.txt", "both\n");
        (fixture, Act::Finish)
    };
    at_each(
        &["git.resolve.before-ref", "git.resolve.after-ref"],
        make,
        |fixture, head| {
            let path = fixture.repo.worktree_path(&name(1));
            assert_eq!(git(&path, &["rev-parse", "HEAD"]), head);
            assert_eq!(git(&path, &["status", "--porcelain"]), "");
            assert_eq!(
                git(&path, &["show", "-s", "--format=%P"])
                    .split(' ')
                    .count(),
                2
            );
        },
    );
}

/// Starts the act and kills the process at some moment, its git not: that one goes on for a while,
/// as after a real kill.
fn killed_after(fixture: &Fixture, words: &str, delay: Duration) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["crash_points::crash_child", "--exact", "--test-threads=1"])
        .env(SCENARIO, words)
        .env(ROOT, fixture.root())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // Any moment will do: this is what is tried out, not something to wait for.
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        fixture
            .repo
            .wait_for_orphans(Duration::from_secs(60))
            .unwrap()
    );
}

fn many_files(fixture: &Fixture) {
    for number in 0..120 {
        write(
            &fixture.root(),
            &format!("many/{}/{number}", number % 7),
            &format!("{number}\n"),
        );
    }
    fixture.commit(&[]);
}

#[test]
fn preparing_killed_at_any_moment() {
    let fixture = Fixture::new();
    many_files(&fixture);
    for step in 0..12 {
        let want = Act::Prepare(fixture.want(step));
        killed_after(
            &fixture,
            &words(&want),
            Duration::from_millis(u64::from(step) * 9),
        );
        let path = fixture.prepare(step).path;
        assert_eq!(
            git(&path, &["status", "--porcelain", "--ignored", "--branch"]),
            format!("## {}", branch(step))
        );
        if step % 2 == 0 {
            fixture
                .repo
                .release_worktree(&release(step, Proof::Abandoned))
                .unwrap();
        }
    }
    fixture.repo.drain_pool().unwrap();
    fixture.check();
}

#[test]
fn landing_killed_at_any_moment() {
    let fixture = Fixture::new();
    many_files(&fixture);
    for step in 0..9_u32 {
        let path = fixture.prepare(step).path;
        for number in 0..120 {
            write(
                &path,
                &format!("many/{}/{number}", number % 7),
                &format!("{step} {number}\n"),
            );
        }
        let source = commit_in(
            &path,
            &[
                ("new/a", &format!("{step}\n")),
                (&format!("new/{step}"), "x\n"),
            ],
        );
        let commit = merging::built(&fixture.repo.build_merge(&merging::merge(source)).unwrap());
        write(&fixture.root(), "README", "being edited\n");
        let want = landing::land(&fixture, commit);
        killed_after(
            &fixture,
            &words(&Act::Land(want.clone())),
            Duration::from_millis(u64::from(step) * 13),
        );
        let outcome = fixture.repo.land(&want).unwrap();
        assert!(
            matches!(outcome, LandOutcome::Landed | LandOutcome::AlreadyLanded),
            "{outcome:?}"
        );
        assert_eq!(fixture.git(&["status", "--porcelain"]), " M README");
        assert_eq!(read(&fixture.root(), "many/3/3"), format!("{step} 3\n"));
    }
    fixture.check();
}
