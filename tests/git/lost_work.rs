//! Merges whose resolver threw the branch's own work away.

use std::fs;
use std::path::Path;

use swarm::git::{Finish, FreshStart, Oid, Prepare, Proof, rescue_ref};

use crate::fixture::{Fixture, TIME, branch, commit_in, earlier, git, identity, name, read, write};
use crate::resolution::{finish, in_docs};
use crate::worktrees::release;

#[test]
fn a_resolver_that_throws_the_work_away_has_settled_nothing() {
    for leaves in ["reset --hard -q MERGE_HEAD", "reset --hard -q MERGE_HEAD~1"] {
        let (fixture, path, target) = in_docs("");
        let tip = fixture.oid(&branch(1));
        git(&path, &leaves.split(' ').collect::<Vec<_>>());
        write(&path, "notes", "of the resolver\n");
        if leaves.ends_with("~1") {
            // Not even the target is in it: then the next start has to see to it.
            let again = fixture.repo.start_resolution(&name(1), &branch(1), target);
            assert_eq!(again.unwrap(), ["docs"]);
        } else {
            let open = Finish::StillConflicted {
                files: vec!["docs".into()],
            };
            assert_eq!(fixture.repo.finish_resolution(&finish(1)).unwrap(), open);
        }
        assert_eq!(fixture.oid(&branch(1)), tip);
        let kept = format!("{}:notes", rescue_ref(&name(1)));
        assert_eq!(fixture.git(&["show", &kept]), "of the resolver");
        let head = commit_in(&path, &[("docs", "both\n")]);
        assert_eq!(
            fixture.repo.finish_resolution(&finish(1)).unwrap(),
            Finish::Finished { head }
        );
    }
}

/// The conflict of [`in_docs`] is open, with the work on the branch, and can be settled.
fn is_open_again(fixture: &Fixture, path: &Path, tip: Oid) {
    assert_eq!(fixture.oid(&branch(1)), tip);
    assert!(read(path, "docs").contains("<<<<<<<"));
    let head = commit_in(path, &[("docs", "both\n")]);
    assert_eq!(
        fixture.repo.finish_resolution(&finish(1)).unwrap(),
        Finish::Finished { head }
    );
    assert!(fixture.repo.contains(head, tip).unwrap());
    fixture.check();
}

#[test]
fn a_resolver_that_takes_a_target_that_has_gone_on_has_settled_nothing() {
    for ends in ["finish", "start", "abort"] {
        let (fixture, path, target) = in_docs("");
        let tip = fixture.oid(&branch(1));
        let later = fixture.commit(&[("other", "o")]);
        git(&path, &["reset", "--hard", "-q", "main"]);
        let start = |target| {
            let started = fixture.repo.start_resolution(&name(1), &branch(1), target);
            started.unwrap()
        };
        match ends {
            "finish" => {
                let open = Finish::StillConflicted {
                    files: vec!["docs".into()],
                };
                assert_eq!(fixture.repo.finish_resolution(&finish(1)).unwrap(), open);
            }
            "start" => assert_eq!(start(later), ["docs"]),
            _ => {
                assert!(fixture.repo.abort_resolution(&finish(1)).unwrap());
                assert_eq!(fixture.oid(&branch(1)), tip);
                assert_eq!(git(&path, &["status", "--porcelain"]), "");
                assert_eq!(start(target), ["docs"]);
            }
        }
        is_open_again(&fixture, &path, tip);
    }
}

#[test]
fn a_resolver_that_takes_another_branch_has_settled_nothing() {
    // With the target in it, and without; at its commit, and before it.
    for (with_target, leaves) in [(true, "~0"), (true, "~1"), (false, "~0"), (false, "~1")] {
        let (fixture, path, target) = in_docs("");
        let tip = fixture.oid(&branch(1));
        let other = fixture.prepare(2).path;
        if !with_target {
            git(&other, &["reset", "--hard", "-q", &format!("{target}~1")]);
        }
        commit_in(&other, &[("other", "o")]);
        commit_in(&other, &[("other", "oo")]);
        let to = format!("{}{leaves}", branch(2));
        git(&path, &["reset", "--hard", "-q", &to]);
        let open = Finish::StillConflicted {
            files: vec!["docs".into()],
        };
        let finished = fixture.repo.finish_resolution(&finish(1));
        assert_eq!(finished.unwrap(), open, "{to}, {with_target}");
        is_open_again(&fixture, &path, tip);
    }
}

#[test]
fn an_aborted_merge_gives_back_the_work_that_was_thrown_away() {
    let (fixture, path, _) = in_docs("");
    let tip = fixture.oid(&branch(1));
    git(&path, &["reset", "--hard", "-q", "MERGE_HEAD"]);
    assert!(fixture.repo.abort_resolution(&finish(1)).unwrap());
    assert_eq!(fixture.oid(&branch(1)), tip);
    assert_eq!(git(&path, &["status", "--porcelain"]), "");
}

#[test]
fn work_that_a_resolver_made_anew_settles_it_and_what_it_replaces_stays() {
    let (fixture, path, target) = in_docs("");
    let tip = fixture.oid(&branch(1));
    git(&path, &["reset", "--hard", "-q", "MERGE_HEAD"]);
    let head = commit_in(&path, &[("docs", "both\n")]);
    assert_eq!(
        fixture.repo.finish_resolution(&finish(1)).unwrap(),
        Finish::Finished { head }
    );
    assert_eq!(fixture.oid(&rescue_ref(&name(1))), tip);
    assert!(
        fixture
            .repo
            .start_resolution(&name(1), &branch(1), target)
            .unwrap()
            .is_empty()
    );
}

fn open_work(fixture: &Fixture) -> String {
    fixture.git(&["for-each-ref", "--format=%(objectname)", "refs/swarm/open"])
}

/// A person sees to it days later, and until then only this has the work.
#[test]
fn the_work_has_a_reference_while_its_conflict_is_open() {
    let (fixture, path, _) = in_docs("");
    let tip = fixture.oid(&branch(1));
    git(&path, &["reset", "--hard", "-q", "MERGE_HEAD~1"]);
    assert_eq!(open_work(&fixture), tip.to_string());
    git(&path, &["reset", "--hard", "-q", &tip.to_string()]);
    assert!(fixture.repo.abort_resolution(&finish(1)).unwrap());
    assert_eq!(open_work(&fixture), "");
}

#[test]
fn work_that_was_thrown_away_is_kept_when_its_conflict_is_laid_out_again() {
    let (fixture, path, target) = in_docs("");
    let tip = fixture.oid(&branch(1));
    git(&path, &["merge", "--abort"]);
    git(&path, &["reset", "--hard", "-q", &format!("{target}~2")]);
    commit_in(&path, &[("junk", "junk\n")]);
    let started = fixture.repo.start_resolution(&name(1), &branch(1), target);
    assert_eq!(started.unwrap(), Vec::<String>::new());
    let finished = fixture.repo.finish_resolution(&finish(1)).unwrap();
    assert!(matches!(finished, Finish::Finished { .. }), "{finished:?}");
    assert_eq!(fixture.oid(&rescue_ref(&name(1))), tip);
    assert_eq!(open_work(&fixture), "");
}

#[test]
fn work_of_an_open_conflict_is_kept_when_the_worktree_goes() {
    let (fixture, path, _) = in_docs("");
    let tip = fixture.oid(&branch(1));
    git(&path, &["reset", "--hard", "-q", "MERGE_HEAD~1"]);
    let beside = git(&path, &["rev-parse", "--git-path", "swarm-resolution"]);
    fs::remove_file(path.join(beside)).unwrap();
    fixture
        .repo
        .release_worktree(&release(1, Proof::Abandoned))
        .unwrap();
    assert_eq!(fixture.oid(&rescue_ref(&name(1))), tip);
    assert_eq!(open_work(&fixture), "");
}

/// A second name of the branch, and branches that name nothing, are no other branch that has the
/// work.
#[test]
fn work_that_a_resolver_made_anew_is_taken_beside_odd_branches() {
    if crate::git_format::has_tables() {
        return;
    }
    let (fixture, path, _) = in_docs("");
    git(&path, &["reset", "--hard", "-q", "MERGE_HEAD"]);
    let head = commit_in(&path, &[("docs", "both\n")]);
    let heads = fixture.root().join(".git/refs/heads");
    for (name, says) in [
        ("alias", format!("ref: refs/heads/{}", branch(1))),
        ("nowhere", "ref: refs/heads/gone".into()),
        ("missing", "1".repeat(40)),
        ("tree", fixture.git(&["rev-parse", "main^{tree}"])),
        ("garbage", "?".into()),
    ] {
        write(&heads, name, &format!("{says}\n"));
    }
    assert_eq!(
        fixture.repo.finish_resolution(&finish(1)).unwrap(),
        Finish::Finished { head }
    );
}

/// The next attempt leaves the merge first, and begins anew only where nothing was left.
#[test]
fn work_that_was_thrown_away_is_no_empty_past() {
    let (fixture, path, target) = in_docs("");
    let tip = fixture.oid(&branch(1));
    git(&path, &["reset", "--hard", "-q", "MERGE_HEAD"]);
    let want = Prepare {
        from: Some(earlier(1)),
        base: fixture.oid("main~1"),
        ..fixture.want(2)
    };
    let anew = FreshStart {
        target: "main".into(),
        tip: target,
        identity: identity(),
        time: TIME,
    };
    assert!(fixture.repo.abort_resolution(&finish(1)).unwrap());
    let want = fixture.repo.fresh_start_if_empty(want, anew).unwrap();
    assert_eq!(want.from, Some(earlier(1)));
    assert_eq!(fixture.repo.prepare_worktree(&want).unwrap().head, tip);
}

#[test]
fn work_that_was_thrown_away_is_kept_when_its_worktree_goes() {
    let landed = |fixture: &Fixture| Proof::Contained {
        tip: fixture.oid(&branch(1)),
        target: "main".into(),
    };
    for proof in [
        |_: &Fixture| Proof::Abandoned,
        |_: &Fixture| Proof::Keep,
        landed,
    ] {
        let (fixture, path, _) = in_docs("");
        let tip = fixture.oid(&branch(1));
        git(&path, &["reset", "--hard", "-q", "MERGE_HEAD"]);
        let proof = proof(&fixture);
        for _ in 0..2 {
            fixture
                .repo
                .release_worktree(&release(1, proof.clone()))
                .unwrap();
            assert_eq!(fixture.oid(&rescue_ref(&name(1))), tip, "{proof:?}");
        }
        fixture.check();
    }
}

#[test]
fn work_that_a_resolver_replaced_is_kept_when_the_merge_is_aborted() {
    let (fixture, path, _) = in_docs("");
    let tip = fixture.oid(&branch(1));
    git(&path, &["reset", "--hard", "-q", "MERGE_HEAD"]);
    let junk = commit_in(&path, &[("other", "of the resolver\n")]);
    assert!(fixture.repo.abort_resolution(&finish(1)).unwrap());
    assert_eq!(fixture.oid(&branch(1)), junk);
    assert_eq!(fixture.oid(&rescue_ref(&name(1))), tip);
    fixture.check();
}
