//! Submodules: no idea and no check meets an old checkout, swarm commits none, and work in them is
//! kept.

use std::fs;
use std::path::{Path, PathBuf};

use swarm::git::{Finish, KeepIgnored, Land, LandOutcome, Leftover, Oid, Proof, Sealed, VERIFY};

use crate::commit_leftovers::want as seal;
use crate::crash_points::{Act, at_each, release};
use crate::fixture::{Fixture, branch, commit_in, earlier, git, name, read, write};
use crate::resolution;

/// A project with the submodule `lib`, which has the submodule `deep/inner`.
fn project() -> Fixture {
    let fixture = Fixture::new();
    let (inner, library) = (library(&fixture, "inner"), library(&fixture, "library"));
    let add = |dir: &Path, from: &Path, at: &str| {
        git(dir, &["submodule", "add", "-q", from.to_str().unwrap(), at]);
        git(dir, &["commit", "-q", "-m", "Add a submodule"]);
    };
    add(&library, &inner, "deep/inner");
    add(&fixture.root(), &library, "lib");
    fixture
}

fn library(fixture: &Fixture, name: &str) -> PathBuf {
    let dir = fixture.dir.path().join(name);
    fs::create_dir(&dir).unwrap();
    git(&dir, &["init", "-q", "-b", "main"]);
    commit_in(&dir, &[("file", "one\n"), (".gitignore", "out\n")]);
    dir
}

/// What a setup does.
fn populate(path: &Path) {
    git(
        path,
        &["submodule", "update", "-q", "--init", "--recursive"],
    );
}

/// A person moves the submodule on main.
fn bump(fixture: &Fixture) -> Oid {
    let new = commit_in(&fixture.dir.path().join("library"), &[("file", "two\n")]);
    let checkout = fixture.root().join("lib");
    git(&checkout, &["fetch", "-q"]);
    git(&checkout, &["checkout", "-q", &new.to_string()]);
    fixture.commit(&[])
}

fn recorded(fixture: &Fixture, commit: &str) -> String {
    fixture.git(&["rev-parse", &format!("{commit}:lib")])
}

fn give_back(fixture: &Fixture, number: u32) -> bool {
    let released = fixture
        .repo
        .release_worktree(&release(number, Proof::Abandoned));
    released.unwrap().nested
}

fn kept(fixture: &Fixture) -> PathBuf {
    let name = swarm::git::kept_name(&name(1));
    fixture.repo.worktree_path(&name)
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).unwrap().next().is_none()
}

#[test]
fn the_next_idea_finds_no_old_checkout_but_the_build_results() {
    let fixture = project();
    let want = |number| swarm::git::Prepare {
        name: name(1),
        ..fixture.want(number)
    };
    let path = fixture.prepare(1).path;
    populate(&path);
    write(&path, "ignored/build", "object files");
    write(&path, "lib/out", "built inside");
    fixture.repo.note_use(&name(1)).unwrap();
    assert!(!give_back(&fixture, 1), "nothing in it was anybody's work");
    let new = bump(&fixture);
    let next = fixture.repo.prepare_worktree(&want(2)).unwrap();
    assert!(!next.warm, "its setup must run again");
    assert!(is_empty(&next.path.join("lib")));
    assert_eq!(read(&next.path, "ignored/build"), "object files");
    assert_eq!(git(&next.path, &["status", "--porcelain"]), "");
    populate(&next.path);
    assert_eq!(read(&next.path, "lib/file"), "two\n");
    assert_eq!(
        recorded(&fixture, &branch(2)),
        recorded(&fixture, &new.to_string())
    );
    fixture.check();
}

#[test]
fn a_removed_submodule_leaves_nothing() {
    let fixture = project();
    let path = fixture.prepare(1).path;
    populate(&path);
    give_back(&fixture, 1);
    fixture.git(&["rm", "-q", "lib"]);
    fixture.commit(&[]);
    let next = fixture.prepare(1).path;
    assert!(!next.join("lib").exists());
    assert_eq!(git(&next, &["status", "--porcelain", "--ignored"]), "");
}

#[test]
fn each_check_of_a_merged_tree_has_a_submodule_of_its_own() {
    let fixture = project();
    let keep = KeepIgnored::All;
    let first = fixture
        .repo
        .verify_tree(VERIFY, fixture.oid("main"), &keep)
        .unwrap();
    populate(&first.path);
    write(&first.path, "ignored/build", "object files");
    fixture.repo.note_use("verify").unwrap();
    let second = fixture
        .repo
        .verify_tree(VERIFY, bump(&fixture), &keep)
        .unwrap();
    assert!(!second.warm && is_empty(&second.path.join("lib")));
    assert_eq!(read(&second.path, "ignored/build"), "object files");
    populate(&second.path);
    assert_eq!(read(&second.path, "lib/file"), "two\n");
}

#[test]
fn a_submodule_that_the_agent_did_not_commit_is_left_out() {
    let fixture = project();
    let path = fixture.prepare(1).path;
    populate(&path);
    let before = recorded(&fixture, "main");
    bump(&fixture);
    // The branch gets the new commit, the checkout does not.
    git(&path, &["merge", "-q", "main"]);
    write(&path, "x", "x");
    let Sealed::Done {
        head, committed, ..
    } = fixture.repo.seal(&seal(&fixture, 1)).unwrap()
    else {
        panic!()
    };
    assert!(committed);
    let head = head.to_string();
    assert_eq!(fixture.git(&["diff", "--name-only", "main", &head]), "x");
    assert_ne!(recorded(&fixture, &head), before);
    // What an agent adds is committed.
    commit_in(&path.join("lib"), &[("file", "agent\n")]);
    git(&path, &["add", "lib"]);
    let sealed = fixture.repo.seal(&seal(&fixture, 1)).unwrap();
    assert!(
        matches!(
            sealed,
            Sealed::Done {
                committed: true,
                ..
            }
        ),
        "{sealed:?}"
    );
    let moved = git(&path.join("lib"), &["rev-parse", "HEAD"]);
    assert_eq!(recorded(&fixture, &branch(1)), moved);
}

#[test]
fn a_resolution_does_not_take_a_submodule_back() {
    let fixture = project();
    let (path, _) = fixture.attempt(1, &[("src/b.txt", "agent\n")]);
    populate(&path);
    bump(&fixture);
    let target = fixture.commit(&[("src/b.txt", "person\n")]);
    let repo = &fixture.repo;
    repo.start_resolution(&name(1), &branch(1), target).unwrap();
    write(&path, "src/b.txt", "both\n");
    let finished = repo.finish_resolution(&resolution::finish(1)).unwrap();
    let Finish::Finished { head } = finished else {
        panic!("{finished:?}")
    };
    let (ours, theirs) = (head.to_string(), target.to_string());
    assert_eq!(recorded(&fixture, &ours), recorded(&fixture, &theirs));
}

/// Each is work of an agent that exists nowhere else.
#[test]
fn work_inside_a_submodule_is_kept() {
    let works: [fn(&Path); 5] = [
        |lib| {
            commit_in(lib, &[("file", "agent\n")]);
        },
        |lib| write(lib, "file", "agent\n"),
        |lib| write(lib, "new", "agent\n"),
        |lib| {
            write(lib, "file", "agent\n");
            git(lib, &["stash", "-q"]);
        },
        |lib| {
            let before = git(lib, &["rev-parse", "HEAD"]);
            commit_in(lib, &[("file", "agent\n")]);
            git(lib, &["checkout", "-q", &before]);
        },
    ];
    for (number, work) in works.iter().enumerate() {
        for inside in ["lib", "lib/deep/inner"] {
            let fixture = project();
            let path = fixture.prepare(1).path;
            populate(&path);
            work(&path.join(inside));
            assert!(give_back(&fixture, 1), "{number}, {inside}");
            let repository = kept(&fixture).join(inside);
            let all = git(&repository, &["log", "--all", "--reflog", "-m", "-p"]);
            let status = git(&repository, &["diff"]);
            let new = fs::read_to_string(repository.join("new")).unwrap_or_default();
            assert!(
                [all, status, new].concat().contains("agent"),
                "{number}, {inside}"
            );
            git(&kept(&fixture).join("lib"), &["status"]);
            fixture.repo.drain_pool().unwrap();
            fixture.check();
        }
    }
}

#[test]
fn a_submodule_without_own_work_is_not_kept() {
    let fixture = project();
    let library = fixture.dir.path().join("library");
    git(&library, &["checkout", "-q", "-b", "side"]);
    commit_in(&library, &[("file", "tagged\n")]);
    git(&library, &["tag", "v1"]);
    git(&library, &["checkout", "-q", "main"]);
    git(&library, &["branch", "-q", "-D", "side"]);
    let path = fixture.prepare(1).path;
    populate(&path);
    write(&path, "lib/out", "ignored there");
    git(&path.join("lib"), &["fetch", "-q", "--tags"]);
    git(&path.join("lib"), &["checkout", "-q", "v1"]);
    assert!(!give_back(&fixture, 1));
}

#[test]
fn the_repository_of_a_submodule_without_a_checkout_is_kept() {
    let fixture = project();
    let path = fixture.prepare(1).path;
    populate(&path);
    let commit = commit_in(&path.join("lib"), &[("file", "agent\n")]);
    git(&path, &["submodule", "deinit", "-q", "-f", "lib"]);
    assert!(give_back(&fixture, 1));
    let shown = git(
        &kept(&fixture).join("lib.git"),
        &["show", &format!("{commit}:file")],
    );
    assert_eq!(shown, "agent");
}

#[test]
fn killed_while_a_submodule_is_kept() {
    let points = [
        "git.release.before-embedding#1",
        "git.release.embedding#1",
        "git.release.before-embedding#2",
        "git.release.embedding#2",
        "git.release.before-nested",
        "git.release.before-module",
    ];
    let make = || {
        let fixture = project();
        let other = library(&fixture, "other");
        fixture.git(&["submodule", "add", "-q", other.to_str().unwrap(), "other"]);
        fixture.git(&["commit", "-q", "-m", "Add another submodule"]);
        let path = fixture.prepare(1).path;
        populate(&path);
        write(&path, "lib/deep/inner/file", "agent\n");
        commit_in(&path.join("other"), &[("file", "agent\n")]);
        git(&path, &["submodule", "deinit", "-q", "-f", "other"]);
        (fixture, Act::Release(release(1, Proof::Abandoned)))
    };
    at_each(&points, make, |fixture, _| {
        let kept = kept(fixture);
        assert_eq!(read(&kept, "lib/deep/inner/file"), "agent\n");
        git(&kept.join("lib"), &["status"]);
        git(&kept.join("lib/deep/inner"), &["status"]);
        assert_eq!(
            git(&kept.join("other.git"), &["show", "HEAD:file"]),
            "agent"
        );
    });
}

#[test]
fn killed_while_submodules_are_removed() {
    let make = || {
        let fixture = project();
        let path = fixture.prepare(1).path;
        populate(&path);
        give_back(&fixture, 1);
        bump(&fixture);
        let want = Act::Prepare(fixture.want(1));
        (fixture, want)
    };
    at_each(&["git.reset.before-modules"], make, |fixture, _| {
        let path = fixture.repo.worktree_path(&name(1));
        assert!(is_empty(&path.join("lib")));
        populate(&path);
        assert_eq!(read(&path, "lib/file"), "two\n");
    });
}

#[test]
fn commits_of_a_submodule_survive_an_agent_that_makes_its_worktree_a_repository() {
    let fixture = project();
    let path = fixture.prepare(1).path;
    populate(&path);
    let commit = commit_in(&path.join("lib"), &[("file", "agent\n")]);
    fs::remove_file(path.join(".git")).unwrap();
    git(&path, &["init", "-q"]);
    let want = swarm::git::Prepare {
        name: name(1),
        from: Some(earlier(1)),
        ..fixture.want(2)
    };
    fixture.repo.prepare_worktree(&want).unwrap();
    let repository = kept(&fixture).join("lib.git");
    let shown = git(&repository, &["show", &format!("{commit}:file")]);
    assert_eq!(shown, "agent");
}

/// Moves main, as a landing or a rollback does; returns the submodules that did not follow.
fn move_main(fixture: &Fixture, commit: Oid) -> Vec<Leftover> {
    let moved = fixture.repo.move_target(&Land {
        branch: "main".into(),
        expected: fixture.oid("main"),
        commit,
    });
    assert_eq!(moved.unwrap(), LandOutcome::Landed);
    fixture.repo.submodules_behind(Some("main")).unwrap()
}

fn only(found: &[Leftover], why: &str) {
    let [one] = found else { panic!("{found:?}") };
    assert!(one.what.contains(why), "{one:?}");
    assert!(one.way_out.ends_with("submodule update -- lib"), "{one:?}");
}

#[test]
fn a_clean_submodule_of_the_checkout_follows_the_target_both_ways() {
    let fixture = project();
    populate(&fixture.root());
    let first = fixture.oid("main");
    let second = bump(&fixture);
    for (commit, content) in [(first, "one\n"), (second, "two\n")] {
        assert_eq!(move_main(&fixture, commit), []);
        assert_eq!(read(&fixture.root(), "lib/file"), content);
        assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    }
    // As a kill after the branch has moved leaves it.
    fixture.git(&["reset", "-q", "--hard", &first.to_string()]);
    assert_eq!(read(&fixture.root(), "lib/file"), "two\n");
    let note = format!("{second} {first} main\n");
    write(&fixture.root(), ".git/swarm-landing", &note);
    fixture.repo.settle_checkouts().unwrap();
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_submodule_that_cannot_follow_stays_as_it_is_and_is_named() {
    let stays = |prepare: fn(&Path), why| {
        let fixture = project();
        let first = fixture.oid("main");
        bump(&fixture);
        let lib = fixture.root().join("lib");
        prepare(&lib);
        let before = git(&lib, &["rev-parse", "HEAD"]);
        only(&move_main(&fixture, first), why);
        assert_eq!(git(&lib, &["rev-parse", "HEAD"]), before);
    };
    stays(|lib| write(lib, "file", "mine\n"), "uncommitted changes");
    let commit = |lib: &Path| {
        commit_in(lib, &[("file", "mine\n")]);
    };
    stays(commit, "somebody has moved it");
    let evil = |lib: &Path| {
        git(lib, &["config", "filter.x.smudge", "touch /tmp/evil"]);
    };
    stays(evil, "somebody has moved it");
}

#[test]
fn a_submodule_without_the_commit_is_named_and_nothing_is_fetched() {
    let fixture = project();
    let library = fixture.dir.path().join("library");
    let new = commit_in(&library, &[("file", "two\n")]);
    let (path, _) = fixture.attempt(1, &[("x", "x")]);
    let link = format!("160000,{new},lib");
    git(&path, &["update-index", "--cacheinfo", &link]);
    git(&path, &["commit", "-q", "-m", "Move the submodule"]);
    let moved = fixture.oid(&branch(1));
    only(&move_main(&fixture, moved), "does not have that commit");
    assert_eq!(read(&fixture.root(), "lib/file"), "one\n");
}
