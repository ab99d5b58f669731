//! Opening a repository, identities, references.

use std::fs;

use proptest::prelude::*;
use swarm::git::{GitError, Repo, TargetState};

use crate::fixture::{Fixture, TIME, git, identity, settings, try_git};

#[test]
fn what_cannot_be_worked_with_is_refused_with_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().to_owned();
    let open = |path: &std::path::Path| Repo::open_with(path, settings(&home)).unwrap_err();
    fs::create_dir(home.join("plain")).unwrap();
    // A plain directory inside somebody's repository would be that repository; here there is none
    // above.
    assert!(matches!(
        open(&home.join("plain")),
        GitError::NotARepository { .. }
    ));
    git(&home, &["init", "-q", "--bare", "bare"]);
    assert!(matches!(open(&home.join("bare")), GitError::Bare { .. }));
    git(&home, &["init", "-q", "empty"]);
    assert!(matches!(
        open(&home.join("empty")),
        GitError::NoCommits { .. }
    ));
    let fixture = Fixture::new();
    std::os::unix::fs::symlink("/tmp", fixture.root().join(".swarm")).unwrap();
    assert!(matches!(
        open(&fixture.root()),
        GitError::SymbolicLink { .. }
    ));
}

#[test]
fn the_checkout_of_a_git_directory_elsewhere_is_where_its_link_or_its_file_lies() {
    let fixture = Fixture::new();
    let (root, elsewhere) = (fixture.root(), fixture.dir.path().join("gits"));
    fs::create_dir(&elsewhere).unwrap();
    let git_dir = elsewhere.join("app.git");
    fs::rename(root.join(".git"), &git_dir).unwrap();
    std::os::unix::fs::symlink(&git_dir, root.join(".git")).unwrap();
    let open = |dir: &std::path::Path| Repo::open_with(dir, settings(fixture.dir.path()));
    assert_eq!(open(&root).unwrap().root(), root);
    assert_eq!(open(&root.join("src")).unwrap().root(), root);
    fs::remove_file(root.join(".git")).unwrap();
    let pointer = format!("gitdir: {}\n", git_dir.display());
    fs::write(root.join(".git"), pointer).unwrap();
    assert_eq!(open(&root).unwrap().root(), root);
    // It has recorded its checkout; by itself, git would take the folder that it lies in.
    assert_eq!(open(&git_dir).unwrap().root(), root);
    fs::remove_file(git_dir.join("swarm/home")).unwrap();
    let refused = open(&git_dir).unwrap_err();
    assert!(
        matches!(refused, GitError::Unsupported { .. }),
        "{refused:?}"
    );
}

#[test]
fn any_directory_of_it_opens_the_main_repository() {
    let fixture = Fixture::new();
    let linked = fixture.dir.path().join("linked");
    fixture.git(&[
        "worktree",
        "add",
        "-q",
        linked.to_str().unwrap(),
        "-b",
        "other",
    ]);
    let agents = fixture.prepare(1).path;
    for dir in [fixture.root().join("src"), linked, agents.join("src")] {
        let repo = Repo::open_with(&dir, settings(fixture.dir.path())).unwrap();
        assert_eq!(repo.root(), fixture.root());
    }
}

#[test]
fn the_branch_and_the_identity_are_told() {
    let fixture = Fixture::new();
    assert_eq!(fixture.repo.head_branch().unwrap().as_deref(), Some("main"));
    let nobody = fixture.repo.identity().unwrap();
    assert_eq!(
        (
            nobody.name.as_str(),
            nobody.email.as_str(),
            nobody.configured
        ),
        ("swarm", "swarm@localhost", false)
    );
    fixture.git(&["config", "user.name", "A Person"]);
    fixture.git(&["config", "user.email", "a@b"]);
    assert!(fixture.repo.identity().unwrap().configured);
    fixture.git(&["checkout", "-q", "--detach"]);
    assert_eq!(fixture.repo.head_branch().unwrap(), None);
    assert!(
        fixture.repo.target_exists("main").unwrap() && !fixture.repo.target_exists("nope").unwrap()
    );
    assert!(fixture.repo.target_exists("-x").is_err());
}

#[test]
fn references_move_only_from_where_they_were_expected() {
    let fixture = Fixture::new();
    let repo = &fixture.repo;
    let first = fixture.oid("main");
    let second = fixture.commit(&[("x", "x")]);
    let name = "refs/swarm/test/x";
    repo.create_ref(name, first, "test").unwrap();
    repo.create_ref(name, first, "test").unwrap();
    assert!(matches!(
        repo.create_ref(name, second, "test"),
        Err(GitError::RefMoved {
            found: Some(_),
            expected: None,
            ..
        })
    ));
    assert!(matches!(repo.move_ref(name, second, first, "test"), Ok(())));
    assert!(
        repo.move_ref("refs/swarm/none", first, second, "test")
            .is_err()
    );
    repo.move_ref(name, first, second, "test").unwrap();
    repo.move_ref(name, first, second, "test").unwrap();
    assert!(matches!(
        repo.delete_ref(name, first),
        Err(GitError::RefMoved { .. })
    ));
    assert_eq!(
        repo.list_refs("refs/swarm/").unwrap(),
        [(name.to_owned(), second)]
    );
    repo.delete_ref(name, second).unwrap();
    // As a kill right after the removal leaves it.
    let lock = repo.common_dir().join(format!("{name}.lock"));
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    std::fs::write(&lock, "").unwrap();
    repo.delete_ref(name, second).unwrap();
    assert!(!lock.exists());
    assert_eq!(repo.read_ref(name).unwrap(), None);
    fixture.git(&["pack-refs", "--all"]);
    repo.move_ref("refs/heads/main", second, first, "test")
        .unwrap();
    assert_eq!(fixture.oid("main"), first);
}

#[test]
fn a_reference_lock_is_waited_for_and_taken_away_if_dead() {
    let fixture = Fixture::new();
    let oid = fixture.oid("main");
    let lock = if crate::git_format::has_tables() {
        "reftable/tables.list.lock"
    } else {
        "refs/swarm/x.lock"
    };
    let lock = fixture.repo.common_dir().join(lock);
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    let held = fs::File::create(&lock).unwrap();
    let refused = fixture.repo.create_ref("refs/swarm/x", oid, "test");
    assert!(
        matches!(refused, Err(GitError::Locked { .. })),
        "{refused:?}"
    );
    drop(held);
    fixture
        .repo
        .create_ref("refs/swarm/x", oid, "test")
        .unwrap();
}

/// Where a branch is checked out, git locks `HEAD` too, to keep its log.
#[test]
fn a_lock_of_head_is_waited_for_and_named() {
    if crate::git_format::has_tables() {
        return;
    }
    let fixture = Fixture::new();
    let first = fixture.oid("main");
    let second = fixture.commit(&[("a.txt", "a\n")]);
    let lock = fixture.repo.common_dir().join("HEAD.lock");
    let held = fs::File::create(&lock).unwrap();
    let refused = fixture
        .repo
        .move_ref("refs/heads/main", second, first, "test");
    let Err(GitError::Locked { path, .. }) = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!(*path, lock);
    drop(held);
    fixture
        .repo
        .move_ref("refs/heads/main", second, first, "test")
        .unwrap();
}

#[test]
fn a_tag_made_twice_is_the_same_object() {
    let fixture = Fixture::new();
    let oid = fixture.oid("main");
    let make = || {
        fixture
            .repo
            .write_tag("swarm/checkpoint/one", oid, "one\n", &identity(), TIME)
            .unwrap()
    };
    assert_eq!(make(), make());
    let name = "refs/swarm/checkpoints/one";
    fixture.repo.create_ref(name, make(), "test").unwrap();
    let tag = fixture.repo.tag(name).unwrap().unwrap();
    assert_eq!((tag.oid, tag.commit), (make(), Some(oid)));
    assert_eq!(fixture.git(&["cat-file", "-t", name]), "tag");
    assert_eq!(fixture.git(&["tag", "--list"]), "");
    fixture.check();
}

#[test]
fn the_target_tells_how_it_moved() {
    let fixture = Fixture::new();
    let first = fixture.oid("main");
    let state = |known| fixture.repo.target_state("main", known).unwrap();
    assert_eq!(state(first), TargetState::Same);
    let second = fixture.commit(&[("x", "x")]);
    assert_eq!(state(first), TargetState::Advanced { to: second });
    fixture.git(&["commit", "-q", "--amend", "-m", "other"]);
    assert_eq!(
        state(second),
        TargetState::Rewritten {
            to: fixture.oid("main")
        }
    );
    assert_eq!(
        fixture.repo.target_state("gone", first).unwrap(),
        TargetState::Missing
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_branch_name_is_allowed_only_if_git_allows_it(name in "[-a.~^:/@{} ?*\\[\\\\]{1,6}") {
        let fixture = tempfile::tempdir().unwrap();
        let git_says = try_git(fixture.path(),
            &["check-ref-format", &format!("refs/heads/{name}")]).status.success();
        let plain = !name.starts_with('-');
        prop_assert_eq!(swarm::git::branch_ref(&name).is_ok(), git_says && plain, "{:?}", name);
    }
}
