//! Landing: the target moves, and a person's checkout follows or says why not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use swarm::git::{Blocked, GitError, Land, LandOutcome, Oid, Repo};

use crate::fixture::{Fixture, git, read, settings, try_git, write};
use crate::merging::{built, merge};

pub fn land(fixture: &Fixture, commit: Oid) -> Land {
    Land {
        branch: "main".into(),
        expected: fixture.oid("main"),
        commit,
    }
}

/// A merge that changes a file, adds one and deletes one.
pub fn prepared_merge(fixture: &Fixture) -> Oid {
    fixture.commit(&[("gone", "to be deleted\n")]);
    let path = fixture.prepare(1).path;
    fs::remove_file(path.join("gone")).unwrap();
    let source = crate::fixture::commit_in(
        &path,
        &[("src/b.txt", "agent\n"), ("src/deep/new", "new\n")],
    );
    built(&fixture.repo.build_merge(&merge(source)).unwrap())
}

fn blocked(outcome: LandOutcome) -> Blocked {
    match outcome {
        LandOutcome::CheckoutBlocked(blocked) => blocked,
        other => panic!("{other:?}"),
    }
}

/// Every file of a work tree with its content, git's and swarm's own aside.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(dir: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let own = path.ends_with(".git") || path.ends_with(".swarm");
            match fs::symlink_metadata(&path).unwrap() {
                _ if own => {}
                meta if meta.is_dir() => walk(&path, found),
                meta if meta.is_symlink() => drop(
                    found.insert(
                        path.clone(),
                        fs::read_link(&path)
                            .unwrap()
                            .into_os_string()
                            .into_encoded_bytes(),
                    ),
                ),
                _ => drop(found.insert(path.clone(), fs::read(&path).unwrap())),
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, &mut found);
    found
        .into_iter()
        .map(|(path, bytes)| (path.strip_prefix(root).unwrap().to_owned(), bytes))
        .collect()
}

#[test]
fn unresolved_conflicts_in_the_checkout_are_named() {
    let fixture = Fixture::new();
    fixture.commit(&[("c.txt", "one\n")]);
    write(&fixture.root(), "c.txt", "two\n");
    fixture.git(&["stash"]);
    fixture.commit(&[("c.txt", "three\n")]);
    let commit = prepared_merge(&fixture);
    assert!(!try_git(&fixture.root(), &["stash", "pop"]).status.success());
    let found = blocked(fixture.repo.land(&land(&fixture, commit)).unwrap());
    let reason = "the checkout has unresolved conflicts in c.txt; resolve and commit them";
    assert_eq!(found.reason, reason);
}

#[test]
fn the_checkout_follows_and_unrelated_work_stays() {
    let fixture = Fixture::new();
    let commit = prepared_merge(&fixture);
    let want = land(&fixture, commit);
    write(&fixture.root(), "README", "being edited\n");
    write(&fixture.root(), "untracked", "u");
    assert_eq!(fixture.repo.land(&want).unwrap(), LandOutcome::Landed);
    assert_eq!(fixture.oid("main"), commit);
    assert_eq!(
        fixture.git(&["status", "--porcelain"]),
        " M README\n?? untracked"
    );
    assert_eq!(read(&fixture.root(), "src/deep/new"), "new\n");
    assert!(!fixture.root().join("gone").exists());
    assert_eq!(
        fixture.repo.land(&want).unwrap(),
        LandOutcome::AlreadyLanded
    );
    assert!(
        fixture
            .git(&["reflog", "-1", "main"])
            .contains("swarm: landed")
    );
    fixture.check();
}

#[test]
fn a_branch_that_nobody_has_checked_out_just_moves() {
    let fixture = Fixture::new();
    let commit = prepared_merge(&fixture);
    let want = land(&fixture, commit);
    fixture.git(&["checkout", "-q", "-b", "elsewhere"]);
    write(&fixture.root(), "src/b.txt", "mine\n");
    assert_eq!(fixture.repo.land(&want).unwrap(), LandOutcome::Landed);
    assert_eq!(
        (fixture.oid("main"), read(&fixture.root(), "src/b.txt")),
        (commit, "mine\n".into())
    );
}

#[test]
fn every_linked_checkout_of_the_branch_follows_or_none() {
    let fixture = Fixture::new();
    let commit = prepared_merge(&fixture);
    let want = land(&fixture, commit);
    let linked = fixture.dir.path().join("linked");
    fixture.git(&[
        "worktree",
        "add",
        "-q",
        "--force",
        linked.to_str().unwrap(),
        "main",
    ]);
    write(&linked, "src/b.txt", "mine\n");
    let before = files(&fixture.root());
    let why = blocked(fixture.repo.land(&want).unwrap());
    assert_eq!(
        (why.worktree, why.files),
        (linked.canonicalize().unwrap(), vec!["src/b.txt".to_owned()])
    );
    assert_eq!(files(&fixture.root()), before);
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    git(&linked, &["checkout", "-q", "src/b.txt"]);
    assert_eq!(fixture.repo.land(&want).unwrap(), LandOutcome::Landed);
    for root in [&fixture.root(), &linked] {
        assert_eq!(
            (
                read(root, "src/b.txt"),
                git(root, &["status", "--porcelain"])
            ),
            ("agent\n".into(), String::new())
        );
    }
}

type Change = fn(&Path);

#[test]
fn what_is_in_the_way_is_named_and_untouched() {
    let changes: [(&str, Change); 7] = [
        ("src/b.txt", |root| write(root, "src/b.txt", "mine\n")),
        ("src/b.txt", |root| {
            write(root, "src/b.txt", "mine\n");
            git(root, &["add", "."]);
        }),
        ("src/deep/new", |root| write(root, "src/deep/new", "mine\n")),
        ("src/deep", |root| {
            write(root, "src/deep", "a file where a directory belongs\n");
        }),
        ("src/deep/new", |root| {
            write(root, "src/deep/new", "mine\n");
            git(root, &["add", "-N", "."]);
        }),
        ("src/deep/new", |root| {
            write(root, ".git/info/exclude", "src/deep/\n");
            write(root, "src/deep/new", "ignored, and all there is of it\n");
        }),
        ("gone", |root| write(root, "gone", "still needed\n")),
    ];
    for (file, change) in changes {
        let fixture = Fixture::new();
        let commit = prepared_merge(&fixture);
        let want = land(&fixture, commit);
        change(&fixture.root());
        let before = (
            files(&fixture.root()),
            fixture.git(&["status", "--porcelain=v2"]),
            fixture.oid("main"),
        );
        let why = blocked(fixture.repo.land(&want).unwrap());
        assert_eq!(why.files, [file], "{why:?}");
        assert_eq!(
            (
                files(&fixture.root()),
                fixture.git(&["status", "--porcelain=v2"]),
                fixture.oid("main")
            ),
            before
        );
    }
}

#[test]
fn a_merge_or_rebase_of_the_person_is_waited_for() {
    let fixture = Fixture::new();
    let commit = prepared_merge(&fixture);
    let want = land(&fixture, commit);
    // Stops in the middle of a rebase of the very branch: it would be moved under the person's
    // hands.
    let stopped = try_git(
        &fixture.root(),
        &[
            "rebase",
            "-q",
            "--exec",
            "false",
            "--force-rebase",
            "main~1",
        ],
    );
    assert!(!stopped.status.success());
    let why = blocked(fixture.repo.land(&want).unwrap());
    assert!(why.reason.contains("rebase"), "{why:?}");
    fixture.git(&["rebase", "--abort"]);
    assert_eq!(fixture.repo.land(&want).unwrap(), LandOutcome::Landed);
}

#[test]
fn the_target_moved_is_an_outcome() {
    let fixture = Fixture::new();
    let commit = prepared_merge(&fixture);
    let want = land(&fixture, commit);
    let moved = fixture.commit(&[("README", "a person was faster\n")]);
    assert_eq!(
        fixture.repo.land(&want).unwrap(),
        LandOutcome::TargetMoved { found: Some(moved) }
    );
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    let gone = Land {
        branch: "gone".into(),
        ..want.clone()
    };
    assert_eq!(
        fixture.repo.land(&gone).unwrap(),
        LandOutcome::TargetMoved { found: None }
    );
    let sideways = Land {
        expected: moved,
        ..want
    };
    assert_eq!(
        fixture.repo.land(&sideways).unwrap(),
        LandOutcome::NotAFastForward
    );
}

/// The look before it cannot see who comes between: the move itself compares.
#[test]
fn a_reference_moves_only_from_where_it_was_expected() {
    let fixture = Fixture::new();
    let reference = "refs/swarm/race";
    let (_, elsewhere) = fixture.attempt(9, &[("elsewhere", "9")]);
    let rivals: Vec<_> = (1..=4)
        .map(|number| fixture.attempt(number, &[("rival", &number.to_string())]).1)
        .collect();
    let base = fixture.oid("main");
    fixture.repo.create_ref(reference, base, "begun").unwrap();
    let moved = |new| fixture.repo.move_ref(reference, elsewhere, new, "too late");
    assert!(matches!(
        moved(rivals[0]),
        Err(GitError::RefMoved { found: Some(found), .. }) if found == base
    ));
    let won = std::thread::scope(|scope| {
        let repo = &fixture.repo;
        let race = |new| scope.spawn(move || repo.move_ref(reference, base, new, "race").is_ok());
        let rivals: Vec<_> = rivals.iter().map(|new| race(*new)).collect();
        let won = rivals.into_iter().map(|rival| rival.join().unwrap());
        won.filter(|won| *won).count()
    });
    assert_eq!(won, 1);
}

#[test]
fn the_target_goes_back_for_a_rollback_with_the_same_safety() {
    let fixture = Fixture::new();
    let commit = prepared_merge(&fixture);
    let before = fixture.oid("main");
    fixture.repo.land(&land(&fixture, commit)).unwrap();
    let back = Land {
        branch: "main".into(),
        expected: commit,
        commit: before,
    };
    write(&fixture.root(), "src/b.txt", "mine\n");
    assert_eq!(
        blocked(fixture.repo.move_target(&back).unwrap()).files,
        ["src/b.txt"]
    );
    fixture.git(&["checkout", "-q", "src/b.txt"]);
    assert_eq!(
        fixture.repo.move_target(&back).unwrap(),
        LandOutcome::Landed
    );
    assert_eq!(
        fixture.repo.move_target(&back).unwrap(),
        LandOutcome::AlreadyLanded
    );
    assert_eq!(
        (fixture.oid("main"), read(&fixture.root(), "gone")),
        (before, "to be deleted\n".into())
    );
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
}

#[test]
fn an_index_lock_is_waited_for_and_never_taken_from_a_person() {
    let fixture = Fixture::new();
    let commit = prepared_merge(&fixture);
    let want = land(&fixture, commit);
    let lock = fixture.root().join(".git/index.lock");
    let held = fs::File::create(&lock).unwrap();
    let found = blocked(fixture.repo.land(&want).unwrap());
    let own = format!("(process {})", std::process::id());
    assert!(found.reason.contains(&own), "{}", found.reason);
    assert!(found.lock_age.is_some());
    drop(held);
    // Dead, but nobody says that it was ours.
    let found = blocked(fixture.repo.land(&want).unwrap());
    let remove = format!("rm {}", lock.display());
    assert!(found.reason.ends_with(&remove), "{}", found.reason);
    assert!(found.reason.contains("no git process"), "{}", found.reason);
    assert!(lock.exists());
    fs::remove_file(&lock).unwrap();
    assert_eq!(fixture.repo.land(&want).unwrap(), LandOutcome::Landed);
}

#[test]
fn a_lock_that_a_killed_rehearsal_left_is_ours() {
    let fixture = Fixture::new();
    let commit = prepared_merge(&fixture);
    let want = land(&fixture, commit);
    let git_dir = fixture.root().join(".git");
    let mark = git_dir.join("swarm-rehearsal");
    fs::write(&mark, "").unwrap();
    fs::write(git_dir.join("index.lock"), "").unwrap();
    assert_eq!(fixture.repo.land(&want).unwrap(), LandOutcome::Landed);
    assert!(!mark.exists());
    // The start of a daemon puts it right too.
    fs::write(&mark, "").unwrap();
    let left = ["index.lock", "packed-refs.lock"].map(|name| git_dir.join(name));
    for lock in &left {
        fs::write(lock, "").unwrap();
    }
    fixture.repo.settle_checkouts().unwrap();
    assert!(!mark.exists() && left.iter().all(|lock| !lock.exists()));
}

#[test]
fn dead_locks_of_agents_branches_go_at_a_start_and_those_of_people_stay() {
    if crate::git_format::has_tables() {
        return;
    }
    let fixture = Fixture::new();
    let heads = fixture.root().join(".git/refs/heads");
    let [agents, persons] =
        ["agent/ed-001/idea-001.lock", "mine.lock"].map(|name| heads.join(name));
    fs::create_dir_all(agents.parent().unwrap()).unwrap();
    for lock in [&agents, &persons] {
        fs::write(lock, "").unwrap();
    }
    fixture.repo.settle_checkouts().unwrap();
    assert!(!agents.exists() && persons.exists());
}

#[test]
fn dead_locks_of_tables_of_references_go_at_a_start() {
    let fixture = Fixture::new();
    let tables = fixture.root().join(".git/reftable");
    if !crate::git_format::has_tables() {
        // Then there is no such folder, and a start does not mind.
        return fixture.repo.settle_checkouts().unwrap();
    }
    let lock = tables.join("0x000000000001-0x000000000002-0f.ref.lock");
    fs::write(&lock, "").unwrap();
    fixture.repo.settle_checkouts().unwrap();
    assert!(!lock.exists());
}

/// As a git that is killed while it writes files leaves it: the note, a dead lock, some files new,
/// one begun, the index old.
pub fn half_written(fixture: &Fixture, want: &Land) {
    let root = fixture.root();
    write(
        &root,
        ".git/swarm-landing",
        &format!("{} {} main\n", want.expected, want.commit),
    );
    write(&root, ".git/index.lock", "");
    write(&root, "src/b.txt", "agent\n");
    write(&root, "src/deep/new", "ne");
    fs::remove_file(root.join("gone")).unwrap();
}

#[test]
fn a_checkout_that_a_dead_git_left_half_written_is_mended() {
    let fixture = Fixture::new();
    let commit = prepared_merge(&fixture);
    let want = land(&fixture, commit);
    half_written(&fixture, &want);
    write(&fixture.root(), "README", "the person's own\n");
    assert_eq!(fixture.repo.land(&want).unwrap(), LandOutcome::Landed);
    assert_eq!(read(&fixture.root(), "src/deep/new"), "new\n");
    assert_eq!(fixture.git(&["status", "--porcelain"]), " M README");
    assert!(!fixture.root().join(".git/swarm-landing").exists());
}

#[test]
fn a_half_written_checkout_goes_back_if_the_landing_is_off() {
    let fixture = Fixture::new();
    let commit = prepared_merge(&fixture);
    let want = land(&fixture, commit);
    half_written(&fixture, &want);
    fixture.repo.settle_checkouts().unwrap();
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    half_written(&fixture, &want);
    let moved = fixture.git(&[
        "commit-tree",
        "main^{tree}",
        "-p",
        "main",
        "-m",
        "moved elsewhere",
    ]);
    fixture.git(&["update-ref", "refs/heads/main", &moved]);
    assert!(matches!(
        fixture.repo.land(&want).unwrap(),
        LandOutcome::TargetMoved { .. }
    ));
    assert_eq!(read(&fixture.root(), "src/b.txt"), "b\n");
}

#[test]
fn a_person_who_edits_after_the_kill_keeps_the_edits() {
    let fixture = Fixture::new();
    let commit = prepared_merge(&fixture);
    let want = land(&fixture, commit);
    half_written(&fixture, &want);
    write(&fixture.root(), "src/b.txt", "agent\nand then me\n");
    assert_eq!(
        blocked(fixture.repo.land(&want).unwrap()).files,
        ["src/b.txt"]
    );
    assert_eq!(read(&fixture.root(), "src/b.txt"), "agent\nand then me\n");
}

/// One thing that a person may have done to a path.
#[derive(Debug, Clone, Copy)]
enum Act {
    Modify,
    Stage,
    StageAndModify,
    Delete,
    StagedDelete,
    Rename,
    IntentToAdd,
    Executable,
    Touch,
    Link,
    Directory,
    SameAsNew,
}

const ACTS: [Act; 12] = [
    Act::Modify,
    Act::Stage,
    Act::StageAndModify,
    Act::Delete,
    Act::StagedDelete,
    Act::Rename,
    Act::IntentToAdd,
    Act::Executable,
    Act::Touch,
    Act::Link,
    Act::Directory,
    Act::SameAsNew,
];
const PATHS: [&str; 8] = [
    "README",
    "src/a.txt",
    "src/b.txt",
    "gone",
    "src/deep/new",
    "src/deep",
    "other",
    "ignored/new",
];

fn act(root: &Path, act: Act, path: &str) {
    use std::os::unix::fs::PermissionsExt;
    let file = root.join(path);
    let parent = file.parent().unwrap();
    // A link that leads nowhere is there, too.
    let parent_is_dir = parent.is_dir() || fs::symlink_metadata(parent).is_err();
    if !parent_is_dir || (file.is_dir() && !file.is_symlink()) {
        return;
    }
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let add = || drop(try_git(root, &["add", "-f", "--", path]));
    match act {
        Act::Modify => fs::write(&file, "mine\n").unwrap(),
        Act::Stage => {
            fs::write(&file, "staged\n").unwrap();
            add();
        }
        Act::StageAndModify => {
            fs::write(&file, "staged\n").unwrap();
            add();
            fs::write(&file, "and more\n").unwrap();
        }
        Act::Delete => drop(fs::remove_file(&file)),
        Act::StagedDelete => drop(try_git(root, &["rm", "-q", "-f", "--", path])),
        Act::Rename => drop(try_git(root, &["mv", "--", path, "moved"])),
        Act::IntentToAdd => {
            if !file.exists() {
                fs::write(&file, "intended\n").unwrap();
            }
            drop(try_git(root, &["add", "-f", "-N", "--", path]));
        }
        Act::Executable if file.is_file() => {
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Act::Touch if file.is_file() => fs::write(&file, fs::read(&file).unwrap()).unwrap(),
        Act::Link => {
            drop(fs::remove_file(&file));
            std::os::unix::fs::symlink("elsewhere", &file).unwrap();
        }
        Act::Directory => {
            drop(fs::remove_file(&file));
            write(&file, "inside", "mine\n");
        }
        Act::SameAsNew => fs::write(
            &file,
            if path == "src/b.txt" {
                "agent\n"
            } else {
                "new\n"
            },
        )
        .unwrap(),
        Act::Executable | Act::Touch => {}
    }
}

/// A copy of the repository, in which git itself does the same.
fn copy(fixture: &Fixture) -> PathBuf {
    let copy = fixture.dir.path().join("copy");
    let output = std::process::Command::new("cp")
        .arg("-a")
        .arg(fixture.root())
        .arg(&copy)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    git(&copy, &["worktree", "prune"]);
    copy
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// Whatever the person has left lying about: the landing does what `git merge --ff-only` does,
    /// or changes nothing.
    #[test]
    fn uncommitted_work_is_never_touched(
        acts in proptest::collection::vec((0..ACTS.len(), 0..PATHS.len()), 0..5),
        sparse in proptest::bool::weighted(0.2),
        submodule in proptest::bool::weighted(0.2),
    ) {
        let fixture = Fixture::new();
        if submodule {
            let library = fixture.dir.path().join("library");
            fs::create_dir(&library).unwrap();
            git(&library, &["init", "-q"]);
            crate::fixture::commit_in(&library, &[("lib", "x")]);
            fixture.git(&["submodule", "add", "-q", library.to_str().unwrap(), "lib"]);
        }
        let commit = prepared_merge(&fixture);
        let root = fixture.root();
        if sparse {
            fixture.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/src/deep/"]);
        }
        for (kind, path) in &acts {
            act(&root, ACTS[*kind], PATHS[*path]);
        }
        let want = land(&fixture, commit);
        let reference = copy(&fixture);
        let before = files(&root);
        let index = fixture.git(&["ls-files", "-s", "-t"]);
        // A new handle: `sparse-checkout` is a person's own change of the configuration.
        let repo = Repo::open_with(&root, settings(fixture.dir.path())).unwrap();
        let outcome = repo.land(&want).unwrap();
        let git_does = try_git(&reference,
            &["merge", "-q", "--ff-only", "--no-overwrite-ignore", &commit.to_string()]);
        let said = String::from_utf8_lossy(&git_does.stderr).into_owned();
        match outcome {
            LandOutcome::Landed => {
                prop_assert!(git_does.status.success(), "git refused: {}", said);
                prop_assert_eq!(files(&root), files(&reference));
                prop_assert_eq!(fixture.git(&["ls-files", "-s", "-t"]),
                    git(&reference, &["ls-files", "-s", "-t"]));
                prop_assert_eq!(fixture.git(&["status", "--porcelain=v2"]),
                    git(&reference, &["status", "--porcelain=v2"]));
            }
            LandOutcome::CheckoutBlocked(why) => {
                prop_assert!(!git_does.status.success(), "git would have done it: {:?}", why);
                prop_assert_eq!(files(&root), before);
                prop_assert_eq!(fixture.git(&["ls-files", "-s", "-t"]), index);
                prop_assert_eq!(fixture.oid("main"), want.expected);
                prop_assert!(!why.reason.is_empty());
            }
            other => prop_assert!(false, "{:?}", other),
        }
        prop_assert!(!root.join(".git/swarm-landing").exists());
    }
}

#[test]
fn nothing_moves_under_a_locked_worktree_that_is_absent() {
    let fixture = Fixture::new();
    let commit = prepared_merge(&fixture);
    let want = land(&fixture, commit);
    fixture.git(&["checkout", "-q", "-b", "elsewhere"]);
    let [there, away] = ["disk", "unplugged"].map(|name| fixture.dir.path().join(name));
    fixture.git(&["worktree", "add", "-q", there.to_str().unwrap(), "main"]);
    fixture.git(&["worktree", "lock", there.to_str().unwrap()]);
    fs::rename(&there, &away).unwrap();
    let found = blocked(fixture.repo.land(&want).unwrap());
    assert_eq!(found.worktree, there);
    let unlock = format!("git worktree unlock {}", there.display());
    assert!(found.reason.contains(&unlock), "{}", found.reason);
    assert_eq!(fixture.oid("main"), want.expected);
    fs::rename(&away, &there).unwrap();
    assert_eq!(fixture.repo.land(&want).unwrap(), LandOutcome::Landed);
    assert_eq!(git(&there, &["status", "--porcelain"]), "");
}

#[test]
fn an_unfinished_operation_in_the_checkout_is_named_with_the_command_that_ends_it() {
    let fixture = Fixture::new();
    let commit = prepared_merge(&fixture);
    let want = land(&fixture, commit);
    let sign = fixture.root().join(".git/MERGE_HEAD");
    fs::write(&sign, format!("{}\n", want.commit)).unwrap();
    let found = blocked(fixture.repo.land(&want).unwrap());
    let end = format!("git -C {} merge --continue", fixture.root().display());
    assert!(found.reason.contains(&end), "{}", found.reason);
    fs::remove_file(sign).unwrap();
    assert_eq!(fixture.repo.land(&want).unwrap(), LandOutcome::Landed);
}

#[test]
fn a_landing_keeps_the_configuration_in_a_sparse_checkout_that_was_narrowed() {
    let fixture = Fixture::new();
    fixture.commit(&[(".swarm/config.json", "{}\n")]);
    fixture.git(&["sparse-checkout", "set", "src", ".swarm"]);
    let commit = prepared_merge(&fixture);
    let patterns = fixture.root().join(".git/info/sparse-checkout");
    fs::write(patterns, "/*\n!/*/\n/src/\n").unwrap();
    let want = land(&fixture, commit);
    assert_eq!(fixture.repo.land(&want).unwrap(), LandOutcome::Landed);
    assert_eq!(read(&fixture.root(), ".swarm/config.json"), "{}\n");
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
}

/// Git may be killed, or fail, when the branch has moved already.
#[test]
fn a_landing_whose_git_failed_at_its_end_has_landed() {
    let fixture = Fixture::new();
    let commit = prepared_merge(&fixture);
    let shim = fixture.dir.path().join("shim");
    fs::create_dir(&shim).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\nexport PATH='{path}'\ncase \"$*\" in\n*'swarm: landed'*) git \"$@\"; \
        kill -9 $$ ;;\nesac\nexec git \"$@\"\n"
    );
    write(&shim, "git", &script);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(shim.join("git"), mode).unwrap();
    let mut settings = settings(fixture.dir.path());
    let path = format!("{}:{path}", shim.display());
    settings.environment.push(("PATH".into(), path.into()));
    let repo = Repo::open_with(&fixture.root(), settings).unwrap();
    let outcome = repo.land(&land(&fixture, commit)).unwrap();
    assert_eq!(outcome, LandOutcome::Landed);
    assert_eq!(fixture.oid("main"), commit);
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
}

/// Git compares only whole seconds of a small `packed-refs`.
#[test]
fn a_reference_that_is_packed_twice_in_a_second_is_read_as_it_is() {
    let fixture = Fixture::new();
    if crate::git_format::has_tables() {
        return;
    }
    let [one, two] = ["one", "two"].map(|text| fixture.commit(&[("a", text)]));
    for round in 0..20 {
        let commit = if round % 2 == 0 { one } else { two };
        fixture.git(&["update-ref", "refs/swarm/x", &commit.to_string()]);
        fixture.git(&["pack-refs", "--all"]);
        let read = fixture.repo.read_ref("refs/swarm/x").unwrap();
        assert_eq!(read, Some(commit), "{round}");
    }
}
