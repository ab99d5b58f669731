//! Repositories that lie elsewhere than when their worktrees were made.

use std::fs;

use swarm::git::{GitError, Places, Repo, SettledFolder};

use crate::fixture::{Fixture, commit_in, git, name, places, read, settings, write};

/// Two worktrees in which something lies uncommitted.
fn half_done() -> Fixture {
    let fixture = Fixture::new();
    for number in 1..=2 {
        write(&fixture.prepare(number).path, "half", "of the work\n");
    }
    fixture
}

/// The fixture's repository after it has been renamed, with two worktrees in which something lies
/// uncommitted.
fn moved() -> Fixture {
    let mut fixture = half_done();
    let elsewhere = fixture.dir.path().join("elsewhere");
    fs::rename(fixture.root(), &elsewhere).unwrap();
    fixture.repo = Repo::open_with(&elsewhere, settings(fixture.dir.path())).unwrap();
    let settled = fixture
        .repo
        .settle_folder(&places(fixture.dir.path()))
        .unwrap();
    assert!(!settled.is_new && settled.note.unwrap().contains("was at"));
    fixture
}

#[test]
fn worktrees_of_a_renamed_repository_are_its_own_with_what_lies_in_them() {
    let fixture = moved();
    for number in 1..=2 {
        let path = fixture.prepare(number).path;
        assert_eq!(read(&path, "half"), "of the work\n");
        assert_eq!(git(&path, &["status", "--porcelain"]), "?? half");
    }
    fixture.check();
}

/// The fixture's repository and its worktrees after the folder that has both was renamed, as the
/// home folder of a person.
fn moved_together() -> Fixture {
    let mut fixture = half_done();
    let elsewhere = fixture.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    for name in ["repo", "worktrees"] {
        fs::rename(fixture.dir.path().join(name), elsewhere.join(name)).unwrap();
    }
    let settings = settings(fixture.dir.path());
    fixture.repo = Repo::open_with(&elsewhere.join("repo"), settings).unwrap();
    let settled = fixture.repo.settle_folder(&places(&elsewhere)).unwrap();
    assert!(!settled.is_new && settled.note.unwrap().contains("were in"));
    fixture
}

#[test]
fn worktrees_that_moved_together_with_their_repository_are_its_own() {
    let fixture = moved_together();
    for number in 1..=2 {
        let path = fixture.prepare(number).path;
        assert_eq!(read(&path, "half"), "of the work\n");
        assert_eq!(git(&path, &["status", "--porcelain"]), "?? half");
    }
    fixture.check();
}

#[test]
fn where_the_place_of_the_folder_is_gone_too_another_is_chosen() {
    let mut fixture = Fixture::new();
    let elsewhere = fixture.dir.path().join("elsewhere");
    fs::rename(fixture.root(), &elsewhere).unwrap();
    fs::remove_dir_all(fixture.dir.path().join("worktrees")).unwrap();
    // Nothing can be made where it was.
    write(fixture.dir.path(), "worktrees", "a file");
    let other = places(&fixture.dir.path().join("other"));
    fixture.repo = Repo::open_with(&elsewhere, settings(fixture.dir.path())).unwrap();
    assert!(fixture.repo.settle_folder(&other).unwrap().is_new);
    assert!(fixture.prepare(1).path.starts_with(other.root.unwrap()));
    fixture.check();
}

#[test]
fn a_worktree_that_names_anothers_registration_does_not_get_it() {
    let fixture = moved_together();
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
    // Before it has a folder of its own, it has no worktree: not the original's.
    assert!(!other.worktree_path(&name(1)).exists());
    assert_eq!(other.disposable_worktrees().unwrap(), []);
    let settled = other.settle_folder(&places(fixture.dir.path())).unwrap();
    assert!(settled.is_new && settled.note.unwrap().contains("is a copy of"));
    let its = other.prepare_worktree(&fixture.want(1)).unwrap().path;
    assert_ne!(its.parent(), path.parent());
    assert_eq!(git(&its, &["status", "--porcelain"]), "");
    assert_eq!(git(&path, &["status", "--porcelain"]), "?? half");
    assert_eq!(fixture.prepare(1).path, path);
    fixture.check();
}

/// What a starting daemon does for the first attempt. Returns what there is to tell.
fn restore(fixture: &Fixture) -> Option<String> {
    let want = fixture.want(1);
    fixture.repo.settle_worktrees().unwrap();
    let told = fixture
        .repo
        .restore_worktree(&want.name, &want.branch, want.keep.clone());
    told.unwrap()
}

fn settle(fixture: &Fixture) -> SettledFolder {
    let places = places(fixture.dir.path());
    fixture.repo.settle_folder(&places).unwrap()
}

/// As of a disk that was not mounted at one start.
#[test]
fn in_place_of_a_folder_that_is_gone_another_is_chosen_for_good() {
    let fixture = Fixture::new();
    let path = fixture.prepare(1).path;
    let tip = commit_in(&path, &[("done", "committed\n")]);
    write(&path, "half", "not committed\n");
    let (folder, aside) = (path.parent().unwrap(), fixture.dir.path().join("aside"));
    fs::rename(folder, &aside).unwrap();
    let settled = settle(&fixture);
    assert!(settled.is_new && settled.note.unwrap().contains("was gone"));
    assert!(restore(&fixture).unwrap().contains("made again"));
    assert_eq!(restore(&fixture), None, "it is there");
    let again = fixture.repo.worktree_path(&name(1));
    assert_eq!(git(&again, &["rev-parse", "HEAD"]), tip.to_string());
    let two = commit_in(&again, &[("two", "later\n")]);
    fs::rename(&aside, folder).unwrap();
    assert_eq!(settle(&fixture), SettledFolder::default());
    assert_eq!(restore(&fixture), None);
    assert_eq!(fixture.repo.worktree_path(&name(1)), again);
    assert_eq!(git(&again, &["rev-parse", "HEAD"]), two.to_string());
    assert_eq!(git(&again, &["status", "--porcelain"]), "");
    assert_eq!(read(&path, "half"), "not committed\n");
    fixture.check();
}

#[test]
fn a_worktree_that_git_has_forgotten_keeps_its_files() {
    let fixture = Fixture::new();
    let path = fixture.prepare(1).path;
    let tip = commit_in(&path, &[("done", "committed\n")]);
    write(&path, "half", "not committed\n");
    let (folder, aside) = (path.parent().unwrap(), fixture.dir.path().join("aside"));
    fs::rename(folder, &aside).unwrap();
    fixture.git(&["worktree", "prune"]);
    fs::rename(&aside, folder).unwrap();
    settle(&fixture);
    // As a kill leaves it while git adds it again: under the name that its files know.
    let staged = folder.join(format!(".new-{}", name(1)));
    let add = ["worktree", "add", "-q", "--no-checkout", "--detach"];
    fixture.git(&[&add[..], &[staged.to_str().unwrap(), "main"]].concat());
    assert!(restore(&fixture).unwrap().contains("forgotten"));
    assert_eq!(restore(&fixture), None);
    assert_eq!(git(&path, &["rev-parse", "HEAD"]), tip.to_string());
    assert_eq!(git(&path, &["status", "--porcelain"]), "?? half");
    assert_eq!(fixture.prepare(1).path, path);
    fixture.check();
}

#[test]
fn a_worktree_that_somebody_moved_elsewhere_stays_there_without_the_branch() {
    let fixture = Fixture::new();
    let path = fixture.prepare(1).path;
    let tip = commit_in(&path, &[("done", "committed\n")]);
    write(&path, "half", "not committed\n");
    let elsewhere = fixture.dir.path().join("elsewhere");
    let (from, to) = (path.to_str().unwrap(), elsewhere.to_str().unwrap());
    fixture.git(&["worktree", "move", from, to]);
    settle(&fixture);
    let told = restore(&fixture).unwrap();
    assert!(told.contains(to), "{told}");
    for place in [&path, &elsewhere] {
        assert_eq!(git(place, &["rev-parse", "HEAD"]), tip.to_string());
    }
    assert_eq!(git(&path, &["status", "--porcelain"]), "");
    assert_eq!(git(&elsewhere, &["status", "--porcelain"]), "?? half");
    assert_eq!(git(&elsewhere, &["branch", "--show-current"]), "");
}

#[test]
fn a_copy_in_the_place_of_the_original_shares_no_folder_with_it() {
    let mut fixture = Fixture::new();
    let path = fixture.prepare(1).path;
    let (root, old) = (fixture.root(), fixture.dir.path().join("old"));
    fs::rename(&root, &old).unwrap();
    let mut copy = std::process::Command::new("cp");
    let copied = copy.arg("-a").args([&old, &root]).status();
    assert!(copied.unwrap().success());
    fixture.repo = Repo::open_with(&root, settings(fixture.dir.path())).unwrap();
    assert_eq!(settle(&fixture), SettledFolder::default());
    let original = Repo::open_with(&old, settings(fixture.dir.path())).unwrap();
    let settled = original.settle_folder(&places(fixture.dir.path())).unwrap();
    assert!(settled.note.unwrap().contains("is a copy of"));
    assert_ne!(original.worktrees_folder(), path.parent().unwrap());
    assert_eq!(fixture.prepare(1).path, path);
}

#[test]
fn a_folder_that_somebody_else_made_is_never_used() {
    let fixture = Fixture::new();
    let folder = fixture.repo.worktree_path("");
    fs::remove_file(folder.join("owner")).unwrap();
    write(&folder, "precious", "mine");
    let refused = fixture.repo.settle_folder(&places(fixture.dir.path()));
    assert!(
        matches!(refused, Err(GitError::PathTaken { .. })),
        "{refused:?}"
    );
    let again = Repo::open_with(&fixture.root(), settings(fixture.dir.path())).unwrap();
    assert!(again.prepare_worktree(&fixture.want(1)).is_err());
    assert_eq!(read(&folder, "precious"), "mine");
}

#[test]
fn worktree_root_counts_until_the_first_worktree_is_made() {
    let fixture = Fixture::new();
    let folder = || fixture.repo.worktrees_folder();
    let other = places(&fixture.dir.path().join("other"));
    assert!(fixture.repo.settle_folder(&other).unwrap().is_new);
    let place = fs::canonicalize(fixture.dir.path().join("other/worktrees")).unwrap();
    assert_eq!(folder().parent(), Some(place.as_path()));
    let before = fs::read_dir(fixture.dir.path().join("worktrees")).unwrap();
    assert_eq!(before.count(), 0, "an unused folder goes");
    fixture.prepare(1);
    fixture
        .repo
        .settle_folder(&places(fixture.dir.path()))
        .unwrap();
    assert_eq!(folder().parent(), Some(place.as_path()));
}

#[test]
fn a_place_that_cannot_be_used_is_refused_by_name() {
    let fixture = Fixture::new();
    for (root, why) in [
        (fixture.root(), "lies in the checkout"),
        ("/proc".into(), ""),
    ] {
        let refused = fixture.repo.settle_folder(&Places {
            root: Some(root),
            ..Places::default()
        });
        let said = refused.unwrap_err().to_string();
        assert!(
            said.contains("worktree.root") && said.contains(why),
            "{said}"
        );
    }
}

#[test]
fn a_link_beside_the_worktrees_to_a_persons_worktree_is_not_taken_for_one_of_swarm() {
    let fixture = Fixture::new();
    let path = fixture.prepare(1).path;
    let persons = fixture.dir.path().join("other");
    let there = persons.to_str().unwrap();
    fixture.git(&["worktree", "add", "-q", "-b", "other", there]);
    std::os::unix::fs::symlink(&persons, path.with_file_name("other")).unwrap();
    fixture.repo.settle_worktrees().unwrap();
    let listed = fixture.git(&["worktree", "list", "--porcelain"]);
    let line = format!("worktree {there}");
    assert!(listed.lines().any(|it| it == line), "{listed}");
}
