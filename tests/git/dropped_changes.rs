//! Conflicts that were settled without the work that was to be merged.

use std::fs;
use std::path::Path;

use swarm::git::{DroppedChanges, Finish, Oid};

use crate::fixture::{Fixture, branch, commit_in, git, name, write};
use crate::resolution::{finish, in_docs};

const KEPT: &str = "refs/swarm/rescue/left-out-";

/// The conflict of [`in_docs`], settled as these commands leave it; the work, the target, and what
/// is left out.
fn settled(commands: &[&str]) -> (Fixture, (Oid, Oid), Option<DroppedChanges>) {
    let (fixture, path, target) = in_docs("");
    let source = fixture.oid(&branch(1));
    run(&path, commands);
    let finished = fixture.repo.finish_resolution(&finish(1)).unwrap();
    let Finish::Finished { head } = finished else {
        panic!("{finished:?}");
    };
    let look = || fixture.repo.keep_left_out(&name(1), (source, target), head);
    let found = look().unwrap();
    assert_eq!(look().unwrap(), found, "a second look");
    (fixture, (source, target), found)
}

fn run(path: &Path, commands: &[&str]) {
    for command in commands {
        git(path, &command.split(' ').collect::<Vec<_>>());
    }
}

#[test]
fn a_merge_that_takes_the_targets_side_is_told_and_the_work_kept() {
    let (fixture, (source, _), found) = settled(&["checkout -q MERGE_HEAD -- docs"]);
    let kept = format!("{KEPT}{}", name(1));
    assert_eq!(fixture.oid(&kept), source);
    let found = found.unwrap();
    assert_eq!((found.files, found.kept), (vec!["docs".to_owned()], kept));
    assert_eq!(found.undone, Vec::<String>::new());
    let key = format!("left-out-{}", name(1));
    assert!(fixture.repo.is_kept(&key).unwrap());
    fixture.git(&["update-ref", "-d", &format!("{KEPT}{}", name(1))]);
    assert!(!fixture.repo.is_kept(&key).unwrap());
}

#[test]
fn a_merge_with_something_of_the_work_leaves_nothing_out() {
    let (fixture, _, found) = settled(&["checkout -q HEAD -- docs"]);
    assert_eq!(found, None);
    assert_eq!(fixture.git(&["for-each-ref", "refs/swarm/rescue"]), "");
}

/// Work in two files, of which only one is in conflict.
fn in_two_files(settle: impl Fn(&Path, Oid) -> Oid) -> Option<DroppedChanges> {
    let fixture = Fixture::new();
    fixture.commit(&[("docs", "before\n")]);
    let (path, source) = fixture.attempt(1, &[("docs", "agent\n"), ("own", "agent\n")]);
    let target = fixture.commit(&[("docs", "person\n")]);
    let started = fixture.repo.start_resolution(&name(1), &branch(1), target);
    assert_eq!(started.unwrap(), ["docs"]);
    let head = settle(&path, target);
    let finished = fixture.repo.finish_resolution(&finish(1)).unwrap();
    assert_eq!(finished, Finish::Finished { head });
    let merged = (source, target);
    fixture.repo.keep_left_out(&name(1), merged, head).unwrap()
}

#[test]
fn a_file_that_is_taken_from_the_target_is_a_decision_where_the_history_has_the_work() {
    let found = in_two_files(|path, _| {
        run(path, &["checkout -q MERGE_HEAD -- docs"]);
        commit_in(path, &[])
    });
    assert_eq!(found, None);
}

#[test]
fn work_on_a_file_that_the_target_has_renamed_is_not_left_out() {
    let fixture = Fixture::new();
    let text = |first: &str| format!("{first}\n{}", "line\n".repeat(30));
    fixture.commit(&[("docs", "before\n"), ("old", &text("before"))]);
    let (path, source) = fixture.attempt(1, &[("old", &text("agent")), ("docs", "agent\n")]);
    fixture.git(&["mv", "old", "new"]);
    let target = fixture.commit(&[("docs", "person\n")]);
    let started = fixture.repo.start_resolution(&name(1), &branch(1), target);
    assert_eq!(started.unwrap(), ["docs"]);
    run(&path, &["checkout -q MERGE_HEAD -- docs"]);
    let finished = fixture.repo.finish_resolution(&finish(1)).unwrap();
    let Finish::Finished { head } = finished else {
        panic!("{finished:?}");
    };
    assert_eq!(git(&path, &["show", "HEAD:new"]), text("agent").trim_end());
    let found = fixture.repo.keep_left_out(&name(1), (source, target), head);
    assert_eq!(found.unwrap(), None);
}

/// `git merge -s ours`: in the history it is a merge like any other.
#[test]
fn a_merge_that_takes_back_what_the_target_had_got_is_told() {
    let fixture = Fixture::new();
    fixture.commit(&[("docs", "before\n"), ("other", "before\n")]);
    let (path, source) = fixture.attempt(1, &[("docs", "agent\n")]);
    let target = fixture.commit(&[("docs", "person\n"), ("other", "person\n"), ("new", "n")]);
    let started = fixture.repo.start_resolution(&name(1), &branch(1), target);
    assert_eq!(started.unwrap(), ["docs"]);
    run(&path, &["checkout -q HEAD -- .", "rm -qf new"]);
    let finished = fixture.repo.finish_resolution(&finish(1)).unwrap();
    let Finish::Finished { head } = finished else {
        panic!("{finished:?}");
    };
    let found = fixture.repo.keep_left_out(&name(1), (source, target), head);
    let found = found.unwrap().unwrap();
    assert_eq!(found.undone, ["new", "other"]);
    assert_eq!(found.files, Vec::<String>::new());
}

#[test]
fn work_that_was_made_anew_without_a_file_is_told() {
    let found = in_two_files(|path, target| {
        run(path, &[&format!("reset -q --hard {target}")]);
        commit_in(path, &[("docs", "both\n")])
    });
    assert_eq!(found.unwrap().files, ["own"]);
}

#[test]
fn work_that_was_made_anew_as_a_whole_leaves_nothing_out() {
    let found = in_two_files(|path, target| {
        run(path, &[&format!("reset -q --hard {target}")]);
        commit_in(path, &[("docs", "both\n"), ("own", "agent\n")])
    });
    assert_eq!(found, None);
}

/// As an agent can that looks for what is in its way: the note beside the index goes with the
/// merge.
#[test]
fn work_comes_back_though_the_note_of_its_merge_is_gone() {
    let (fixture, path, target) = in_docs("");
    let source = fixture.oid(&branch(1));
    git(&path, &["reset", "-q", "--hard", "MERGE_HEAD"]);
    let beside = git(&path, &["rev-parse", "--git-path", "swarm-resolution"]);
    fs::remove_file(path.join(beside)).unwrap();
    let finished = || fixture.repo.finish_resolution(&finish(1)).unwrap();
    assert_eq!(finished(), Finish::NotStarted);
    assert_eq!(fixture.oid(&branch(1)), source);
    let started = fixture.repo.start_resolution(&name(1), &branch(1), target);
    assert_eq!(started.unwrap(), ["docs"]);
    write(&path, "docs", "both\n");
    assert!(matches!(finished(), Finish::Finished { .. }));
    // Nothing of it is done a second time.
    assert_eq!(finished(), Finish::NotStarted);
}
