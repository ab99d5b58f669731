//! Worktrees: prepare, take over, inspect, release, pool, verification.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use swarm::git::{
    GitError, KeepIgnored, KeepTrees, Prepare, Proof, Release, Snapshot, VERIFY, rescue_ref,
};

use crate::fixture::{Fixture, TIME, branch, commit_in, earlier, git, identity, name, read, write};

pub fn release(number: u32, proof: Proof) -> Release {
    Release {
        name: name(number),
        branch: branch(number),
        proof,
        identity: identity(),
        time: TIME,
        reuse: true,
    }
}

fn verified(fixture: &Fixture, commit: swarm::git::Oid) -> std::path::PathBuf {
    let tree = fixture.repo.verify_tree(VERIFY, commit, &KeepIgnored::All);
    tree.unwrap().path
}

#[test]
fn a_prepared_worktree_is_whole_and_asking_again_changes_nothing() {
    let fixture = Fixture::new();
    let first = fixture.prepare(1);
    assert_eq!(git(&first.path, &["branch", "--show-current"]), branch(1));
    assert_eq!(git(&first.path, &["status", "--porcelain"]), "");
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    write(&first.path, "new", "work of the agent");
    assert_eq!(fixture.prepare(1), first);
    assert_eq!(read(&first.path, "new"), "work of the agent");
    fixture.check();
}

#[test]
fn a_released_worktree_is_used_again_and_holds_nothing_of_the_last() {
    let fixture = Fixture::new();
    let (path, tip) = fixture.attempt(1, &[("src/new.txt", "x\n")]);
    write(&path, "ignored/build", "left over");
    write(&path, "nested/file", "x");
    git(&path.join("nested"), &["init", "-q"]);
    commit_in(&path.join("nested"), &[]);
    git(&path, &["update-index", "--assume-unchanged", "README"]);
    write(&path, "README", "hidden change\n");
    fixture.git(&["merge", "-q", &branch(1)]);
    let proof = Proof::Contained {
        tip,
        target: "main".into(),
    };
    let done = fixture.repo.release_worktree(&release(1, proof)).unwrap();
    assert!(done.branch_deleted && !path.exists());
    assert!(done.nested);
    let kept = fixture.repo.worktree_path(&swarm::git::kept_name(&name(1)));
    assert_eq!(read(&kept, "nested/file"), "x");
    assert_eq!(git(&kept.join("nested"), &["status", "--porcelain"]), "");
    // The change that git was told not to see was kept all the same.
    assert_eq!(
        fixture.git(&["show", &format!("{}:README", rescue_ref(&name(1)))]),
        "hidden change"
    );
    assert_eq!(fixture.repo.pool_size().unwrap(), 1);
    let want = Prepare {
        name: name(1),
        keep: KeepIgnored::Nothing,
        ..fixture.want(2)
    };
    let second = fixture.repo.prepare_worktree(&want).unwrap();
    assert_eq!(fixture.repo.pool_size().unwrap(), 0);
    assert_eq!(
        git(&second.path, &["status", "--porcelain", "--ignored"]),
        ""
    );
    assert_eq!(read(&second.path, "README"), "hello\n");
    assert_eq!(read(&second.path, "src/new.txt"), "x\n");
    assert_eq!(fixture.worktrees(), ["repo", &name(1)]);
    fixture.check();
}

#[test]
fn a_branch_goes_only_with_proof() {
    let fixture = Fixture::new();
    let (_, tip) = fixture.attempt(1, &[("x", "x")]);
    let contained = Proof::Contained {
        tip,
        target: "main".into(),
    };
    assert!(
        !fixture
            .repo
            .release_worktree(&release(1, contained))
            .unwrap()
            .branch_deleted
    );
    assert_eq!(fixture.oid(&branch(1)), tip);
    let (_, tip) = fixture.attempt(2, &[("y", "y")]);
    assert!(
        !fixture
            .repo
            .release_worktree(&release(2, Proof::Keep))
            .unwrap()
            .branch_deleted
    );
    assert_eq!(fixture.oid(&branch(2)), tip);
    assert!(
        fixture
            .repo
            .release_worktree(&release(2, Proof::Abandoned))
            .unwrap()
            .branch_deleted
    );
    assert_eq!(fixture.oid(&rescue_ref(&branch(2))), tip);
}

#[test]
fn uncommitted_and_strayed_work_is_kept_on_release() {
    let fixture = Fixture::new();
    let path = fixture.prepare(1).path;
    write(&path, "src/a.txt", "changed\n");
    write(&path, "untracked", "new\n");
    let done = fixture
        .repo
        .release_worktree(&release(1, Proof::Abandoned))
        .unwrap();
    let kept = done.rescued.unwrap().to_string();
    assert_eq!(fixture.git(&["show", &format!("{kept}:untracked")]), "new");
    assert_eq!(
        fixture.git(&["show", &format!("{kept}:src/a.txt")]),
        "changed"
    );
    let path = fixture.prepare(2).path;
    git(&path, &["checkout", "-q", "--detach"]);
    let stray = commit_in(&path, &[("z", "z")]);
    fixture
        .repo
        .release_worktree(&release(2, Proof::Keep))
        .unwrap();
    assert_eq!(fixture.oid(&rescue_ref(&name(2))), stray);
    let path = fixture.prepare(3).path;
    let lost = commit_in(&path, &[("w", "w")]);
    git(
        &path,
        &["update-ref", "-d", &format!("refs/heads/{}", branch(3))],
    );
    fixture
        .repo
        .release_worktree(&release(3, Proof::Keep))
        .unwrap();
    assert_eq!(fixture.oid(&rescue_ref(&name(3))), lost);
    fixture.check();
}

#[test]
fn a_worktree_is_taken_over_with_everything_in_it() {
    let fixture = Fixture::new();
    let (path, tip) = fixture.attempt(1, &[("x", "x")]);
    write(&path, "src/a.txt", "half done\n");
    write(&path, "untracked", "u");
    write(&path, "ignored/cache", "c");
    write(&path, "staged", "s");
    git(&path, &["add", "staged"]);
    let want = Prepare {
        from: Some(earlier(1)),
        ..fixture.want(2)
    };
    let taken = fixture.repo.prepare_worktree(&want).unwrap();
    assert_eq!(taken.head, tip);
    assert_eq!(git(&taken.path, &["branch", "--show-current"]), branch(2));
    assert_eq!(
        git(&taken.path, &["status", "--porcelain"]),
        " M src/a.txt\nA  staged\n?? untracked"
    );
    assert_eq!(read(&taken.path, "ignored/cache"), "c");
    assert!(!path.exists());
    assert_eq!(fixture.repo.prepare_worktree(&want).unwrap(), taken);
    assert_eq!(fixture.git(&["branch", "--list", &branch(1)]), "");
    fixture.check();
}

#[test]
fn an_earlier_worktree_that_is_gone_or_spoilt_does_not_hold_the_idea_up() {
    type Spoil = fn(&Fixture, &Path);
    let spoils: [Spoil; 4] = [
        |_, path| fs::remove_dir_all(path).unwrap(),
        |_, path| {
            fs::remove_file(path.join(".git")).unwrap();
            git(path, &["init", "-q"]);
        },
        |_, path| {
            fs::remove_dir_all(path).unwrap();
            std::os::unix::fs::symlink("/", path).unwrap();
        },
        |fixture, path| {
            let elsewhere = fixture.root().with_extension("moved");
            let to = elsewhere.to_str().unwrap();
            fixture.git(&["worktree", "move", path.to_str().unwrap(), to]);
        },
    ];
    for (at, spoil) in spoils.into_iter().enumerate() {
        let fixture = Fixture::new();
        let (path, tip) = fixture.attempt(1, &[("x", "x")]);
        spoil(&fixture, &path);
        let want = Prepare {
            from: Some(earlier(1)),
            ..fixture.want(2)
        };
        let prepared = fixture.repo.prepare_worktree(&want).unwrap();
        assert_eq!(prepared.head, tip, "{at}");
        assert_eq!(read(&prepared.path, "x"), "x");
        let branches = fixture.git(&["branch", "--list", &branch(1)]);
        assert_eq!(
            branches.is_empty(),
            at == 0,
            "{at}: only a branch that nobody has checked out goes"
        );
    }
}

#[test]
fn a_taken_over_worktree_whose_branch_was_deleted_has_its_last_commit() {
    let fixture = Fixture::new();
    let (path, tip) = fixture.attempt(1, &[("x", "x")]);
    write(&path, "untracked", "u");
    git(
        &path,
        &["update-ref", "-d", &format!("refs/heads/{}", branch(1))],
    );
    let want = Prepare {
        from: Some(earlier(1)),
        ..fixture.want(2)
    };
    let taken = fixture.repo.prepare_worktree(&want).unwrap();
    assert_eq!(taken.head, tip);
    assert_eq!(git(&taken.path, &["status", "--porcelain"]), "?? untracked");
    fixture.check();
}

#[test]
fn a_half_written_registration_of_ours_is_cleared_away() {
    let fixture = Fixture::new();
    let half = fixture.root().join(".git/worktrees/-new-ed-009-idea-009");
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join("locked"), "initializing").unwrap();
    fs::write(half.join("commondir"), "").unwrap();
    fixture.prepare(1);
    fixture.check();
}

#[test]
fn what_a_person_made_is_in_the_way_and_stays() {
    let fixture = Fixture::new();
    fixture.prepare(1);
    let foreign = fixture.repo.worktree_path(&name(2));
    write(&foreign, "precious", "mine");
    let refused = fixture.repo.prepare_worktree(&fixture.want(2));
    assert!(
        matches!(refused, Err(GitError::PathTaken { .. })),
        "{refused:?}"
    );
    assert_eq!(read(&foreign, "precious"), "mine");
    fixture.git(&["checkout", "-q", "-b", &branch(3)]);
    fixture.commit(&[("own", "x")]);
    fixture.git(&["checkout", "-q", "main"]);
    fixture.commit(&[("x", "x")]);
    let refused = fixture.repo.prepare_worktree(&fixture.want(3));
    assert!(
        matches!(refused, Err(GitError::BranchTaken { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_call_that_was_cut_short_goes_on_although_the_target_has_moved_since() {
    let fixture = Fixture::new();
    fixture.git(&["branch", &branch(1), "main"]);
    let begun = fixture.want(1).base;
    fixture.commit(&[("x", "x")]);
    let want = fixture.want(1);
    assert_ne!(want.base, begun);
    assert_eq!(fixture.repo.prepare_worktree(&want).unwrap().head, begun);
    fixture.check();
}

#[test]
fn a_released_worktree_that_is_not_to_be_used_again_leaves_nothing_on_the_disk() {
    let fixture = Fixture::new();
    let (path, _) = fixture.attempt(1, &[("x", "x")]);
    write(&path, "left", "l");
    let want = Release {
        reuse: false,
        ..release(1, Proof::Abandoned)
    };
    for _ in 0..2 {
        let released = fixture.repo.release_worktree(&want).unwrap();
        assert!(released.rescued.is_some() && !path.exists());
        assert_eq!(fixture.repo.pool_size().unwrap(), 0);
    }
    fixture.check();
}

#[test]
fn a_branch_without_its_worktree_gets_one_with_its_commits() {
    let fixture = Fixture::new();
    let want = fixture.want(1);
    let (path, tip) = fixture.attempt(1, &[("x", "x")]);
    fs::remove_dir_all(&path).unwrap();
    let again = fixture.repo.prepare_worktree(&want).unwrap();
    assert_eq!(again.head, tip);
    assert_eq!(read(&again.path, "x"), "x");
    fixture.repo.drain_pool().unwrap();
    fixture.check();
}

#[test]
fn half_made_worktrees_of_every_kind_are_healed() {
    let fixture = Fixture::new();
    let path = fixture.repo.worktree_path(&name(1));
    // As `git worktree add` leaves it when it is killed.
    fixture.git(&[
        "worktree",
        "add",
        "-q",
        "--no-checkout",
        "-b",
        &branch(1),
        path.to_str().unwrap(),
        "main",
    ]);
    let registration = fixture.repo.common_dir().join("worktrees").join(name(1));
    fs::write(registration.join("locked"), "initializing").unwrap();
    assert_eq!(read(&fixture.prepare(1).path, "README"), "hello\n");
    // An empty directory.
    fs::create_dir(fixture.repo.worktree_path(&name(2))).unwrap();
    fixture.prepare(2);
    // A staged one with a dead lock, halfway through a merge.
    let path = fixture.prepare(3).path;
    let staged = fixture.repo.worktree_path(&format!(".new-{}", name(3)));
    fixture.git(&[
        "worktree",
        "move",
        path.to_str().unwrap(),
        staged.to_str().unwrap(),
    ]);
    let git_dir = git(&staged, &["rev-parse", "--absolute-git-dir"]);
    fs::write(format!("{git_dir}/index.lock"), "").unwrap();
    fs::write(format!("{git_dir}/MERGE_HEAD"), "x").unwrap();
    fs::write(staged.join("README"), "junk").unwrap();
    let healed = fixture.prepare(3);
    assert_eq!(git(&healed.path, &["status", "--porcelain"]), "");
    // A registration without a directory, and a directory that lost its pointer.
    fs::remove_file(healed.path.join(".git")).unwrap();
    assert_eq!(fixture.prepare(3), healed);
    assert_eq!(git(&healed.path, &["branch", "--show-current"]), branch(3));
    fixture.check();
}

#[test]
fn after_draining_only_worktrees_with_work_are_known() {
    let fixture = Fixture::new();
    let mine = fixture.dir.path().join("mine");
    fixture.git(&[
        "worktree",
        "add",
        "-q",
        mine.to_str().unwrap(),
        "-b",
        "mine",
    ]);
    let away = fixture.dir.path().join("away");
    fixture.git(&[
        "worktree",
        "add",
        "-q",
        away.to_str().unwrap(),
        "-b",
        "away",
    ]);
    // A person's worktree on a disk that is not mounted now.
    fs::rename(&away, fixture.dir.path().join("unmounted")).unwrap();
    verified(&fixture, fixture.oid("main"));
    for number in [1, 2] {
        fixture.prepare(number);
    }
    for number in [1, 2] {
        fixture
            .repo
            .release_worktree(&release(number, Proof::Abandoned))
            .unwrap();
    }
    let kept = fixture.prepare(3).path;
    fixture.repo.drain_pool().unwrap();
    fs::rename(fixture.dir.path().join("unmounted"), &away).unwrap();
    let mut left = fixture.worktrees();
    left.sort();
    assert_eq!(left, ["away", &name(3), "mine", "repo"]);
    let dir = kept.parent().unwrap();
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, [name(3).as_str(), "owner"]);
    fixture.check();
}

#[test]
fn a_look_tells_what_was_done_and_changes_nothing() {
    let fixture = Fixture::new();
    let base = fixture.oid("main");
    let (path, tip) = fixture.attempt(1, &[("src/a.txt", "a\n"), ("two words\n", "x")]);
    write(&path, "b\u{e9}", "x");
    write(&path, "ignored/x", "x");
    let state = fixture.repo.inspect(&name(1), base, None).unwrap();
    assert_eq!(
        (state.head, state.dirty, state.commits_ahead),
        (tip, true, 1)
    );
    assert_eq!(
        state.files_modified,
        ["b\u{e9}", "src/a.txt", "two words\\x0a"]
    );
    assert_eq!(state.last_commit, Some((tip, "work".into())));
    let fresh = fixture.prepare(2);
    let state = fixture.repo.inspect(&name(2), fresh.head, None).unwrap();
    assert_eq!(
        (state.dirty, state.commits_ahead, state.last_commit),
        (false, 0, None)
    );
}

#[test]
fn the_files_of_a_worktree_are_another_tree_after_every_change_and_only_then() {
    let fixture = Fixture::new();
    let (path, tip) = fixture.attempt(1, &[("a.txt", "a\n")]);
    let files = || fixture.repo.worktree_tree(&name(1)).unwrap();
    // Those of a clean worktree are its commit, whatever is ignored.
    write(&path, "ignored/x", "x");
    let clean = files();
    assert_eq!((clean.commit, clean.tree), (tip, tip));
    let mut seen = vec![clean.tree];
    let changes: [&dyn Fn(); 5] = [
        &|| write(&path, "a.txt", "changed\n"),
        &|| write(&path, "new\nname", "x"),
        &|| write(&path, "new\nname", "y"),
        &|| fs::remove_file(path.join("a.txt")).unwrap(),
        &|| {
            git(&path, &["add", "-A"]);
            git(&path, &["commit", "-q", "-m", "more"]);
        },
    ];
    for change in changes {
        change();
        let now = files();
        assert!(!seen.contains(&now.tree), "{seen:?}");
        assert_eq!(files(), now);
        seen.push(now.tree);
    }
    // The same content again is no change, and neither is looking at it.
    let status = git(&path, &["status", "--porcelain"]);
    write(&path, "a.txt", "a\n");
    let back = files();
    write(&path, "a.txt", "a\n");
    assert_eq!(files(), back);
    fs::remove_file(path.join("a.txt")).unwrap();
    assert_eq!(git(&path, &["status", "--porcelain"]), status);
    fs::remove_dir_all(&path).unwrap();
    assert!(fixture.repo.worktree_tree(&name(1)).is_err());
}

#[test]
fn trees_before_and_after_are_kept_once_and_outlive_the_branch() {
    let fixture = Fixture::new();
    let (path, tip) = fixture.attempt(1, &[("a.txt", "a\n")]);
    write(&path, "before.txt", "b\n");
    let before = fixture.repo.worktree_tree(&name(1)).unwrap();
    write(&path, "after.txt", "c\n");
    let after = fixture.repo.worktree_tree(&name(1)).unwrap();
    let reference = "refs/swarm/provenance/2026-01";
    let want = KeepTrees {
        reference: reference.into(),
        message: "r1: idea-001 iteration 1\n".into(),
        identity: fixture.repo.identity().unwrap(),
        time: TIME,
        before: Some(before),
        after,
    };
    fixture.repo.keep_trees(&want).unwrap();
    let kept = fixture.oid(reference);
    let lock = if crate::git_format::has_tables() {
        "reftable/tables.list.lock".to_owned()
    } else {
        format!("{reference}.lock")
    };
    let lock = fixture.root().join(".git").join(lock);
    fs::write(&lock, "").unwrap();
    fixture.repo.keep_trees(&want).unwrap();
    assert_eq!(fixture.oid(reference), kept, "a repeated call adds nothing");
    assert!(!lock.exists(), "of a call that was killed");
    let next = KeepTrees {
        message: "r2: idea-002 iteration 1\n".into(),
        before: None,
        after: before,
        ..want
    };
    fixture.repo.keep_trees(&next).unwrap();
    let root = &fixture.root();
    let worktree = path.to_str().unwrap();
    git(root, &["worktree", "remove", "--force", worktree]);
    git(root, &["branch", "-D", &branch(1)]);
    git(root, &["reflog", "expire", "--expire=now", "--all"]);
    git(root, &["gc", "--quiet", "--prune=now"]);
    for object in [before.tree, after.tree, tip] {
        git(root, &["cat-file", "-e", &object.to_string()]);
    }
}

/// Else the thousandth iteration of a month would sync what all before it left.
#[test]
fn to_keep_an_iteration_takes_no_look_at_what_earlier_ones_left() {
    let fixture = Fixture::new();
    let (path, _) = fixture.attempt(1, &[("a.txt", "a\n")]);
    let keep = |number: u32| {
        write(&path, "a.txt", &format!("{number}\n"));
        let after = fixture.repo.worktree_tree(&name(1)).unwrap();
        let kept = fixture.repo.keep_trees(&KeepTrees {
            reference: "refs/swarm/provenance/2026-01".into(),
            message: format!("r{number}: idea-001 iteration {number}\n"),
            identity: identity(),
            time: TIME,
            before: None,
            after,
        });
        kept.unwrap();
        after.tree.to_string()
    };
    let first = keep(1);
    keep(2);
    let object = format!(".git/objects/{}/{}", &first[..2], &first[2..]);
    fs::remove_file(fixture.root().join(object)).unwrap();
    keep(3);
}

#[test]
fn what_came_from_the_target_is_nobodys_work_in_a_worktree() {
    let fixture = Fixture::new();
    let base = fixture.oid("main");
    let (path, tip) = fixture.attempt(1, &[("own.txt", "own\n")]);
    let landed = fixture.commit(&[("others.txt", "others\n")]);
    let look = |number, target| fixture.repo.inspect(&name(number), base, target).unwrap();
    // Made where the target is now, for an idea that began before.
    fixture.prepare(2);
    let state = look(2, Some(landed));
    assert_eq!(
        (state.head, state.files_modified.len(), state.last_commit),
        (landed, 0, None)
    );
    // The target's commits came into the branch.
    git(&path, &["merge", "-q", "--no-edit", "main"]);
    write(&path, "more.txt", "x");
    let state = look(1, Some(landed));
    assert_eq!(state.files_modified, ["more.txt", "own.txt"]);
    assert_eq!(state.commits_ahead, 2);
    // The target has gone back: where the branch began still counts.
    let state = fixture.repo.inspect(&name(2), landed, Some(base)).unwrap();
    assert_eq!((state.commits_ahead, state.last_commit), (0, None));
    let state = fixture.repo.inspect(&name(1), tip, Some(base)).unwrap();
    assert_eq!(state.files_modified, ["more.txt", "others.txt"]);
}

#[test]
fn a_snapshot_keeps_the_work_and_does_not_touch_it() {
    let fixture = Fixture::new();
    let path = fixture.prepare(1).path;
    write(&path, "src/a.txt", "changed\n");
    write(&path, "new", "n\n");
    git(&path, &["add", "-N", "new"]);
    let before = git(&path, &["status", "--porcelain=v2"]);
    let want = Snapshot {
        name: name(1),
        reference: "refs/swarm/wip/one".into(),
        message: "wip\n".into(),
        identity: identity(),
        time: TIME,
    };
    let oid = fixture.repo.snapshot_worktree(&want).unwrap().unwrap();
    assert_eq!(fixture.repo.snapshot_worktree(&want).unwrap(), Some(oid));
    assert_eq!(git(&path, &["status", "--porcelain=v2"]), before);
    assert_eq!(
        fixture.git(&["diff", "--name-only", "main", &oid.to_string()]),
        "new\nsrc/a.txt"
    );
    fixture.prepare(2);
    let clean = Snapshot {
        name: name(2),
        reference: "refs/swarm/wip/two".into(),
        ..want
    };
    assert_eq!(fixture.repo.snapshot_worktree(&clean).unwrap(), None);
}

/// Same size, same time: git sees it only because the index is not younger than the file.
#[test]
fn a_change_in_the_same_tick_of_the_clock_as_the_index_is_kept() {
    let fixture = Fixture::new();
    fixture.git(&["config", "core.trustctime", "false"]);
    let path = fixture.prepare(1).path;
    let index = git(&path, &["rev-parse", "--git-path", "index"]);
    let (file, index) = (path.join("src/a.txt"), Path::new(&index));
    let tick = SystemTime::now() - Duration::from_secs(10);
    let at_that_tick = |place: &Path| {
        let open = fs::File::options().write(true).open(place).unwrap();
        open.set_modified(tick).unwrap();
    };
    write(&path, "src/a.txt", "one\n");
    at_that_tick(&file);
    git(&path, &["add", "."]);
    write(&path, "src/a.txt", "two\n");
    at_that_tick(&file);
    at_that_tick(index);
    let want = Snapshot {
        name: name(1),
        reference: "refs/swarm/wip/one".into(),
        message: "wip\n".into(),
        identity: identity(),
        time: TIME,
    };
    let oid = fixture.repo.snapshot_worktree(&want).unwrap().unwrap();
    assert_eq!(fixture.git(&["show", &format!("{oid}:src/a.txt")]), "two");
}

#[test]
fn a_verified_tree_is_the_commit_and_keeps_what_was_built() {
    let fixture = Fixture::new();
    let first = fixture.oid("main");
    let path = verified(&fixture, first);
    write(&path, "ignored/build", "object files");
    write(&path, "stray", "x");
    write(&path, "README", "formatted by the gate\n");
    write(&path, "inner/x", "x");
    git(&path.join("inner"), &["init", "-q"]);
    let second = fixture.commit(&[("src/new", "n"), (".gitignore", "ignored/\n")]);
    assert_eq!(verified(&fixture, second), path);
    assert_eq!(git(&path, &["rev-parse", "HEAD"]), second.to_string());
    assert_eq!(read(&path, "ignored/build"), "object files");
    assert_eq!(git(&path, &["status", "--porcelain", "-uall"]), "");
    // Not even a damaged index and a directory where a file belongs stop it.
    let git_dir = git(&path, &["rev-parse", "--absolute-git-dir"]);
    fs::write(format!("{git_dir}/index"), "junk").unwrap();
    fs::remove_file(path.join("README")).unwrap();
    write(&path, "README/inner", "x");
    verified(&fixture, first);
    assert_eq!(read(&path, "README"), "hello\n");
    fs::remove_dir_all(&path).unwrap();
    verified(&fixture, second);
    assert_eq!(read(&path, "src/new"), "n");
    fixture.check();
}

#[test]
fn odd_names_survive_every_step() {
    let fixture = Fixture::new();
    let odd = [
        "-dash",
        "two words",
        "new\nline",
        "quote\"'s",
        ":(top)magic",
        "*star",
        "\u{fc}ml\u{e4}ut",
        "tab\t",
    ];
    let files: Vec<(&str, &str)> = odd.iter().map(|name| (*name, "x\n")).collect();
    let (path, tip) = fixture.attempt(1, &files);
    let raw = path.join(std::ffi::OsStr::from_bytes(b"\xff\xfe"));
    fs::write(&raw, "bytes").unwrap();
    let base = fixture.oid("main");
    let state = fixture.repo.inspect(&name(1), base, None).unwrap();
    assert!(
        state.files_modified.contains(&"\\xff\\xfe".to_owned()),
        "{:?}",
        state.files_modified
    );
    assert_eq!(state.files_modified.len(), odd.len() + 1);
    let done = fixture
        .repo
        .release_worktree(&release(1, Proof::Keep))
        .unwrap();
    assert!(done.rescued.is_some());
    assert_eq!(fixture.oid(&branch(1)), tip);
    let again = fixture.prepare(2);
    assert_eq!(
        git(&again.path, &["status", "--porcelain", "--ignored"]),
        ""
    );
}

/// Runs itself again where a file system of 8 MiB can be mounted for itself alone: in a mount
/// namespace.
#[test]
fn a_full_disk_leaves_nothing_half_made() {
    let Some(small) = std::env::var_os("SWARM_TEST_SMALL_DISK") else {
        if crate::required_tools::mounts_are_forbidden() {
            return;
        }
        let room = tempfile::tempdir().unwrap();
        let script = "mount -t tmpfs -o size=8m tmpfs \"$SWARM_TEST_SMALL_DISK\" && exec \"$@\"";
        // As a plain user, root of a user namespace may mount; as root, a mount namespace alone
        // does.
        let as_root = nix::unistd::Uid::effective().is_root();
        let namespace: &[&str] = if as_root { &["-m"] } else { &["-rm"] };
        let output = std::process::Command::new("unshare")
            .args(namespace)
            .args(["sh", "-c", script, "sh"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "worktrees::a_full_disk_leaves_nothing_half_made"])
            .env("SWARM_TEST_SMALL_DISK", room.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}{complaint}"
        );
        return;
    };
    let fixture = Fixture::in_directory(tempfile::tempdir_in(small).unwrap());
    fixture.commit(&[("large", &"x".repeat(2 << 20))]);
    fixture.git(&["gc", "-q"]);
    let want = fixture.want(1);
    let ballast = fixture.dir.path().join("ballast");
    let mut size = 16 << 20;
    while size > 1 << 20 && fs::write(&ballast, vec![0; size]).is_err() {
        size -= 1 << 18;
    }
    let refused = fixture.repo.prepare_worktree(&want);
    assert!(
        matches!(refused, Err(GitError::DiskFull { .. })),
        "{refused:?}"
    );
    assert_eq!(fixture.worktrees(), ["repo"]);
    assert_eq!(fixture.repo.branch_commit(&want.branch).unwrap(), None);
    fs::remove_file(&ballast).unwrap();
    assert_eq!(
        read(
            &fixture.repo.prepare_worktree(&want).unwrap().path,
            "README"
        ),
        "hello\n"
    );
    fixture.check();
}
