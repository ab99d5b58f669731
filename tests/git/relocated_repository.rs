//! Repositories that lie elsewhere than when their worktrees were made.

use std::fs;

use swarm::git::{GitError, Repo};

use crate::fixture::{Fixture, git, name, read, settings, write};

/// The fixture's repository after it has been renamed, with two worktrees in which something lies
/// uncommitted.
fn moved() -> Fixture {
    let mut fixture = Fixture::new();
    for number in 1..=2 {
        write(&fixture.prepare(number).path, "half", "of the work\n");
    }
    let elsewhere = fixture.dir.path().join("elsewhere");
    fs::rename(fixture.root(), &elsewhere).unwrap();
    fixture.repo = Repo::open_with(&elsewhere, settings(fixture.dir.path())).unwrap();
    fixture
}

#[test]
fn worktrees_of_a_renamed_repository_are_its_own_with_what_lies_in_them() {
    let fixture = moved();
    for number in 1..=2 {
        let path = fixture.prepare(number).path;
        assert!(path.starts_with(fixture.root()));
        assert_eq!(read(&path, "half"), "of the work\n");
        assert_eq!(git(&path, &["status", "--porcelain"]), "?? half");
    }
    fixture.check();
}

#[test]
fn a_worktree_that_names_anothers_registration_does_not_get_it() {
    let fixture = moved();
    let [one, two] = [1, 2].map(|number| fixture.repo.worktree_path(&name(number)));
    fs::copy(two.join(".git"), one.join(".git")).unwrap();
    let refused = fixture.repo.prepare_worktree(&fixture.want(1));
    assert!(
        matches!(refused, Err(GitError::PathTaken { .. })),
        "{refused:?}"
    );
    assert_eq!(read(&fixture.prepare(2).path, "half"), "of the work\n");
    // Where it says nothing at all, its name is enough.
    fs::remove_file(one.join(".git")).unwrap();
    assert_eq!(
        git(&fixture.prepare(1).path, &["status", "--porcelain"]),
        "?? half"
    );
    fixture.check();
}

#[test]
fn a_copy_beside_the_original_has_its_own_and_the_original_keeps_its() {
    let fixture = Fixture::new();
    let path = fixture.prepare(1).path;
    write(&path, "half", "of the work\n");
    let copy = fixture.dir.path().join("copy");
    let (from, to) = (fixture.root(), copy.to_str().unwrap());
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([from.to_str().unwrap(), to])
        .status();
    assert!(copied.unwrap().success());
    let other = Repo::open_with(&copy, settings(fixture.dir.path())).unwrap();
    let its = other.prepare_worktree(&fixture.want(1)).unwrap().path;
    assert!(its.starts_with(&copy));
    git(&its, &["add", "half"]);
    assert_eq!(git(&its, &["status", "--porcelain"]), "A  half");
    assert_eq!(git(&path, &["status", "--porcelain"]), "?? half");
    assert_eq!(fixture.prepare(1).path, path);
    fixture.check();
}
