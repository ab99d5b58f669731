//! Conflicts settled in the worktree of the attempt.

use std::fs;
use std::path::PathBuf;

use swarm::git::{Finish, FinishResolution, GitError, KeptWork, Oid, Proof, Snapshot, rescue_ref};

use crate::fixture::{Fixture, TIME, branch, commit_in, git, identity, name, read, write};
use crate::worktrees::release;

/// Not in conflict, and meant.
const MARKS: &str = "<<<<<<< one\n=======\n>>>>>>> other\n";

pub fn finish(number: u32) -> FinishResolution {
    FinishResolution {
        name: name(number),
        branch: branch(number),
        message: "Settle a conflict\n".into(),
        identity: identity(),
        time: TIME,
    }
}

#[test]
fn a_conflict_is_left_in_the_worktree_settled_and_committed() {
    let fixture = Fixture::new();
    let (path, tip) = fixture.attempt(1, &[("src/b.txt", "agent\n")]);
    let target = fixture.commit(&[("src/b.txt", "person\n"), ("other", "o")]);
    let start = || {
        fixture
            .repo
            .start_resolution(&name(1), &branch(1), target)
            .unwrap()
    };
    assert_eq!(start(), ["src/b.txt"]);
    assert!(read(&path, "src/b.txt").contains("<<<<<<<"));
    let open = Finish::StillConflicted {
        files: vec!["src/b.txt".into()],
    };
    assert_eq!(fixture.repo.finish_resolution(&finish(1)).unwrap(), open);
    git(&path, &["add", "-A"]);
    assert_eq!(
        fixture.repo.finish_resolution(&finish(1)).unwrap(),
        open,
        "markers were added as they are"
    );
    write(&path, "src/b.txt", "both\n");
    assert!(start().is_empty());
    let Finish::Finished { head } = fixture.repo.finish_resolution(&finish(1)).unwrap() else {
        panic!()
    };
    assert_eq!(
        fixture.repo.finish_resolution(&finish(1)).unwrap(),
        Finish::NotStarted
    );
    assert_eq!(
        git(&path, &["show", "-s", "--format=%P", "HEAD"]),
        format!("{tip} {target}")
    );
    assert_eq!(
        (
            fixture.oid(&branch(1)),
            git(&path, &["status", "--porcelain"])
        ),
        (head, String::new())
    );
    assert!(start().is_empty());
    fixture.check();
}

#[test]
fn a_deletion_against_a_change_needs_a_decision() {
    let fixture = Fixture::new();
    let (path, _) = fixture.attempt(1, &[("src/b.txt", "agent\n")]);
    fixture.git(&["rm", "-q", "src/b.txt"]);
    let target = fixture.commit(&[]);
    fixture
        .repo
        .start_resolution(&name(1), &branch(1), target)
        .unwrap();
    let open = Finish::StillConflicted {
        files: vec!["src/b.txt".into()],
    };
    assert_eq!(fixture.repo.finish_resolution(&finish(1)).unwrap(), open);
    git(&path, &["rm", "-q", "src/b.txt"]);
    assert!(matches!(
        fixture.repo.finish_resolution(&finish(1)).unwrap(),
        Finish::Finished { .. }
    ));
}

#[test]
fn what_the_agent_committed_itself_counts() {
    let fixture = Fixture::new();
    let (path, _) = fixture.attempt(1, &[("src/b.txt", "agent\n")]);
    let target = fixture.commit(&[("src/b.txt", "person\n")]);
    fixture
        .repo
        .start_resolution(&name(1), &branch(1), target)
        .unwrap();
    let head = commit_in(&path, &[("src/b.txt", "both\n")]);
    assert_eq!(
        fixture.repo.finish_resolution(&finish(1)).unwrap(),
        Finish::Finished { head }
    );
}

/// How a checkpoint keeps the first attempt.
fn snapshot() -> Snapshot {
    Snapshot {
        name: name(1),
        reference: "refs/swarm/checkpoint-work/mid/one".into(),
        message: "wip\n".into(),
        identity: identity(),
        time: TIME,
    }
}

#[test]
fn an_open_merge_is_kept_for_people_and_is_not_the_attempts_own_work() {
    let fixture = Fixture::new();
    let (path, tip) = fixture.attempt(1, &[("src/b.txt", "agent\n")]);
    let target = fixture.commit(&[("src/b.txt", "person\n"), ("other", "o")]);
    let want = snapshot();
    fixture
        .repo
        .start_resolution(&name(1), &branch(1), target)
        .unwrap();
    write(&path, "src/b.txt", "half settled\n");
    let own = KeptWork { tip, wip: None };
    for _ in 0..2 {
        let kept = fixture.repo.keep_attempt(&want, &branch(1)).unwrap();
        assert_eq!(kept, Some(own));
    }
    assert_eq!(fixture.oid(&want.reference), tip);
    let of_merge =
        |reference: &str| fixture.git(&["show", &format!("{reference}-merge:src/b.txt")]);
    assert_eq!(of_merge(&want.reference), "half settled");
    let abandoned = release(1, Proof::Abandoned);
    let released = fixture.repo.release_worktree(&abandoned).unwrap();
    assert_eq!(released.rescued, None);
    assert_eq!(of_merge(&rescue_ref(&name(1))), "half settled");
}

#[test]
fn what_is_done_after_a_settled_merge_is_the_attempts_own_work() {
    let fixture = Fixture::new();
    let (path, _) = fixture.attempt(1, &[("src/b.txt", "agent\n")]);
    let target = fixture.commit(&[("src/b.txt", "person\n")]);
    fixture
        .repo
        .start_resolution(&name(1), &branch(1), target)
        .unwrap();
    let tip = commit_in(&path, &[("src/b.txt", "both\n")]);
    write(&path, "more.txt", "more\n");
    let kept = fixture
        .repo
        .keep_attempt(&snapshot(), &branch(1))
        .unwrap()
        .unwrap();
    assert_eq!(kept.tip, tip);
    let wip = kept.wip.expect("the work since is kept");
    assert_eq!(fixture.git(&["show", &format!("{wip}:more.txt")]), "more");
}

#[test]
fn an_aborted_merge_leaves_the_branch_and_keeps_what_was_tried() {
    let fixture = Fixture::new();
    let (path, tip) = fixture.attempt(1, &[("src/b.txt", "agent\n")]);
    let target = fixture.commit(&[("src/b.txt", "person\n"), ("other", "o")]);
    assert!(!fixture.repo.abort_resolution(&finish(1)).unwrap());
    fixture
        .repo
        .start_resolution(&name(1), &branch(1), target)
        .unwrap();
    write(&path, "src/b.txt", "half settled\n");
    assert!(fixture.repo.abort_resolution(&finish(1)).unwrap());
    assert_eq!(
        (
            fixture.oid(&branch(1)),
            git(&path, &["status", "--porcelain"])
        ),
        (tip, String::new())
    );
    assert_eq!(
        fixture.git(&["show", &format!("{}:src/b.txt", rescue_ref(&name(1)))]),
        "half settled"
    );
    assert_eq!(
        fixture.repo.finish_resolution(&finish(1)).unwrap(),
        Finish::NotStarted
    );
    write(&path, "dirty", "d");
    let refused = fixture.repo.start_resolution(&name(1), &branch(1), target);
    assert!(
        matches!(refused, Err(GitError::Dirty { .. })),
        "{refused:?}"
    );
    fs::remove_file(path.join("dirty")).unwrap();
    git(&path, &["checkout", "-q", "--detach"]);
    let refused = fixture.repo.start_resolution(&name(1), &branch(1), target);
    assert!(
        matches!(refused, Err(GitError::OffBranch { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_conflict_that_was_committed_as_it_lay_there_is_not_settled() {
    let fixture = Fixture::new();
    let (path, _) = fixture.attempt(1, &[("src/b.txt", "agent\n"), ("marks", MARKS)]);
    let target = fixture.commit(&[("src/b.txt", "person\n")]);
    let start = |target| {
        let started = fixture.repo.start_resolution(&name(1), &branch(1), target);
        started.unwrap()
    };
    start(target);
    git(&path, &["commit", "-qam", "markers and all"]);
    commit_in(&path, &[("more", "m")]);
    let open = Finish::StillConflicted {
        files: vec!["src/b.txt".into()],
    };
    assert_eq!(fixture.repo.finish_resolution(&finish(1)).unwrap(), open);
    // Nor is it hidden by what the target has by now.
    let later = fixture.commit(&[("other", "o")]);
    assert_eq!(start(later), ["src/b.txt"]);
    assert_eq!(fixture.repo.finish_resolution(&finish(1)).unwrap(), open);
    let head = commit_in(&path, &[("src/b.txt", "both\n")]);
    assert_eq!(
        fixture.repo.finish_resolution(&finish(1)).unwrap(),
        Finish::Finished { head }
    );
    assert!(start(later).is_empty());
}

#[test]
fn a_conflict_that_was_committed_as_it_lay_there_goes_with_its_merge() {
    let fixture = Fixture::new();
    let (path, tip) = fixture.attempt(1, &[("src/b.txt", "agent\n")]);
    let target = fixture.commit(&[("src/b.txt", "person\n")]);
    fixture
        .repo
        .start_resolution(&name(1), &branch(1), target)
        .unwrap();
    git(&path, &["commit", "-qam", "markers and all"]);
    commit_in(&path, &[("more", "m")]);
    assert!(fixture.repo.abort_resolution(&finish(1)).unwrap());
    assert_eq!(fixture.oid(&branch(1)), tip);
    assert_eq!(git(&path, &["status", "--porcelain"]), "");
    let kept = format!("{}:more", rescue_ref(&name(1)));
    assert_eq!(fixture.git(&["show", &kept]), "m");
    let again = fixture.repo.start_resolution(&name(1), &branch(1), target);
    // Killed when the branch had gone back, and nothing else.
    assert_eq!(again.unwrap(), ["src/b.txt"]);
    git(&path, &["commit", "-qam", "markers and all"]);
    let reference = format!("refs/heads/{}", branch(1));
    fixture.git(&["update-ref", &reference, &tip.to_string()]);
    assert!(fixture.repo.abort_resolution(&finish(1)).unwrap());
    assert_eq!(fixture.oid(&branch(1)), tip);
    assert_eq!(git(&path, &["status", "--porcelain"]), "");
}

/// A file that shows what a conflict looks like, with the part below it changed on both sides.
#[test]
fn markers_that_a_side_brought_are_no_conflict_left_open() {
    let fixture = Fixture::new();
    let shown = |rest: &str| format!("{MARKS}{}{rest}\n", "\n".repeat(8));
    fixture.commit(&[("docs", &shown("before"))]);
    let (path, _) = fixture.attempt(1, &[("docs", &shown("agent"))]);
    let target = fixture.commit(&[("docs", &shown("person"))]);
    let finished = || fixture.repo.finish_resolution(&finish(1)).unwrap();
    let open = Finish::StillConflicted {
        files: vec!["docs".into()],
    };
    let started = fixture
        .repo
        .start_resolution(&name(1), &branch(1), target)
        .unwrap();
    assert_eq!(started, ["docs"]);
    assert_eq!(finished(), open);
    git(&path, &["commit", "-qam", "markers and all"]);
    assert_eq!(finished(), open);
    let head = commit_in(&path, &[("docs", &shown("both"))]);
    assert_eq!(finished(), Finish::Finished { head });
    // The same where nobody commits it.
    let target = fixture.commit(&[("docs", &format!("{MARKS}{}", shown("person again")))]);
    let started = fixture
        .repo
        .start_resolution(&name(1), &branch(1), target)
        .unwrap();
    assert_eq!(started, ["docs"]);
    assert_eq!(finished(), open);
    write(&path, "docs", &format!("{MARKS}{}", shown("both again")));
    assert!(matches!(finished(), Finish::Finished { .. }));
}

/// A conflict in `docs` between an agent's and a person's last line; above it this text.
pub fn in_docs(above: &str) -> (Fixture, PathBuf, Oid) {
    let fixture = Fixture::new();
    let text = |last: &str| format!("{above}{}{last}\n", "\n".repeat(8));
    fixture.commit(&[("docs", &text("before"))]);
    let (path, _) = fixture.attempt(1, &[("docs", &text("agent"))]);
    let target = fixture.commit(&[("docs", &text("person"))]);
    let started = fixture.repo.start_resolution(&name(1), &branch(1), target);
    assert_eq!(started.unwrap(), ["docs"]);
    (fixture, path, target)
}

#[test]
fn what_is_left_of_a_conflict_leaves_it_open() {
    let open = Finish::StillConflicted {
        files: vec!["docs".into()],
    };
    let without = |text: &str, mark: &str| -> String {
        let lines = text.split_inclusive('\n');
        lines.filter(|line| !line.starts_with(mark)).collect()
    };
    for (above, gone) in [("", ">>>>>>> "), ("", "<<<<<<< "), (MARKS, ">>>>>>> other")] {
        let (fixture, path, _) = in_docs(above);
        write(&path, "docs", &without(&read(&path, "docs"), gone));
        assert_eq!(fixture.repo.finish_resolution(&finish(1)).unwrap(), open);
    }
    // The one that is there on purpose goes, the real one stays.
    let (fixture, path, _) = in_docs(MARKS);
    write(&path, "docs", &read(&path, "docs").replace(MARKS, ""));
    assert_eq!(fixture.repo.finish_resolution(&finish(1)).unwrap(), open);
    git(&path, &["commit", "-qam", "the wrong one"]);
    assert_eq!(fixture.repo.finish_resolution(&finish(1)).unwrap(), open);
    // As long as the repository wants them.
    let fixture = Fixture::new();
    fixture.commit(&[
        (".gitattributes", "docs conflict-marker-size=32\n"),
        ("docs", "a\n"),
    ]);
    fixture.attempt(1, &[("docs", "agent\n")]);
    let target = fixture.commit(&[("docs", "person\n")]);
    let started = fixture.repo.start_resolution(&name(1), &branch(1), target);
    assert_eq!(started.unwrap(), ["docs"]);
    assert_eq!(fixture.repo.finish_resolution(&finish(1)).unwrap(), open);
}

/// The commit that holds the unfinished resolution, and its reference.
fn saved(fixture: &Fixture) -> (Option<Oid>, String) {
    let found = fixture.repo.saved_resolution(&name(1)).unwrap();
    let reference = format!("refs/swarm/open/{}-resolution", name(1));
    (
        found,
        fixture.git(&["for-each-ref", "--format=%(objectname)", &reference]),
    )
}

/// Two files in conflict; `src/b.txt` and a file beside them are settled, `other` is not.
fn half_settled() -> (Fixture, PathBuf) {
    let fixture = Fixture::new();
    fixture.commit(&[("other", "o\n")]);
    let (path, _) = fixture.attempt(1, &[("src/b.txt", "agent\n"), ("other", "agent\n")]);
    let target = fixture.commit(&[("src/b.txt", "person\n"), ("other", "person\n")]);
    let started = fixture.repo.start_resolution(&name(1), &branch(1), target);
    assert_eq!(started.unwrap(), ["other", "src/b.txt"]);
    write(&path, "src/b.txt", "both\n");
    git(&path, &["add", "src/b.txt"]);
    write(&path, "new.txt", "new\n");
    (fixture, path)
}

#[test]
fn a_conflict_is_laid_out_again_on_a_target_that_moved_with_what_was_settled() {
    let (fixture, path) = half_settled();
    let later = fixture.commit(&[("third", "t\n")]);
    let start = || {
        let started = fixture.repo.start_resolution(&name(1), &branch(1), later);
        started.unwrap()
    };
    assert_eq!(start(), ["other", "src/b.txt"]);
    assert_eq!(git(&path, &["rev-parse", "MERGE_HEAD"]), later.to_string());
    assert_eq!(read(&path, "src/b.txt"), "both\n");
    assert_eq!(read(&path, "new.txt"), "new\n");
    assert_eq!(read(&path, "third"), "t\n");
    assert!(read(&path, "other").contains("<<<<<<<"));
    let (work, kept) = saved(&fixture);
    assert_eq!(work.unwrap().to_string(), kept);
    // Once it is there, another call changes nothing.
    assert_eq!(start(), ["other", "src/b.txt"]);
    assert_eq!(read(&path, "src/b.txt"), "both\n");
    write(&path, "other", "both\n");
    let finished = fixture.repo.finish_resolution(&finish(1)).unwrap();
    assert!(matches!(finished, Finish::Finished { .. }), "{finished:?}");
    assert_eq!(git(&path, &["status", "--porcelain"]), "");
    assert_eq!(
        git(&path, &["show", "HEAD:src/b.txt", "HEAD:new.txt"]),
        "both\nnew"
    );
    assert_eq!(saved(&fixture), (None, String::new()));
    fixture.check();
}

#[test]
fn what_was_settled_and_the_target_changed_since_is_saved_and_in_conflict_again() {
    let (fixture, path) = half_settled();
    let later = fixture.commit(&[("src/b.txt", "person again\n")]);
    let started = fixture.repo.start_resolution(&name(1), &branch(1), later);
    assert_eq!(started.unwrap(), ["other", "src/b.txt"]);
    let text = read(&path, "src/b.txt");
    assert!(text.contains("person again") && text.contains("<<<<<<<"));
    assert_eq!(read(&path, "new.txt"), "new\n");
    let (work, _) = saved(&fixture);
    let of_saved = format!("{}:src/b.txt", work.unwrap());
    assert_eq!(fixture.git(&["show", &of_saved]), "both");
    // The target moves once more: both are kept.
    write(&path, "src/b.txt", "all three\n");
    let last = fixture.commit(&[("fourth", "f\n")]);
    let started = fixture.repo.start_resolution(&name(1), &branch(1), last);
    assert_eq!(started.unwrap(), ["other", "src/b.txt"]);
    assert_eq!(read(&path, "src/b.txt"), "all three\n");
    assert_eq!(fixture.git(&["show", &of_saved]), "both");
    let (now, _) = saved(&fixture);
    let before = fixture.git(&["rev-list", "--parents", "-n1", &now.unwrap().to_string()]);
    assert!(before.contains(&work.unwrap().to_string()), "{before}");
    // An abort keeps it as well.
    assert!(fixture.repo.abort_resolution(&finish(1)).unwrap());
    assert_eq!(saved(&fixture), (None, String::new()));
    let kept = format!("{}:src/b.txt", rescue_ref(&name(1)));
    assert_eq!(fixture.git(&["show", &kept]), "all three");
    fixture.check();
}

#[test]
fn a_side_that_was_taken_as_a_whole_is_taken_again_on_a_target_that_moved() {
    let fixture = Fixture::new();
    let (path, _) = fixture.attempt(1, &[("src/b.txt", "agent\n")]);
    fixture.git(&["rm", "-q", "src/b.txt"]);
    let target = fixture.commit(&[]);
    let start = |target| {
        let started = fixture.repo.start_resolution(&name(1), &branch(1), target);
        started.unwrap()
    };
    assert_eq!(start(target), ["src/b.txt"]);
    git(&path, &["rm", "-q", "src/b.txt"]);
    let later = fixture.commit(&[("third", "t\n")]);
    assert_eq!(start(later), ["src/b.txt"]);
    assert!(!path.join("src/b.txt").exists());
    assert!(matches!(
        fixture.repo.finish_resolution(&finish(1)).unwrap(),
        Finish::Finished { .. }
    ));
    fixture.check();
}

#[test]
fn an_untouched_conflict_is_laid_out_again_and_nothing_is_named() {
    let fixture = Fixture::new();
    let (path, _) = fixture.attempt(1, &[("src/b.txt", "agent\n")]);
    let target = fixture.commit(&[("src/b.txt", "person\n")]);
    let start = |target| {
        let started = fixture.repo.start_resolution(&name(1), &branch(1), target);
        started.unwrap()
    };
    start(target);
    let later = fixture.commit(&[("third", "t\n")]);
    assert_eq!(start(later), ["src/b.txt"]);
    assert_eq!(git(&path, &["rev-parse", "MERGE_HEAD"]), later.to_string());
    assert_eq!(saved(&fixture).0, None);
}
