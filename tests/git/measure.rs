//! How long things take on a repository of 5,000 files: `cargo test --release --test git measure -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use swarm::git::{Land, Prepare, Proof, Release};

use crate::fixture::{Fixture, TIME, commit_in, identity, write};
use crate::merging::{built, merge};

const FILES: usize = 5_000;
const ROUNDS: u32 = 7;

fn timed<T>(times: &mut Vec<Duration>, act: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = act();
    times.push(start.elapsed());
    result
}

fn tell(what: &str, times: &mut [Duration]) {
    times.sort();
    println!(
        "{what:42} p50 {:7.1} ms",
        times[times.len() / 2].as_secs_f64() * 1_000.0
    );
}

#[test]
#[ignore = "a measurement, not a check"]
fn the_costs_of_5000_files() {
    let fixture = Fixture::new();
    let root = fixture.root();
    for number in 0..FILES {
        write(
            &root,
            &format!("lib/{}/{}/f{number}", number % 20, number % 10),
            &format!("content of {number}\n").repeat(30),
        );
    }
    fixture.commit(&[]);
    let repo = &fixture.repo;
    let [
        mut first,
        mut again,
        mut ready,
        mut released,
        mut looked,
        mut sealed,
        mut built_in,
        mut verified,
        mut landed,
        mut tagged,
    ] = std::array::from_fn(|_| Vec::new());
    for round in 0..ROUNDS {
        let want = |kind: &str| Prepare {
            name: format!("{kind}-{round}"),
            branch: format!("agent/{kind}/{round}"),
            base: fixture.oid("main"),
            from: None,
        };
        let release = |want: &Prepare, proof| Release {
            name: want.name.clone(),
            branch: want.branch.clone(),
            proof,
            identity: identity(),
            time: TIME,
        };
        let new = want("new");
        timed(&mut first, || repo.prepare_worktree(&new).unwrap());
        for number in 0..10 {
            write(
                &repo.worktree_path(&new.name),
                &format!("lib/{number}/{number}/x{round}"),
                "x\n",
            );
        }
        timed(&mut released, || {
            repo.release_worktree(&release(&new, Proof::Keep)).unwrap()
        });
        let pooled = want("pooled");
        let path = timed(&mut again, || repo.prepare_worktree(&pooled).unwrap()).path;
        timed(&mut ready, || repo.prepare_worktree(&pooled).unwrap());
        for number in 0..10 {
            write(
                &path,
                &format!("lib/{number}/{number}/f{number}"),
                &format!("{round}\n"),
            );
        }
        timed(&mut looked, || {
            repo.inspect(&pooled.name, pooled.base).unwrap()
        });
        let seal = swarm::git::Seal {
            name: pooled.name.clone(),
            branch: pooled.branch.clone(),
            base: pooled.base,
            message: "work\n".into(),
            identity: identity(),
            time: TIME,
        };
        timed(&mut sealed, || repo.seal(&seal).unwrap());
        let source = repo.branch_commit(&pooled.branch).unwrap().unwrap();
        commit_in(&root, &[("README", &format!("{round}\n"))]);
        let commit = built(&timed(&mut built_in, || {
            repo.build_merge(&merge(source)).unwrap()
        }));
        timed(&mut verified, || repo.verify_tree(commit).unwrap());
        let land = Land {
            branch: "main".into(),
            expected: fixture.oid("main"),
            commit,
        };
        timed(&mut landed, || repo.land(&land).unwrap());
        timed(&mut tagged, || {
            repo.create_tag(&format!("t{round}"), commit, "t\n", &identity(), TIME)
                .unwrap()
        });
        repo.release_worktree(&release(&pooled, Proof::Keep))
            .unwrap();
        for entry in std::fs::read_dir(repo.worktree_path("")).unwrap().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b".pool-") {
                std::fs::remove_dir_all(entry.path()).unwrap();
            }
        }
    }
    tell("prepare, new", &mut first);
    tell("prepare, from the pool", &mut again);
    tell("prepare, ready", &mut ready);
    tell("release into the pool", &mut released);
    tell("inspect", &mut looked);
    tell("seal 10 files", &mut sealed);
    tell("build a merge", &mut built_in);
    tell("verify (first one makes the worktree)", &mut verified);
    tell("land, checkout follows", &mut landed);
    tell("annotated tag, synced", &mut tagged);
}
