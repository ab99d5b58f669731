//! Tools that people run in a checkout rage beside a working swarm: nothing that was acknowledged
//! is lost, nothing is paid twice, and the person's own files stay as they are. `SWARM_CLEANERS`
//! says for how many rounds; the seed that repeats them is printed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use nix::sys::signal::Signal;
use serde_json::json;

use crate::formatter::prettier;
use crate::harness::required_tools::are_missing;
use crate::harness::{Daemon, PATIENCE, Ran, Sandbox};
use crate::kill_and_restart::Dice;

/// What a person has in the checkout: committed, and not committed.
const OWN: [(&str, &str); 2] = [("own.txt", "mine\n"), ("draft.txt", "half a thought\n")];

/// Rounds without `SWARM_CLEANERS`.
const ROUNDS: u64 = 6;

struct Storm<'a> {
    sandbox: &'a Sandbox,
    dice: Dice,
    daemon: Option<Daemon<'a>>,
    /// The ideas that `swarm` has acknowledged.
    ideas: BTreeSet<String>,
    /// How often each exit code of a daemon was seen, for the report.
    ends: BTreeMap<i32, usize>,
    checkpoints: usize,
    backups: usize,
}

#[test]
fn tools_of_the_checkout_lose_nothing_and_pay_nothing_twice() {
    if are_missing(&["node", "npm", "tar"]) {
        return;
    }
    let rounds = std::env::var("SWARM_CLEANERS").map_or(ROUNDS, |text| text.parse().unwrap());
    let sandbox = prepared();
    let base = sandbox.head("main");
    let mut storm = Storm {
        sandbox: &sandbox,
        dice: Dice::thrown(),
        daemon: None,
        ideas: BTreeSet::new(),
        ends: BTreeMap::new(),
        checkpoints: 0,
        backups: 0,
    };
    for round in 0..rounds {
        storm.round(round, rounds);
    }
    storm.settle();
    storm.assert_nothing_lost(&base);
    println!(
        "{rounds} rounds, {} ideas, {} checkpoints, {} runs, daemons ended with {:?}",
        storm.ideas.len(),
        storm.checkpoints,
        sandbox.notes("runs").len(),
        storm.ends
    );
}

/// A swarm whose setup is committed, and a person's own files.
fn prepared() -> Sandbox {
    let sandbox = Sandbox::ready();
    let retries = json!({"agents": {"maxParallel": 3}, "checkpoints": {"periodic": 0}});
    sandbox.configure(&retries);
    sandbox.write("own.txt", OWN[0].1);
    sandbox.write("draft.txt", "a thought\n");
    sandbox.commit("Set up swarm");
    sandbox.write("draft.txt", OWN[1].1);
    sandbox
}

impl Storm<'_> {
    fn round(&mut self, round: u64, rounds: u64) {
        self.keep_a_daemon();
        let doing = "write $SWARM_IDEA_ID.txt x; commit; sleep 0.2; append $SWARM_IDEA_ID.txt y; \
            say COMPLETE";
        let text = format!("An idea of the storm\n\nDO: {doing}");
        let added = self.say(&["idea", "add", &text]);
        if added.code == 0 {
            self.ideas.insert(added.stdout.trim().to_owned());
        }
        if self.dice.below(3) == 0 {
            let name = format!("of-{round}");
            let made = self.say(&["checkpoint", "create", &name]);
            self.checkpoints += usize::from(made.code == 0);
        }
        if round == rounds / 2 {
            self.say(&["rollback", "--last", "--yes"]);
            self.say(&["resume"]);
        }
        self.rage();
        self.restore_setup();
        self.look_on();
    }

    /// A command that may be refused, but must not panic.
    fn say(&self, args: &[&str]) -> Ran {
        let ran = self.sandbox.swarm(args);
        assert!(!ran.stderr.contains("panicked"), "{ran}");
        ran
    }

    /// A person asks a drawn number of times how it goes, so the next blow falls anywhere.
    fn look_on(&mut self) {
        for _ in 0..self.dice.below(4) {
            self.say(&["status"]);
        }
    }

    fn keep_a_daemon(&mut self) {
        let ended = self.daemon.as_ref().map(Daemon::exited);
        if let Some(Some(code)) = ended {
            *self.ends.entry(code).or_default() += 1;
        }
        if !matches!(ended, Some(None)) {
            self.daemon = None;
            self.daemon = Some(self.sandbox.spawn_daemon(&[]));
        }
    }

    /// Runs one of the tools. Git may refuse, as it does for a person.
    fn rage(&mut self) {
        let sandbox = self.sandbox;
        match self.dice.below(8) {
            0 => drop(sandbox.shell("git clean -fdxq")),
            1 => {
                sandbox.shell(
                    "git stash -u -q; [ -z \"$(git stash list)\" ] || git stash pop -q || { until \
                    git checkout -q stash@{0} -- draft.txt; do sleep 0.05; done; git reset -q \
                    draft.txt; git stash drop -q; }",
                );
            }
            2 => drop(sandbox.shell("git gc -q --prune=now")),
            3 => drop(sandbox.shell("git worktree prune")),
            4 => {
                let mut write = sandbox.command(prettier());
                write.args(["--write", "--log-level", "silent", "."]);
                sandbox.run(&mut write, b"", 2 * PATIENCE);
            }
            5 => self.delete_one(),
            6 => self.back_up_or_restore(),
            _ => {
                let lock = sandbox.repo().join(".git/index.lock");
                if fs::File::create_new(&lock).is_ok() {
                    self.look_on();
                    fs::remove_file(&lock).unwrap();
                }
            }
        }
    }

    /// Deletes one of `.swarm/*`.
    fn delete_one(&mut self) {
        let folder = fs::read_dir(self.sandbox.dot_swarm(""))
            .into_iter()
            .flatten();
        let mut all: Vec<_> = folder.flatten().map(|entry| entry.path()).collect();
        all.sort();
        let many = u64::try_from(all.len().max(1)).unwrap();
        let drawn = usize::try_from(self.dice.below(many)).unwrap();
        if let Some(path) = all.get(drawn) {
            self.sandbox.shell(&format!("rm -rf '{}'", path.display()));
        }
    }

    /// The first time makes a backup of `.swarm`, later ones restore it over what is there.
    fn back_up_or_restore(&mut self) {
        let backup = self.sandbox.path("backup.tar");
        let backup = backup.display();
        self.backups += 1;
        // The worktrees are no files that a backup tool would bring back into git's administration.
        let line = match self.backups {
            1 => format!("tar cf '{backup}' --exclude=worktrees .swarm 2>&1; true"),
            _ => format!("tar xf '{backup}' 2>&1; true"),
        };
        self.sandbox.shell(&line);
    }

    /// As a person does who sees that the setup is missing.
    fn restore_setup(&self) {
        self.sandbox.wait_for("the setup to be checked out", || {
            let ran = self.sandbox.shell("git checkout -q -- .swarm");
            (ran.code == 0).then_some(())
        });
    }

    /// The tools are done: the swarm does the rest.
    fn settle(&mut self) {
        if let Some(daemon) = self.daemon.as_ref().filter(|it| it.exited().is_none()) {
            daemon.signal(Signal::SIGTERM);
            daemon.wait_exit(PATIENCE);
        }
        self.daemon = None;
        for _ in 0..4 {
            // A rollback leaves a pause, which only a daemon ends.
            let daemon = self.sandbox.start();
            self.say(&["resume"]);
            daemon.stop();
            drop(daemon);
            let daemon = self.sandbox.spawn_daemon(&["--until-idle"]);
            let code = daemon.wait_exit(4 * PATIENCE);
            *self.ends.entry(code).or_default() += 1;
            drop(daemon);
            let all = self.sandbox.ideas();
            let open = all.iter().filter(|idea| idea["status"] != "done");
            let open: Vec<&str> = open.filter_map(|idea| idea["id"].as_str()).collect();
            for id in &open {
                println!("tried again: {}", self.sandbox.show(id)["lastError"]);
                self.say(&["idea", "retry", id]);
            }
            if open.is_empty() {
                return;
            }
        }
        self.sandbox.fail("ideas are left that cannot be done");
    }

    fn assert_nothing_lost(&self, base: &str) {
        let sandbox = self.sandbox;
        let known = sandbox.ideas();
        let known: BTreeSet<&str> = known
            .iter()
            .filter_map(|idea| idea["id"].as_str())
            .collect();
        let landed = sandbox.landings(base, "main");
        for id in &self.ideas {
            assert!(known.contains(id.as_str()), "{id} was lost");
            let times = landed.iter().filter(|(_, idea)| idea == id).count();
            assert_eq!(times, 1, "landings of {id}: {landed:?}");
            let text = sandbox.file_at("main", &format!("{id}.txt"));
            assert!(text.starts_with('x'), "{id}: {text}");
        }
        let runs = sandbox.notes("runs");
        let ids: BTreeSet<&str> = runs
            .iter()
            .filter_map(|run| run.split(' ').nth(4))
            .collect();
        assert_eq!(ids.len(), runs.len(), "a run was paid twice: {runs:#?}");
        for (name, text) in OWN {
            assert_eq!(sandbox.read(name), text, "{name}");
        }
        sandbox.assert_log_sound();
        sandbox.assert_nothing_runs();
    }
}
