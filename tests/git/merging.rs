//! Merges in memory and replaying.

use swarm::git::{BuildMerge, BuildOutcome, ConflictClass, ConflictKind, Oid, Rebase, Rebased};

use crate::fixture::{Fixture, TIME, branch, changed_line, commit_in, git, identity, write};

pub fn merge(source: Oid) -> BuildMerge {
    BuildMerge {
        target_branch: "main".into(),
        source,
        message: "Land an idea\n\nSwarm-Idea: idea-001\nSwarm-Op: op-1\n".into(),
        identity: identity(),
        time: TIME,
    }
}

pub fn built(outcome: &BuildOutcome) -> Oid {
    match outcome {
        BuildOutcome::Built { commit, .. } => *commit,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_merge_is_built_and_nothing_moves() {
    let fixture = Fixture::new();
    let (_, source) = fixture.attempt(1, &[("src/a.txt", &changed_line(2, "agent"))]);
    let target = fixture.commit(&[("src/a.txt", &changed_line(18, "person"))]);
    let refs = fixture.git(&["for-each-ref"]);
    let outcome = fixture.repo.build_merge(&merge(source)).unwrap();
    let commit = built(&outcome);
    assert_eq!(
        outcome,
        BuildOutcome::Built {
            commit,
            target,
            simple_resolved: vec![]
        }
    );
    assert_eq!(fixture.repo.build_merge(&merge(source)).unwrap(), outcome);
    assert_eq!(fixture.git(&["for-each-ref"]), refs);
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    assert_eq!(
        fixture.git(&["show", "-s", "--format=%P", &commit.to_string()]),
        format!("{target} {source}")
    );
    assert_eq!(
        fixture.git(&[
            "show",
            "-s",
            "--format=%(trailers:key=Swarm-Op,valueonly)",
            &commit.to_string()
        ]),
        "op-1"
    );
    assert_eq!(
        fixture.repo.build_merge(&merge(target)).unwrap(),
        BuildOutcome::NothingToMerge { target }
    );
    fixture.check();
}

#[test]
fn simple_conflicts_are_settled_on_the_way() {
    let fixture = Fixture::new();
    fixture.commit(&[("f/code.rs", "fn a() {\n    one( 1 );\n}\nfn b() {}\n")]);
    let (path, _) = fixture.attempt(
        1,
        &[
            ("src/a.txt", &changed_line(5, "agent")),
            ("f/code.rs", "fn a() {\n    two(2);\n}\nfn b() {}\n"),
        ],
    );
    git(&path, &["update-index", "--chmod=+x", "src/a.txt"]);
    git(&path, &["commit", "-q", "-m", "mode"]);
    let source = fixture.oid(&branch(1));
    fixture.commit(&[
        ("src/a.txt", &changed_line(6, "person")),
        ("f/code.rs", "fn a() {\n\tone( 1 );\n}\nfn b() {}\n"),
    ]);
    let outcome = fixture.repo.build_merge(&merge(source)).unwrap();
    let BuildOutcome::Built {
        commit,
        simple_resolved,
        ..
    } = &outcome
    else {
        panic!("{outcome:?}")
    };
    assert_eq!(simple_resolved, &["f/code.rs", "src/a.txt"]);
    let text = fixture.git(&["show", &format!("{commit}:src/a.txt")]);
    assert!(text.contains("line 4\nagent\nperson\nline 7"), "{text}");
    assert_eq!(
        fixture.git(&["show", &format!("{commit}:f/code.rs")]),
        "fn a() {\n    two(2);\n}\nfn b() {}"
    );
    assert!(
        fixture
            .git(&["ls-tree", &commit.to_string(), "src/a.txt"])
            .starts_with("100755")
    );
    assert_eq!(fixture.repo.build_merge(&merge(source)).unwrap(), outcome);
    fixture.check();
}

/// What the agent wrote, what the person wrote, and what comes of it.
type Case<'a> = (Files<'a>, Files<'a>, ConflictKind, ConflictClass);
type Files<'a> = &'a [(&'a str, &'a str)];

#[test]
fn what_takes_judgement_is_told_with_its_class() {
    let fixture = Fixture::new();
    fixture.commit(&[
        ("gone", "1\n2\n3\n"),
        ("old name", &changed_line(1, "x")),
        ("image", "\0binary"),
    ]);
    let cases: [Case<'_>; 4] = [
        (
            &[("src/b.txt", "agent\n")],
            &[("src/b.txt", "person\n")],
            ConflictKind::Content,
            ConflictClass::Medium,
        ),
        (
            &[("new", "agent\n")],
            &[("new", "person\n")],
            ConflictKind::BothAdded,
            ConflictClass::Medium,
        ),
        (
            &[("image", "\0agent")],
            &[("image", "\0person")],
            ConflictKind::Binary,
            ConflictClass::Complex,
        ),
        (
            &[("dir", "a file\n")],
            &[("dir/inner", "in a directory\n")],
            ConflictKind::FileDirectory,
            ConflictClass::Complex,
        ),
    ];
    let start = fixture.oid("main");
    for (number, (agent, person, kind, class)) in (1..).zip(cases) {
        fixture.git(&["reset", "-q", "--hard", &start.to_string()]);
        let (_, source) = fixture.attempt(number, agent);
        let target = fixture.commit(person);
        let outcome = fixture.repo.build_merge(&merge(source)).unwrap();
        let BuildOutcome::Conflict {
            target: onto,
            class: found,
            files,
        } = outcome
        else {
            panic!("{kind:?}")
        };
        assert_eq!(
            (onto, found, files[0].kind),
            (target, class, kind),
            "{files:?}"
        );
    }
    fixture.check();
}

#[test]
fn renames_and_deletions_against_changes_are_complex() {
    let fixture = Fixture::new();
    let (path, _) = fixture.attempt(1, &[("src/a.txt", &changed_line(3, "agent"))]);
    let source = fixture.oid(&branch(1));
    let start = fixture.oid("main");
    let complex = |kind: ConflictKind| {
        let outcome = fixture.repo.build_merge(&merge(source)).unwrap();
        assert!(
            matches!(&outcome, BuildOutcome::Conflict { class: ConflictClass::Complex, files, .. }
                if files.iter().any(|file| file.kind == kind)),
            "{outcome:?}"
        );
    };
    fixture.git(&["rm", "-q", "src/a.txt"]);
    fixture.commit(&[]);
    complex(ConflictKind::ModifyDelete);
    fixture.git(&["reset", "-q", "--hard", &start.to_string()]);
    fixture.git(&["mv", "src/a.txt", "src/person.txt"]);
    fixture.commit(&[]);
    git(&path, &["mv", "src/a.txt", "src/agent.txt"]);
    let source = commit_in(&path, &[]);
    let outcome = fixture.repo.build_merge(&merge(source)).unwrap();
    assert!(
        matches!(
            outcome,
            BuildOutcome::Conflict {
                class: ConflictClass::Complex,
                ..
            }
        ),
        "{outcome:?}"
    );
}

#[test]
fn attributes_come_from_the_target_and_not_from_what_lies_around() {
    let fixture = Fixture::new();
    let (_, source) = fixture.attempt(1, &[("src/b.txt", "agent\n")]);
    fixture.commit(&[("src/b.txt", "person\n")]);
    write(&fixture.root(), ".gitattributes", "*.txt merge=union\n");
    let outcome = fixture.repo.build_merge(&merge(source)).unwrap();
    if fixture.repo.git_version() >= (2, 41) {
        assert!(
            matches!(outcome, BuildOutcome::Conflict { .. }),
            "{outcome:?}"
        );
    }
}

#[test]
fn a_branch_is_replayed_on_a_rewritten_target() {
    let fixture = Fixture::new();
    let old_base = fixture.commit(&[("secret", "oops")]);
    let (path, _) = fixture.attempt(1, &[("x", "x")]);
    let source = commit_in(&path, &[("y", "y")]);
    fixture.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let new_base = fixture.commit(&[("src/b.txt", "rewritten\n")]);
    let want = Rebase {
        source,
        old_base,
        new_base,
        identity: identity(),
        time: TIME,
    };
    let outcome = fixture.repo.rebase_source(&want).unwrap();
    let Rebased::Replayed { head, commits: 2 } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(fixture.repo.rebase_source(&want).unwrap(), outcome);
    assert_eq!(
        fixture.git(&[
            "diff",
            "--name-only",
            &new_base.to_string(),
            &head.to_string()
        ]),
        "x\ny"
    );
    assert!(!fixture.repo.contains(head, old_base).unwrap());
    assert_eq!(
        fixture.git(&["show", "-s", "--format=%an %cn", &head.to_string()]),
        "Person Swarm"
    );
    fixture.check();
}

#[test]
fn a_branch_with_a_merge_inside_is_replayed_as_one_commit() {
    let fixture = Fixture::new();
    let old_base = fixture.oid("main");
    let (path, _) = fixture.attempt(1, &[("src/b.txt", "agent\n")]);
    git(&path, &["checkout", "-q", "-b", "side", "main"]);
    commit_in(&path, &[("src/b.txt", "side\n")]);
    git(&path, &["checkout", "-q", &branch(1)]);
    crate::fixture::try_git(&path, &["merge", "-q", "side"]);
    let source = commit_in(&path, &[("src/b.txt", "settled\n")]);
    fixture.git(&["commit", "-q", "--amend", "-m", "rewritten"]);
    let new_base = fixture.oid("main");
    let want = Rebase {
        source,
        old_base,
        new_base,
        identity: identity(),
        time: TIME,
    };
    let outcome = fixture.repo.rebase_source(&want).unwrap();
    let Rebased::Replayed { head, commits: 1 } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(
        fixture.git(&["show", &format!("{head}:src/b.txt")]),
        "settled"
    );
    let clash = fixture.commit(&[("src/b.txt", "clash\n")]);
    let want = Rebase {
        new_base: clash,
        ..want
    };
    assert!(matches!(
        fixture.repo.rebase_source(&want).unwrap(),
        Rebased::Conflict { .. }
    ));
    let want = Rebase {
        source: old_base,
        ..want
    };
    assert_eq!(fixture.repo.rebase_source(&want).unwrap(), Rebased::Nothing);
}

#[test]
fn the_history_tells_what_has_landed() {
    let fixture = Fixture::new();
    let base = fixture.oid("main");
    let land = |idea: &str, op: &str| {
        let message =
            format!("Merge {idea}: a title\n\nFrom b.\n\nSwarm-Idea: {idea}\nSwarm-Op: {op}\n");
        let side = fixture.git(&["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", &message]);
        let parents = ["-p", "HEAD", "-p", side.trim()];
        let commit = fixture.git(
            &[
                &["commit-tree", "HEAD^{tree}"],
                &parents[..],
                &["-m", &message],
            ]
            .concat(),
        );
        fixture.git(&["reset", "-q", "--hard", commit.trim()]);
        fixture.oid("main")
    };
    let first = land("idea-001", "7");
    fixture.commit(&[("by-hand", "Swarm-Op: no trailer\n")]);
    let second = land("idea-002", "9");
    let found = fixture
        .repo
        .landings(second, Some(base), |_| false)
        .unwrap();
    let each: Vec<_> = found
        .iter()
        .map(|it| (it.idea.as_str(), it.operation.as_str(), it.commit))
        .collect();
    assert_eq!(each, [("idea-002", "9", second), ("idea-001", "7", first)]);
    assert_eq!(
        fixture
            .repo
            .landings(second, None, |oid| oid == first)
            .unwrap()
            .len(),
        1
    );
    assert_eq!(fixture.repo.landings(base, None, |_| false).unwrap(), []);
}
