//! Sealing: what an agent leaves behind becomes a commit, or a clear outcome.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use swarm::git::{GitError, Oid, Seal, Sealed};

use crate::fixture::{Fixture, TIME, branch, commit_in, git, identity, name, read, try_git, write};

pub fn want(fixture: &Fixture, number: u32) -> Seal {
    Seal {
        name: name(number),
        branch: branch(number),
        base: fixture.oid("main"),
        message: "Work of an idea\n".into(),
        identity: identity(),
        time: TIME,
        hooks: false,
    }
}

fn done(sealed: &Sealed) -> (Oid, bool) {
    match sealed {
        Sealed::Done {
            head, committed, ..
        } => (*head, *committed),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_left_becomes_one_commit_and_a_redo_the_same() {
    let fixture = Fixture::new();
    let (path, tip) = fixture.attempt(1, &[("x", "x")]);
    write(&path, "src/a.txt", "changed\n");
    write(&path, "-new\n", "n");
    write(&path, "ignored/x", "no");
    fs::remove_file(path.join("README")).unwrap();
    let sealed = fixture.repo.seal(&want(&fixture, 1)).unwrap();
    let (head, committed) = done(&sealed);
    assert!(committed && head != tip);
    assert_eq!(fixture.oid(&branch(1)), head);
    assert_eq!(git(&path, &["status", "--porcelain"]), "");
    assert_eq!(
        git(&path, &["show", "-s", "--format=%P %an %cI", "HEAD"]),
        format!("{tip} Swarm 2026-09-21T14:13:20Z")
    );
    assert_eq!(fixture.repo.seal(&want(&fixture, 1)).unwrap(), sealed);
    git(&path, &["reset", "-q", "--mixed", &tip.to_string()]);
    assert_eq!(
        done(&fixture.repo.seal(&want(&fixture, 1)).unwrap()).0,
        head
    );
    fixture.check();
}

#[test]
fn a_link_that_leads_out_of_the_worktree_is_left_out_and_named() {
    let fixture = Fixture::new();
    let (path, tip) = fixture.attempt(1, &[("x", "x")]);
    write(&path, "new", "n");
    symlink(path.join("ignored"), path.join("node_modules")).unwrap();
    symlink("new", path.join("alias")).unwrap();
    let sealed = fixture.repo.seal(&want(&fixture, 1)).unwrap();
    let Sealed::Done { head, links, .. } = &sealed else {
        panic!("{sealed:?}");
    };
    assert_eq!(links, &["node_modules"]);
    assert_eq!(
        git(
            &path,
            &["diff", "--name-only", &tip.to_string(), &head.to_string()]
        ),
        "alias\nnew"
    );
    assert_eq!(git(&path, &["status", "--porcelain"]), "?? node_modules");
    assert_eq!(fixture.repo.seal(&want(&fixture, 1)).unwrap(), sealed);
}

#[test]
fn nothing_left_is_nothing_committed() {
    let fixture = Fixture::new();
    let (path, tip) = fixture.attempt(1, &[("x", "x")]);
    write(&path, "ignored/x", "no");
    assert_eq!(
        done(&fixture.repo.seal(&want(&fixture, 1)).unwrap()),
        (tip, false)
    );
}

#[test]
fn nested_repositories_are_left_alone() {
    let fixture = Fixture::new();
    let path = fixture.prepare(1).path;
    for nested in ["vendor/with commits", "vendor/empty"] {
        fs::create_dir_all(path.join(nested)).unwrap();
        git(&path.join(nested), &["init", "-q"]);
        write(&path.join(nested), "inner", "x");
    }
    commit_in(&path.join("vendor/with commits"), &[]);
    write(&path, "vendor/own", "mine");
    let Sealed::Done { head, nested, .. } = fixture.repo.seal(&want(&fixture, 1)).unwrap() else {
        panic!();
    };
    assert_eq!(nested, ["vendor/empty", "vendor/with commits"]);
    assert_eq!(
        fixture.git(&["diff", "--name-only", "main", &head.to_string()]),
        "vendor/own"
    );
    assert_eq!(read(&path, "vendor/with commits/inner"), "x");
}

#[test]
fn work_on_a_detached_head_comes_back_and_elsewhere_it_is_strayed() {
    let fixture = Fixture::new();
    let (path, _) = fixture.attempt(1, &[("x", "x")]);
    git(&path, &["checkout", "-q", "--detach"]);
    let ahead = commit_in(&path, &[("y", "y")]);
    write(&path, "z", "z");
    let Sealed::Done {
        head,
        brought_back,
        committed,
        ..
    } = fixture.repo.seal(&want(&fixture, 1)).unwrap()
    else {
        panic!();
    };
    assert!(brought_back && committed && fixture.repo.contains(head, ahead).unwrap());
    assert_eq!(git(&path, &["branch", "--show-current"]), branch(1));
    git(&path, &["checkout", "-q", "-b", "mine", "main"]);
    let other = commit_in(&path, &[("w", "w")]);
    let strayed = Sealed::Strayed {
        head: other,
        branch: Some("mine".into()),
    };
    assert_eq!(fixture.repo.seal(&want(&fixture, 1)).unwrap(), strayed);
    assert_eq!(fixture.oid(&branch(1)), head);
    git(&path, &["checkout", "-q", "--detach", "main"]);
    assert_eq!(
        done(&fixture.repo.seal(&want(&fixture, 1)).unwrap()),
        (head, true)
    );
    assert_eq!(
        (git(&path, &["branch", "--show-current"]), read(&path, "z")),
        (branch(1), "z".into())
    );
    write(&path, "dirty", "d");
    git(&path, &["checkout", "-q", "--detach", "main"]);
    let strayed = Sealed::Strayed {
        head: fixture.oid("main"),
        branch: None,
    };
    assert_eq!(fixture.repo.seal(&want(&fixture, 1)).unwrap(), strayed);
}

fn conflict_in(path: &Path) {
    git(path, &["checkout", "-q", "-b", "side", "HEAD~1"]);
    commit_in(path, &[("src/b.txt", "side\n")]);
    git(path, &["checkout", "-q", "-"]);
}

#[test]
fn an_open_merge_is_unfinished_and_a_settled_one_is_committed() {
    let fixture = Fixture::new();
    let (path, tip) = fixture.attempt(1, &[("src/b.txt", "agent\n")]);
    conflict_in(&path);
    assert!(!try_git(&path, &["merge", "side"]).status.success());
    let open = Sealed::Unfinished {
        what: "merge".into(),
        files: vec!["src/b.txt".into()],
    };
    assert_eq!(fixture.repo.seal(&want(&fixture, 1)).unwrap(), open);
    git(&path, &["add", "src/b.txt"]);
    assert_eq!(
        fixture.repo.seal(&want(&fixture, 1)).unwrap(),
        open,
        "markers were added as they are"
    );
    write(&path, "src/b.txt", "both\n");
    let (head, committed) = done(&fixture.repo.seal(&want(&fixture, 1)).unwrap());
    assert!(committed);
    assert_eq!(
        git(&path, &["show", "-s", "--format=%P", "HEAD"]),
        format!("{tip} {}", fixture.oid("side"))
    );
    assert_eq!(
        git(&path, &["status", "--porcelain=v2", "--branch"])
            .lines()
            .next()
            .unwrap(),
        format!("# branch.oid {head}")
    );
    assert!(
        !try_git(&path, &["rev-parse", "--verify", "-q", "MERGE_HEAD"])
            .status
            .success()
    );
    fixture.check();
}

#[test]
fn an_open_rebase_is_unfinished() {
    let fixture = Fixture::new();
    let (path, _) = fixture.attempt(1, &[("src/b.txt", "agent\n")]);
    conflict_in(&path);
    assert!(!try_git(&path, &["rebase", "side"]).status.success());
    let sealed = fixture.repo.seal(&want(&fixture, 1)).unwrap();
    assert_eq!(
        sealed,
        Sealed::Unfinished {
            what: "rebase".into(),
            files: vec!["src/b.txt".into()]
        }
    );
}

#[test]
fn damage_is_named_and_nothing_is_guessed() {
    let fixture = Fixture::new();
    let (path, tip) = fixture.attempt(1, &[("x", "x")]);
    let git_dir = git(&path, &["rev-parse", "--absolute-git-dir"]);
    let index = fs::read(format!("{git_dir}/index")).unwrap();
    fs::write(
        format!("{git_dir}/index"),
        "junk, long enough to be read as an index of git",
    )
    .unwrap();
    let refused = fixture.repo.seal(&want(&fixture, 1));
    assert!(
        matches!(refused, Err(GitError::IndexCorrupt { .. })),
        "{refused:?}"
    );
    fs::write(format!("{git_dir}/index"), index).unwrap();
    git(
        &path,
        &["update-ref", "-d", &format!("refs/heads/{}", branch(1))],
    );
    let refused = fixture.repo.seal(&want(&fixture, 1));
    assert!(
        matches!(refused, Err(GitError::BranchMissing { .. })),
        "{refused:?}"
    );
    fixture.git(&["branch", &branch(1), &tip.to_string()]);
    fs::remove_file(path.join(".git")).unwrap();
    git(&path, &["init", "-q"]);
    let refused = fixture.repo.seal(&want(&fixture, 1));
    assert!(
        matches!(refused, Err(GitError::WorktreeBroken { .. })),
        "{refused:?}"
    );
    assert!(matches!(
        fixture.repo.seal(&want(&fixture, 2)),
        Err(GitError::WorktreeMissing { .. })
    ));
}

#[test]
fn a_submodule_that_was_never_fetched_does_not_matter() {
    let fixture = Fixture::new();
    let library = fixture.dir.path().join("library");
    fs::create_dir(&library).unwrap();
    git(&library, &["init", "-q"]);
    commit_in(&library, &[("lib", "x")]);
    fixture.git(&["submodule", "add", "-q", library.to_str().unwrap(), "lib"]);
    fixture.git(&["commit", "-q", "-m", "submodule"]);
    let path = fixture.prepare(1).path;
    write(&path, "x", "x");
    let (head, _) = done(&fixture.repo.seal(&want(&fixture, 1)).unwrap());
    assert_eq!(
        fixture.git(&["diff", "--name-only", "main", &head.to_string()]),
        "x"
    );
    git(&path, &["submodule", "update", "-q", "--init"]);
    write(&path.join("lib"), "lib", "changed inside");
    assert_eq!(
        done(&fixture.repo.seal(&want(&fixture, 1)).unwrap()).0,
        head
    );
}
