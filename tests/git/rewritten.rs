//! Landed work in a rewritten history, as people rewrite one.

use swarm::git::{BuildMerge, BuildOutcome, Land, Landing, Oid};

use crate::fixture::{
    Fixture, TIME, branch, changed_line, commit_in, git, identity, try_git, write,
};

/// Merges the work of an attempt into main, as swarm lands it.
fn land(fixture: &Fixture, number: u32, source: Oid) -> Landing {
    let built = fixture.repo.build_merge(&BuildMerge {
        target_branch: "main".into(),
        source,
        message: format!("Merge idea-{number:03}\n\nSwarm-Idea: idea-{number:03}\nSwarm-Op: e1\n"),
        identity: identity(),
        time: TIME,
    });
    let BuildOutcome::Built { commit, target, .. } = built.unwrap() else {
        panic!("it does not merge");
    };
    fixture
        .repo
        .land(&Land {
            branch: "main".into(),
            expected: target,
            commit,
        })
        .unwrap();
    Landing {
        commit,
        since: None,
    }
}

/// Lands one commit with these files.
fn landed(fixture: &Fixture, number: u32, files: &[(&str, &str)]) -> Landing {
    let (_, source) = fixture.attempt(number, files);
    land(fixture, number, source)
}

/// Where main has what had landed at `old`.
fn found(fixture: &Fixture, old: Oid, landings: &[Landing]) -> Vec<Option<Landing>> {
    let history = (old, fixture.oid("main"));
    let found = fixture.repo.find_landings(history, landings).unwrap();
    fixture.check();
    found
}

// As what is found is given.
#[allow(clippy::unnecessary_wraps)]
fn at(fixture: &Fixture, commit: &str, since: Option<&str>) -> Option<Landing> {
    Some(Landing {
        commit: fixture.oid(commit),
        since: since.map(|since| fixture.oid(since)),
    })
}

/// A branch `upstream` with the commit of a colleague, from where main is now.
fn colleague(fixture: &Fixture, files: &[(&str, &str)]) {
    fixture.git(&["checkout", "-q", "-b", "upstream"]);
    fixture.commit(files);
    fixture.git(&["checkout", "-q", "main"]);
}

#[test]
fn a_linear_rebase_keeps_each_landing_as_its_last_commit() {
    let fixture = Fixture::new();
    colleague(&fixture, &[("c", "c\n")]);
    let one = landed(&fixture, 1, &[("one", "1\n")]);
    let (path, _) = fixture.attempt(2, &[("two", "2\n")]);
    let source = commit_in(&path, &[("more", "2\n")]);
    let two = land(&fixture, 2, source);
    let old = fixture.oid("main");
    fixture.git(&["rebase", "-q", "upstream"]);
    let expected = [
        at(&fixture, "main~2", Some("main~3")),
        // Both commits of it, not only the last.
        at(&fixture, "main", Some("main~2")),
    ];
    assert_eq!(found(&fixture, old, &[one, two]), expected);
    // And once more: what landed is no merge any more.
    let landings = expected.map(Option::unwrap);
    let old = fixture.oid("main");
    fixture.git(&["checkout", "-q", "upstream"]);
    fixture.commit(&[("d", "d\n")]);
    fixture.git(&["checkout", "-q", "main"]);
    fixture.git(&["rebase", "-q", "upstream"]);
    let expected = [
        at(&fixture, "main~2", Some("main~3")),
        at(&fixture, "main", Some("main~2")),
    ];
    assert_eq!(found(&fixture, old, &landings), expected);
}

#[test]
fn a_rebase_that_keeps_merges_keeps_each_landing_as_a_merge() {
    let fixture = Fixture::new();
    colleague(&fixture, &[("c", "c\n")]);
    let (path, _) = fixture.attempt(1, &[("one", "1\n")]);
    let source = commit_in(&path, &[("more", "1\n")]);
    let one = land(&fixture, 1, source);
    let two = landed(&fixture, 2, &[("two", "2\n")]);
    let old = fixture.oid("main");
    fixture.git(&["rebase", "-q", "--rebase-merges", "upstream"]);
    assert_eq!(
        found(&fixture, old, &[one, two]),
        [at(&fixture, "main~1", None), at(&fixture, "main", None)]
    );
}

#[test]
fn an_amended_merge_and_other_messages_keep_what_landed() {
    let fixture = Fixture::new();
    let one = landed(&fixture, 1, &[("one", "1\n")]);
    let old = fixture.oid("main");
    fixture.git(&["commit", "-q", "--amend", "-m", "Add one"]);
    assert_eq!(found(&fixture, old, &[one]), [at(&fixture, "main", None)]);
    // As `filter-repo` does: each commit is another one.
    let script = "git fast-export main | sed 's/^first$/First/' | git fast-import --force --quiet";
    let alias = format!("alias.filter=!{script}");
    fixture.git(&["-c", &alias, "filter"]);
    assert_ne!(fixture.oid("main~1"), fixture.oid(&format!("{old}~1")));
    assert_eq!(found(&fixture, old, &[one]), [at(&fixture, "main", None)]);
}

#[test]
fn a_landing_that_an_interactive_rebase_drops_is_missing_and_the_others_are_kept() {
    let fixture = Fixture::new();
    let landings = [1, 2, 3].map(|number| {
        let name = format!("file-{number}");
        landed(&fixture, number, &[(&name, "x\n")])
    });
    let old = fixture.oid("main");
    let second = landings[1].commit.to_string();
    fixture.git(&["rebase", "-q", "--onto", &format!("{second}^1"), &second]);
    assert_eq!(
        found(&fixture, old, &landings),
        [
            Some(landings[0]),
            None,
            at(&fixture, "main", Some("main~1"))
        ]
    );
}

#[test]
fn a_landing_whose_last_commit_was_lost_is_missing() {
    let fixture = Fixture::new();
    let (path, first) = fixture.attempt(1, &[("one", "1\n")]);
    let source = commit_in(&path, &[("tail", "1\n")]);
    let one = land(&fixture, 1, source);
    let old = fixture.oid("main");
    fixture.git(&["reset", "-q", "--hard", "HEAD~1"]);
    fixture.commit(&[("c", "c\n")]);
    fixture.git(&["cherry-pick", &first.to_string()]);
    assert_eq!(found(&fixture, old, &[one]), [None]);
    fixture.git(&["cherry-pick", &source.to_string()]);
    assert_eq!(
        found(&fixture, old, &[one]),
        [at(&fixture, "main", Some("main~2"))]
    );
}

#[test]
fn after_a_reset_to_the_squash_of_a_forge_what_landed_is_in_the_squash() {
    let fixture = Fixture::new();
    let base = fixture.oid("main").to_string();
    let (path, _) = fixture.attempt(1, &[("one", "1\n")]);
    let source = commit_in(&path, &[("one", "1\nand more\n")]);
    let one = land(&fixture, 1, source);
    let old = fixture.oid("main");
    fixture.git(&["reset", "-q", "--hard", &base]);
    fixture.commit(&[("c", "c\n")]);
    fixture.git(&["merge", "-q", "--squash", &old.to_string()]);
    fixture.git(&["commit", "-q", "-m", "Squashed (#1)"]);
    fixture.commit(&[("d", "d\n")]);
    assert_eq!(
        found(&fixture, old, &[one]),
        [at(&fixture, "main~1", Some("main~2"))]
    );
}

#[test]
fn several_landings_squashed_into_one_commit_are_kept_even_if_they_changed_the_same_lines() {
    let fixture = Fixture::new();
    let base = fixture.oid("main").to_string();
    let one = landed(&fixture, 1, &[("src/b.txt", "one\n")]);
    let two = landed(&fixture, 2, &[("src/b.txt", "two\n")]);
    let three = landed(&fixture, 3, &[("three", "3\n")]);
    let old = fixture.oid("main");
    fixture.git(&["reset", "-q", "--hard", &base]);
    fixture.commit(&[("c", "c\n")]);
    fixture.git(&["merge", "-q", "--squash", &old.to_string()]);
    fixture.git(&["commit", "-q", "-m", "All of it"]);
    fixture.commit(&[("d", "d\n")]);
    let squash = at(&fixture, "main~1", Some("main~2"));
    assert_eq!(found(&fixture, old, &[one, two, three]), [squash; 3]);
}

#[test]
fn a_cherry_picked_landing_is_found_on_another_branch() {
    let fixture = Fixture::new();
    let base = fixture.oid("main").to_string();
    let one = landed(&fixture, 1, &[("one", "1\n")]);
    let two = landed(&fixture, 2, &[("two", "2\n")]);
    let old = fixture.oid("main");
    fixture.git(&["reset", "-q", "--hard", &base]);
    fixture.commit(&[("release", "1\n")]);
    fixture.git(&["cherry-pick", "-m", "1", &two.commit.to_string()]);
    assert_eq!(
        found(&fixture, old, &[one, two]),
        [None, at(&fixture, "main", Some("main~1"))]
    );
}

#[test]
fn a_conflict_resolved_while_rebasing_is_found_by_its_trees() {
    let fixture = Fixture::new();
    colleague(&fixture, &[("src/b.txt", "colleague\n")]);
    let one = landed(&fixture, 1, &[("src/b.txt", "one\n")]);
    let two = landed(&fixture, 2, &[("two", "2\n")]);
    let old = fixture.oid("main");
    assert!(
        !try_git(&fixture.root(), &["rebase", "-q", "upstream"])
            .status
            .success()
    );
    // The person takes the landed side, so that the tree has all of it.
    write(&fixture.root(), "src/b.txt", "one\n");
    fixture.git(&["add", "-A"]);
    fixture.git(&["-c", "core.editor=true", "rebase", "--continue"]);
    assert_eq!(
        found(&fixture, old, &[one, two]),
        [
            at(&fixture, "main~1", Some("main~2")),
            at(&fixture, "main", Some("main~1"))
        ]
    );
}

#[test]
fn work_with_a_merge_of_its_own_counts_only_with_what_the_merge_resolved() {
    let fixture = Fixture::new();
    let base = fixture.oid("main").to_string();
    let (path, source) = fixture.attempt(1, &[("src/b.txt", "agent\n"), ("one", "1\n")]);
    fixture.commit(&[("src/b.txt", "person\n")]);
    try_git(&path, &["merge", "-q", "main"]);
    let resolved = commit_in(&path, &[("src/b.txt", "both\n")]);
    let one = land(&fixture, 1, resolved);
    let old = fixture.oid("main");
    fixture.git(&["reset", "-q", "--hard", &base]);
    fixture.commit(&[("c", "c\n")]);
    fixture.git(&["cherry-pick", &source.to_string()]);
    assert_eq!(found(&fixture, old, &[one]), [None]);
    fixture.commit(&[("src/b.txt", "both\n")]);
    let kept = found(&fixture, old, &[one]);
    assert_eq!(kept[0].map(|it| it.commit), Some(fixture.oid("main")));
}

#[test]
fn lines_that_later_landings_changed_are_found_by_their_patch() {
    let fixture = Fixture::new();
    colleague(&fixture, &[("src/a.txt", &changed_line(20, "colleague"))]);
    let one = landed(&fixture, 1, &[("src/a.txt", &changed_line(3, "one"))]);
    let two = landed(&fixture, 2, &[("src/a.txt", &changed_line(3, "two"))]);
    let old = fixture.oid("main");
    fixture.git(&["rebase", "-q", "upstream"]);
    assert_eq!(
        found(&fixture, old, &[one, two]),
        [
            at(&fixture, "main~1", Some("main~2")),
            at(&fixture, "main", Some("main~1"))
        ]
    );
}

#[test]
fn a_reset_that_only_forgets_loses_what_landed_and_going_back_finds_it() {
    let fixture = Fixture::new();
    let before = fixture.oid("main").to_string();
    let one = landed(&fixture, 1, &[("one", "1\n")]);
    let old = fixture.oid("main");
    fixture.git(&["reset", "-q", "--hard", &before]);
    assert_eq!(found(&fixture, old, &[one]), [None]);
    let lost = fixture.oid("main");
    fixture.git(&["reset", "-q", "--hard", &old.to_string()]);
    assert_eq!(found(&fixture, lost, &[one]), [Some(one)]);
}

#[test]
fn a_branch_that_a_person_merged_again_by_hand_is_found_in_that_merge() {
    let fixture = Fixture::new();
    let before = fixture.oid("main").to_string();
    let one = landed(&fixture, 1, &[("one", "1\n")]);
    let old = fixture.oid("main");
    fixture.git(&["reset", "-q", "--hard", &before]);
    fixture.commit(&[("c", "c\n")]);
    fixture.git(&["merge", "-q", "--no-ff", "-m", "By hand", &branch(1)]);
    assert_eq!(found(&fixture, old, &[one]), [at(&fixture, "main", None)]);
}

#[test]
fn an_unrelated_history_lacks_what_landed() {
    let fixture = Fixture::new();
    let one = landed(&fixture, 1, &[("one", "1\n")]);
    let old = fixture.oid("main");
    let root = fixture.root();
    git(&root, &["checkout", "-q", "--orphan", "other"]);
    fixture.commit(&[("one", "not that\n")]);
    fixture.git(&["branch", "-f", "main", "other"]);
    assert_eq!(found(&fixture, old, &[one]), [None]);
    let commits = [one.commit].into();
    let gone = fixture
        .repo
        .commits_gone(&commits, (old, fixture.oid("main")));
    assert_eq!(gone.unwrap(), commits);
}

#[test]
fn in_a_clone_that_never_had_the_old_history_what_landed_is_missing() {
    let fixture = Fixture::new();
    let never = Oid::from_str(&"1".repeat(40)).unwrap();
    let lost = Landing {
        commit: never,
        since: None,
    };
    assert_eq!(found(&fixture, never, &[lost]), [None]);
    let here = fixture.oid("main");
    let gone = fixture
        .repo
        .commits_gone(&[never, here].into(), (never, here));
    assert_eq!(gone.unwrap(), [never].into());
}

#[test]
fn the_configuration_of_a_person_does_not_change_what_is_found() {
    let fixture = Fixture::new();
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.context", "0"),
        ("diff.algorithm", "patience"),
        ("diff.renames", "copies"),
        ("diff.external", "false"),
        ("log.showSignature", "true"),
        ("log.diffMerges", "off"),
        ("color.ui", "always"),
    ] {
        fixture.git(&["config", key, value]);
    }
    let before = fixture.oid("main").to_string();
    fixture.git(&["mv", "README", "README.md"]);
    fixture.commit(&[]);
    let one = landed(&fixture, 1, &[("src/a.txt", &changed_line(3, "one"))]);
    let old = fixture.oid("main");
    fixture.git(&["reset", "-q", "--hard", &before]);
    fixture.commit(&[("c", "c\n")]);
    fixture.git(&["cherry-pick", "-m", "1", &one.commit.to_string()]);
    assert_eq!(
        found(&fixture, old, &[one]),
        [at(&fixture, "main", Some("main~1"))]
    );
}
