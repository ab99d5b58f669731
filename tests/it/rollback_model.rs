//! Fifty operations, drawn, with checkpoints and rollbacks among them, against a model of what the
//! target and the ideas must be.
//!
//! The model knows what each idea writes, and of each checkpoint which ideas had landed, what a
//! person had committed and how each idea stood. After every operation: the target is exactly the
//! files of those that landed; no idea is in its history twice; what is done is in it, and nothing
//! that is neither done nor merging; a person's checkout follows and their untracked file stays.
//! After a rollback all is as the model has it of that checkpoint. `SWARM_ROLLBACK_SEQUENCES` says
//! how many sequences (1; the long run takes 20); each prints its seed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Daemon, PATIENCE, Ran, Sandbox};
use crate::kill_and_restart::Dice;

const OPERATIONS: usize = 50;
const IDEAS: usize = 18;
const SHARED: usize = 2;
const LOOSE: &str = "loose.txt";

/// Files by their names; of those that several write the order of the lines is nobody's business.
type Files = BTreeMap<String, Vec<String>>;
/// Ideas and how they stand.
type Statuses = BTreeMap<String, String>;

#[test]
fn fifty_drawn_operations_leave_what_the_model_says() {
    let sequences =
        std::env::var("SWARM_ROLLBACK_SEQUENCES").map_or(1, |text| text.parse().unwrap());
    let mut dice = Dice::thrown();
    for sequence in 1..=sequences {
        let next = dice.below(u64::from(u32::MAX));
        let drawn = live(&mut dice);
        println!("sequence {sequence} of {sequences}: {drawn:?}");
        if sequence < sequences {
            dice = Dice::of(next);
        }
    }
}

/// One sequence, from an empty repository to its end; how often each operation was done.
fn live(dice: &mut Dice) -> BTreeMap<&'static str, usize> {
    let sandbox = prepared();
    let mut world = World::new(&sandbox, dice);
    let mut drawn = BTreeMap::new();
    let mut done = 0;
    while done < OPERATIONS {
        let (name, operation) = world.draw();
        // What cannot be done as things are is drawn again.
        if operation(&mut world) {
            done += 1;
            println!("{done}: {name}");
            *drawn.entry(name).or_default() += 1;
            world.look();
            world.learn();
        }
    }
    world.end();
    drawn
}

fn prepared() -> Sandbox {
    let sandbox = Sandbox::new();
    for number in 0..SHARED {
        sandbox.write(&format!("shared-{number}.txt"), "head\n");
    }
    sandbox.commit("Shared files");
    sandbox.set_up();
    sandbox.configure(&json!({
        "qualityCommands": ["sleep 0.05; ! grep -q '^[<=>]' shared-*.txt"],
        "agents": {"maxParallel": 3, "crashRetries": 100, "failuresToPause": 100},
        "checkpoints": {"periodic": 4, "beforeAutopilot": true},
    }));
    fs::write(sandbox.repo().join(LOOSE), "a person's\n").unwrap();
    sandbox
}

/// What an idea's agent does.
#[derive(Debug)]
struct Plan {
    /// Its own file has this line.
    line: String,
    /// It adds its name to this file.
    shared: Option<usize>,
    /// It stops half-way until it is let go.
    holds: bool,
    /// It says that it is blocked until it is helped.
    blocks: bool,
    after: Option<String>,
}

/// What the model has of a checkpoint.
#[derive(Debug, Clone)]
struct Point {
    manual: bool,
    commit: String,
    person: BTreeSet<usize>,
    statuses: Statuses,
}

type Operation<'a> = fn(&mut World<'a>) -> bool;

/// Operations and their weights.
fn operations<'a>() -> [(&'static str, u64, Operation<'a>); 16] {
    [
        ("add", 19, World::add),
        ("settle", 16, World::settle_or_run),
        ("let go", 12, World::let_go),
        ("help", 8, World::help),
        ("pause or resume", 5, World::pause_or_resume),
        ("cancel or retry", 5, World::cancel_or_retry),
        ("commit", 6, World::commit),
        ("checkpoint", 11, World::checkpoint),
        ("delete checkpoint", 3, World::delete),
        ("roll back", 9, World::roll_back),
        ("roll back over changes", 8, World::roll_back_over_changes),
        ("undo", 5, World::undo),
        ("kill the daemon", 6, World::kill_daemon),
        ("kill everything", 3, World::kill_everything),
        ("kill in a rollback", 9, World::kill_in_rollback),
        ("start or stop", 7, World::start_or_stop),
    ]
}

struct World<'a> {
    sandbox: &'a Sandbox,
    dice: &'a mut Dice,
    base: String,
    daemon: Option<Daemon<'a>>,
    /// A daemon was killed, and none has put in order since what it left.
    crashed: bool,
    paused: bool,
    plans: BTreeMap<String, Plan>,
    /// The commits of the person that the target has, and how many they made.
    person: BTreeSet<usize>,
    commits: usize,
    points: BTreeMap<String, Point>,
    names: usize,
}

impl<'a> World<'a> {
    fn new(sandbox: &'a Sandbox, dice: &'a mut Dice) -> Self {
        Self {
            sandbox,
            dice,
            base: sandbox.head("main"),
            daemon: Some(sandbox.start()),
            crashed: false,
            paused: false,
            plans: BTreeMap::new(),
            person: BTreeSet::new(),
            commits: 0,
            points: BTreeMap::new(),
            names: 0,
        }
    }

    fn draw(&mut self) -> (&'static str, Operation<'a>) {
        let all: u64 = operations::<'a>().iter().map(|(_, weight, _)| weight).sum();
        let mut at = self.dice.below(all);
        for (name, weight, operation) in operations() {
            if at < weight {
                return (name, operation);
            }
            at -= weight;
        }
        unreachable!("below their sum")
    }

    fn chance(&mut self, of_ten: u64) -> bool {
        self.dice.below(10) < of_ten
    }

    fn choose<T: Clone>(&mut self, among: &[T]) -> Option<T> {
        let count = among.len() as u64;
        (count > 0).then(|| among[usize::try_from(self.dice.below(count)).unwrap()].clone())
    }

    // ---- ideas

    fn add(&mut self) -> bool {
        if self.plans.len() == IDEAS {
            return false;
        }
        let id = format!("idea-{:03}", self.plans.len() + 1);
        let statuses = self.statuses().into_iter();
        let earlier = statuses.filter(|(_, status)| status != "cancelled");
        let earlier: Vec<String> = earlier.map(|(id, _)| id).collect();
        let after = self.choose(&earlier).filter(|_| self.chance(3));
        let shared = self.chance(5).then(|| self.dice.below(SHARED as u64));
        let plan = Plan {
            line: after.as_ref().map_or_else(
                || format!("by {id}"),
                |before| format!("by {id} on {}", self.plans[before].line),
            ),
            shared: shared.map(|number| usize::try_from(number).unwrap()),
            holds: self.chance(4),
            blocks: self.chance(2),
            after,
        };
        let after = plan.after.iter().flat_map(|id| ["--after", id.as_str()]);
        let given = self
            .sandbox
            .idea_with(&doing(&plan), &after.collect::<Vec<_>>());
        assert_eq!(given, id);
        self.plans.insert(id, plan);
        true
    }

    fn let_go(&mut self) -> bool {
        let held = self.held();
        let Some(id) = self.choose(&held) else {
            return false;
        };
        self.mark(&id, "go");
        true
    }

    fn help(&mut self) -> bool {
        let blocked = self.that_are(&["blocked"]);
        let Some(id) = self.choose(&blocked) else {
            return false;
        };
        self.mark(&id, "ok");
        self.sandbox.swarm(&["idea", "retry", &id]).ok();
        true
    }

    fn cancel_or_retry(&mut self) -> bool {
        let (open, closed) = (
            self.that_are(&["pending", "active", "merging"]),
            self.that_are(&["cancelled", "blocked", "failed"]),
        );
        let cancels = self.chance(4);
        let (verb, ideas) = if cancels {
            ("cancel", open)
        } else {
            ("retry", closed)
        };
        let Some(id) = self.choose(&ideas) else {
            return false;
        };
        // It may land, or be given up, at this very moment.
        let ran = self.sandbox.swarm(&["idea", verb, &id]);
        assert!(ran.code <= 1, "{ran}");
        true
    }

    /// What an agent of this idea looks for.
    fn mark(&self, id: &str, what: &str) {
        fs::write(self.sandbox.path(&format!("out/{id}.{what}")), "").unwrap();
    }

    fn is_marked(&self, id: &str, what: &str) -> bool {
        self.sandbox.path(&format!("out/{id}.{what}")).exists()
    }

    /// Ideas whose agents wait to be let go.
    fn held(&self) -> Vec<String> {
        let holds = |idea: &&Value| {
            let id = idea["id"].as_str().unwrap();
            idea["status"] == "active"
                && !self.is_marked(id, "go")
                && self.is_marked(id, &format!("{}.here", idea["attempts"]))
        };
        let ideas = self.sandbox.ideas();
        let held = ideas.iter().filter(holds);
        held.map(|idea| idea["id"].as_str().unwrap().to_owned())
            .collect()
    }

    fn that_are(&self, wanted: &[&str]) -> Vec<String> {
        let all = self.statuses().into_iter();
        all.filter(|(_, status)| wanted.contains(&status.as_str()))
            .map(|(id, _)| id)
            .collect()
    }

    // ---- the daemon

    fn start(&mut self) {
        let daemon = self.sandbox.start();
        let phase = self.sandbox.wait_status("no rollback under way", |status| {
            status["phase"] != "rolling-back"
        })["phase"]
            .clone();
        self.daemon = Some(daemon);
        self.crashed = false;
        assert_eq!(phase != "running", self.paused, "{phase}");
    }

    fn start_or_stop(&mut self) -> bool {
        match self.daemon.take() {
            Some(daemon) => daemon.stop(),
            None => self.start(),
        }
        true
    }

    fn pause_or_resume(&mut self) -> bool {
        if self.daemon.is_none() {
            return false;
        }
        let verb = if self.paused { "resume" } else { "pause" };
        self.sandbox.swarm(&[verb]).ok();
        self.paused = !self.paused;
        true
    }

    fn kill_daemon(&mut self) -> bool {
        self.kill(Daemon::kill)
    }

    fn kill_everything(&mut self) -> bool {
        self.kill(Daemon::kill_everything)
    }

    fn kill(&mut self, how: fn(&Daemon<'a>)) -> bool {
        let instant = Duration::from_millis(self.dice.below(300));
        let Some(daemon) = self.daemon.take() else {
            return false;
        };
        // Not synchronisation: the instant of the blow is what is drawn.
        std::thread::sleep(instant);
        how(&daemon);
        self.crashed = true;
        true
    }

    /// Until nothing moves but what is held.
    fn settle_or_run(&mut self) -> bool {
        if self.paused {
            if self.daemon.is_none() {
                self.start();
            }
            self.pause_or_resume();
        }
        if self.daemon.is_none() && self.chance(5) {
            self.let_all_go();
            self.hurry();
            let code = self.sandbox.run_until_idle();
            assert!([0, 5, 6].contains(&code), "{code}");
            self.crashed = false;
            return true;
        }
        if self.daemon.is_none() {
            self.start();
        }
        self.settle();
        true
    }

    fn let_all_go(&self) {
        for id in self.plans.keys() {
            self.mark(id, "go");
        }
    }

    /// After crashes they wait longer and longer, but not if a person says so.
    fn hurry(&self) {
        for idea in self.sandbox.ideas() {
            if idea["status"] == "pending" && idea["retryCount"] != 0 {
                let id = idea["id"].as_str().unwrap();
                let ran = self.sandbox.swarm(&["idea", "retry", id]);
                assert!(ran.code <= 1, "{ran}");
            }
        }
    }

    fn settle(&self) {
        self.hurry();
        let mut last = Value::Null;
        let mut by_hand = 0;
        self.sandbox.wait_within(4 * PATIENCE, "all to settle", || {
            let status = self.sandbox.status();
            if self.settle_by_hand(&status) {
                by_hand += 1;
                assert!(by_hand < 20, "again and again: {status}");
            }
            let seq = status["lastSeq"].clone();
            let settled = self.is_settled() && seq == last;
            last = seq;
            settled.then_some(())
        });
    }

    /// Work that began on what a rollback took back, and that git cannot bring onto what is there
    /// now: a person does it, or has it done anew.
    fn settle_by_hand(&self, status: &Value) -> bool {
        let needs = status["needsYou"].as_array().unwrap();
        let by_hand = |need: &&Value| {
            let message = need["message"].as_str().unwrap();
            need["kind"] == "merge" && message.contains("git rebase --onto")
        };
        let Some(need) = needs.iter().find(by_hand) else {
            return false;
        };
        println!("   by hand: {need}");
        let id = need["ideaId"].as_str().unwrap();
        let agents = status["agents"].as_array().unwrap().iter();
        let worktree = agents
            .filter(|agent| agent["ideaId"] == id)
            .find_map(|agent| agent["worktree"].as_str())
            .unwrap();
        let worktree = self.sandbox.repo().join(worktree);
        self.sandbox
            .git_in(&worktree, &["reset", "-q", "--hard", "main"]);
        let plan = &self.plans[id];
        fs::write(
            worktree.join(format!("{id}.txt")),
            format!("{}\n", plan.line),
        )
        .unwrap();
        if let Some(number) = plan.shared {
            let path = worktree.join(format!("shared-{number}.txt"));
            let lines = fs::read_to_string(&path).unwrap();
            fs::write(path, format!("{lines}{id}\n")).unwrap();
        }
        self.sandbox.git_in(&worktree, &["add", "-A"]);
        self.sandbox
            .git_in(&worktree, &["commit", "-q", "-m", "By hand"]);
        let ran = self.sandbox.swarm(&["merge", "retry", id]);
        assert!(ran.code <= 1, "{ran}");
        true
    }

    fn is_settled(&self) -> bool {
        let (status, statuses, held) = (self.sandbox.status(), self.statuses(), self.held());
        let moves = |id: &String, status: &String| match status.as_str() {
            // A resolver waits for a slot, too.
            "merging" => held.len() < 3,
            "active" => !held.contains(id),
            "pending" => {
                let after = self.plans[id].after.as_ref();
                held.len() < 3 && after.is_none_or(|before| statuses[before] == "done")
            }
            _ => false,
        };
        let quiet = held.len() == 3 || status["mergeQueue"] == json!([]);
        quiet && !statuses.iter().any(|(id, status)| moves(id, status))
    }

    // ---- the person

    fn commit(&mut self) -> bool {
        if self.crashed {
            return false;
        }
        self.commits += 1;
        let (number, name) = (self.commits, format!("person-{}.txt", self.commits));
        self.sandbox.write(&name, "by hand\n");
        // Git refuses where a landing is quicker; a person tries again.
        self.sandbox.wait_for("a person's commit", || {
            let line = format!(
                "git add {name} && git commit -q -m 'Person {number}' -- {name} && git merge-base \
                --is-ancestor HEAD main"
            );
            (self.sandbox.shell(&line).code == 0).then_some(())
        });
        self.person.insert(number);
        true
    }

    // ---- checkpoints

    fn checkpoint(&mut self) -> bool {
        self.names += 1;
        let name = format!("point-{}", self.names);
        let before = self.statuses();
        self.sandbox.swarm(&["checkpoint", "create", &name]).ok();
        let after = self.statuses();
        self.learn();
        let point = self.points.get(&name).expect("it was acknowledged");
        assert!(point.manual);
        assert_eq!(point.person, self.person);
        assert_between(&before, &point.statuses, &after);
        true
    }

    fn delete(&mut self) -> bool {
        let names: Vec<String> = self.points.keys().cloned().collect();
        let Some(name) = self.choose(&names) else {
            return false;
        };
        self.sandbox.swarm(&["checkpoint", "delete", &name]).ok();
        self.points.remove(&name);
        true
    }

    /// Takes over what the list has; one that a person made goes only when a person says so.
    fn learn(&mut self) {
        let list = self.sandbox.swarm(&["checkpoint", "list", "--json"]).json();
        let list: BTreeMap<&str, &Value> = list
            .as_array()
            .unwrap()
            .iter()
            .map(|file| (file["name"].as_str().unwrap(), file))
            .collect();
        self.points.retain(|name, point| {
            assert!(
                !point.manual || list.contains_key(name.as_str()),
                "{name} is gone"
            );
            list.contains_key(name.as_str())
        });
        for (name, file) in list {
            if !self.points.contains_key(name) {
                let point = self.point(name, file);
                self.points.insert(name.to_owned(), point);
            }
        }
    }

    /// The target's commit of a checkpoint is what its ideas say.
    fn point(&self, name: &str, file: &Value) -> Point {
        let commit = file["gitCommit"].as_str().unwrap().to_owned();
        let states = file["ideaStates"].as_object().unwrap();
        let statuses: Statuses = states
            .iter()
            .map(|(id, status)| (id.clone(), at_rest(status.as_str().unwrap())))
            .collect();
        let (landed, person) = self.landed(&commit);
        assert_eq!(landed, done(&statuses), "{name}: {file}");
        Point {
            manual: file["reason"] == "manual",
            commit,
            person,
            statuses,
        }
    }

    // ---- rollbacks

    fn any_point(&mut self) -> Option<String> {
        let names: Vec<String> = self.points.keys().cloned().collect();
        self.choose(&names)
    }

    fn roll_back(&mut self) -> bool {
        let Some(name) = self.any_point() else {
            return false;
        };
        self.roll_back_to(&name);
        true
    }

    fn undo(&mut self) -> bool {
        let safeties = self
            .points
            .keys()
            .filter(|name| name.starts_with("before-rollback-"));
        let Some(name) = safeties.max().cloned() else {
            return false;
        };
        self.roll_back_to(&name);
        true
    }

    /// The name of the safety checkpoint.
    fn roll_back_to(&mut self, name: &str) -> String {
        let pause = self.chance(4);
        let mut words = vec!["rollback", name, "--yes", "--json"];
        words.extend((!pause).then_some("--resume"));
        println!("   {words:?}, daemon: {}", self.daemon.is_some());
        let before = self.statuses();
        let answer = self.sandbox.swarm(&words).json();
        let safety = answer["safety"].as_str().unwrap().to_owned();
        if self.daemon.is_none() {
            self.sandbox.assert_nothing_runs();
            self.crashed = false;
        }
        self.rolled_back(&before, name, &safety, pause);
        safety
    }

    /// It is done: all is as the model has it of the checkpoint.
    fn rolled_back(&mut self, before: &Statuses, name: &str, safety: &str, pause: bool) {
        let to = self.points[name].clone();
        self.learn();
        let from = self.points[safety].clone();
        for id in done(before) {
            assert_eq!(
                from.statuses[&id], "done",
                "{id} was done before {safety} was made"
            );
        }
        assert_eq!(from.person, self.person);
        self.person.clone_from(&to.person);
        self.paused = pause;
        let expected: Statuses = from
            .statuses
            .iter()
            .map(|(id, status)| (id.clone(), then(id, status, &to)))
            .collect();
        if self.paused || self.daemon.is_none() {
            self.assert_exactly(&expected, &to);
        } else {
            self.assert_at_least(&expected, &to);
        }
        let changed = expected
            .iter()
            .filter(|(id, status)| from.statuses[*id] != **status);
        for (id, _) in changed {
            let shown = self.sandbox.show(id);
            let why = json!({"what": "rolled_back", "detail": name});
            let history = shown["history"].as_array().unwrap().iter();
            let told = history
                .clone()
                .any(|entry| entry["what"] == why["what"] && entry["detail"] == why["detail"]);
            assert!(told, "nothing says why {id} changed: {shown}");
        }
        // Some are to wait again when they are tried again.
        if pause {
            for id in self.plans.keys().cloned().collect::<Vec<_>>() {
                if expected[&id] == "pending" && self.chance(5) {
                    let _ = fs::remove_file(self.sandbox.path(&format!("out/{id}.go")));
                }
            }
        }
    }

    fn assert_exactly(&self, expected: &Statuses, to: &Point) {
        assert_eq!(self.sandbox.head("main"), to.commit);
        assert_eq!(&self.statuses(), expected);
    }

    /// It went on at once.
    fn assert_at_least(&self, expected: &Statuses, to: &Point) {
        let now = self.statuses();
        for (id, status) in expected {
            if status != "pending" {
                assert_eq!(&now[id], status, "{id}");
            }
        }
        self.sandbox
            .git(&["merge-base", "--is-ancestor", &to.commit, "main"]);
    }

    /// A person's change is in the way: nothing happens until it is put aside as the refusal says.
    fn roll_back_over_changes(&mut self) -> bool {
        let Some(name) = self.any_point().filter(|_| !self.crashed) else {
            return false;
        };
        let then = done(&self.points[&name].statuses);
        let leaving: Vec<String> = done(&self.statuses()).difference(&then).cloned().collect();
        let Some(id) = self.choose(&leaving) else {
            return false;
        };
        let file = format!("{id}.txt");
        // Its landing has been followed.
        self.sandbox
            .wait_for("the checkout", || self.checkout().then_some(()));
        self.sandbox.write(&file, "changed by hand\n");
        let begun = self.sandbox.logged("rolledBack").len();
        let refused: Ran = self.sandbox.swarm(&["rollback", &name, "--yes"]);
        refused.refused(1, &[&file]);
        assert_eq!(self.sandbox.logged("rolledBack").len(), begun);
        assert_eq!(self.sandbox.read(&file), "changed by hand\n");
        // Git refuses while a landing holds the index, perhaps in the middle; a person tries again.
        let stash = refused.command("git -C").to_owned();
        self.sandbox.wait_for("a person's stash", || {
            (self.sandbox.shell(&stash).code == 0).then_some(())
        });
        self.roll_back_to(&name);
        assert_eq!(self.sandbox.file_at("stash", &file), "changed by hand");
        self.sandbox.git(&["stash", "clear"]);
        true
    }

    /// The daemon, or all, is killed in the middle of one; the next start ends it, or nothing of it
    /// has happened.
    fn kill_in_rollback(&mut self) -> bool {
        let Some(name) = self.any_point().filter(|_| self.daemon.is_some()) else {
            return false;
        };
        let (pause, everything) = (self.chance(7), self.chance(3));
        let before = self.statuses();
        let told = self.sandbox.logged("rolledBack").len();
        let mut command = self.sandbox.swarm_command(&["rollback", &name, "--yes"]);
        command.args((!pause).then_some("--resume"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut asking = command.spawn().unwrap();
        let instant = self.dice.below(500);
        println!("   {name}, pause: {pause}, killed after {instant} ms, all: {everything}");
        // Not synchronisation: the instant of the blow is what is drawn.
        std::thread::sleep(Duration::from_millis(instant));
        let daemon = self.daemon.take().unwrap();
        if everything {
            daemon.kill_everything();
        } else {
            daemon.kill();
        }
        drop(daemon);
        let _ = asking.kill();
        asking.wait().unwrap();
        let begun = self.begun();
        let paused = self.paused;
        if begun > told {
            self.paused = pause;
        }
        self.start();
        let ended = self.sandbox.logged("rolledBack");
        assert_eq!(ended.len(), self.begun(), "one that was begun is not ended");
        self.paused = paused;
        if let Some(event) = ended.get(told) {
            let safety = event.data["safety"].as_str().unwrap().to_owned();
            self.rolled_back(&before, &name, &safety, pause);
        } else {
            println!("   it had not begun, or a landing came in between");
        }
        true
    }

    /// Rollbacks that were begun, but for those of which a landing made something else than what
    /// had been looked at.
    fn begun(&self) -> usize {
        let abandoned = self.sandbox.logged("rollbackAbandoned");
        for event in &abandoned {
            let why = event.data["why"].as_str().unwrap();
            assert!(why.contains("has moved since the preview"), "{why}");
        }
        self.sandbox.logged("rollbackBegun").len() - abandoned.len()
    }

    // ---- what must hold

    fn statuses(&self) -> Statuses {
        let text = |idea: &Value, key: &str| idea[key].as_str().unwrap().to_owned();
        let ideas = self.sandbox.ideas();
        ideas
            .iter()
            .map(|idea| (text(idea, "id"), text(idea, "status")))
            .collect()
    }

    /// The ideas and the person's commits that a commit has; it has them whole, once, and nothing
    /// else.
    fn landed(&self, commit: &str) -> (BTreeSet<String>, BTreeSet<usize>) {
        let files = files(self.sandbox, commit);
        let ideas = self
            .plans
            .keys()
            .filter(|id| files.contains_key(&format!("{id}.txt")));
        let ideas: BTreeSet<String> = ideas.cloned().collect();
        let person = (1..=self.commits).filter(|n| files.contains_key(&format!("person-{n}.txt")));
        let person: BTreeSet<usize> = person.collect();
        assert_eq!(files, self.expected(&ideas, &person), "{commit}");
        let format = "--format=%(trailers:key=Swarm-Idea,valueonly,separator=%x2C)";
        let range = format!("{}..{commit}", self.base);
        let log = self.sandbox.git(&["log", "--first-parent", format, &range]);
        let mut landings: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
        landings.sort_unstable();
        let once: Vec<&str> = ideas.iter().map(String::as_str).collect();
        assert_eq!(landings, once, "{commit}");
        (ideas, person)
    }

    fn expected(&self, ideas: &BTreeSet<String>, person: &BTreeSet<usize>) -> Files {
        let mut files = Files::from([("README.md".to_owned(), vec!["a project".to_owned()])]);
        for number in 0..SHARED {
            let adds = |id: &&String| self.plans[*id].shared == Some(number);
            let mut lines: Vec<String> = ideas.iter().filter(adds).cloned().collect();
            lines.push("head".to_owned());
            lines.sort();
            files.insert(format!("shared-{number}.txt"), lines);
        }
        for id in ideas {
            files.insert(format!("{id}.txt"), vec![self.plans[id].line.clone()]);
        }
        for number in person {
            files.insert(format!("person-{number}.txt"), vec!["by hand".to_owned()]);
        }
        files
    }

    /// The checkout is what the target is, but for the file that git does not know.
    fn checkout(&self) -> bool {
        let words = [
            "--no-optional-locks",
            "status",
            "--porcelain",
            "--",
            ".",
            ":!.swarm",
        ];
        self.sandbox.git(&words) == format!("?? {LOOSE}")
    }

    fn look(&self) {
        let before = self.statuses();
        let commit = self.sandbox.head("main");
        let after = self.statuses();
        let (landed, person) = self.landed(&commit);
        assert_eq!(person, self.person);
        assert_eq!(
            before.keys().collect::<Vec<_>>(),
            self.plans.keys().collect::<Vec<_>>()
        );
        assert!(
            done(&before).is_subset(&landed),
            "done and not there: {landed:?} {before:?}"
        );
        for id in &landed {
            assert!(
                ["done", "merging"].contains(&after[id].as_str()),
                "there and not done: {id} {after:?}"
            );
        }
        assert_eq!(self.sandbox.read(LOOSE), "a person's\n");
        if !self.crashed {
            self.sandbox
                .wait_for("the checkout to follow", || self.checkout().then_some(()));
        }
    }

    // ---- the end

    /// All comes to rest, and nothing is left that should not be.
    fn end(&mut self) {
        self.let_all_go();
        if self.daemon.is_none() {
            self.start();
        }
        if self.paused {
            self.pause_or_resume();
        }
        // What waits for a cancelled one goes on with it.
        for id in self.plans.keys() {
            self.mark(id, "ok");
        }
        self.settle();
        for id in self.that_are(&["blocked", "failed", "timeout", "cancelled"]) {
            self.sandbox.swarm(&["idea", "retry", &id]).ok();
        }
        self.settle();
        for (id, status) in self.statuses() {
            assert_eq!(status, "done", "{id}: {}", self.sandbox.show(&id));
        }
        self.look();
        self.learn();
        self.daemon.take().unwrap().stop();
        self.look();
        self.sandbox.assert_log_sound();
        self.sandbox
            .git(&["fsck", "--full", "--strict", "--no-dangling"]);
        let places = self.sandbox.git(&["worktree", "list", "--porcelain"]);
        assert!(
            !places.contains(&format!("{}/w", self.sandbox.worktrees().display())),
            "{places}"
        );
        assert_eq!(self.sandbox.git(&["branch", "--list", "agent/*"]), "");
        self.assert_checkpoints_whole();
    }

    /// Tag, file and references are there for those in the list, and for no other: except for
    /// references that an undo needs.
    fn assert_checkpoints_whole(&self) {
        let refs = |prefix: &str, strip: usize| -> BTreeSet<String> {
            let format = format!("--format=%(refname:lstrip={strip})");
            let refs = self.sandbox.git(&["for-each-ref", &format, prefix]);
            refs.lines().map(str::to_owned).collect()
        };
        let listed: BTreeSet<String> = self.points.keys().cloned().collect();
        assert_eq!(refs("refs/swarm/checkpoints", 3), listed);
        let files = fs::read_dir(self.sandbox.dot_swarm("checkpoints")).into_iter();
        let files: BTreeSet<String> = files
            .flatten()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let expected = listed.iter().map(|name| format!("{name}.json"));
        assert_eq!(files, expected.collect());
        let mut kept = BTreeSet::new();
        for name in &listed {
            let shown = self.sandbox.swarm(&["checkpoint", "show", name, "--json"]);
            for agent in shown.json()["agentStates"].as_array().unwrap() {
                kept.insert(format!("{name}/{}", agent["id"].as_str().unwrap()));
            }
        }
        let found = refs("refs/swarm/checkpoint-work", 3);
        let undoable = self.agents_that_undo_brings_back();
        let strangers: Vec<&String> = found
            .iter()
            .filter(|found| {
                let (name, agent) = found.split_once('/').unwrap();
                let is_of = |undoable: &String| {
                    agent == undoable || agent.starts_with(&format!("{undoable}-"))
                };
                !listed.contains(name) && !undoable.iter().any(is_of)
            })
            .collect();
        assert!(strangers.is_empty(), "{strangers:?} of {listed:?}");
        assert!(kept.is_subset(&found), "{kept:?} {found:?}");
    }

    /// Their work stays, although its checkpoint is gone, for as long as the cancellation can be
    /// taken back: also one that a rollback took back, because that rollback can be undone.
    fn agents_that_undo_brings_back(&self) -> BTreeSet<String> {
        let snapshot = self.sandbox.dot_swarm("state/snapshot.json");
        let snapshot: Value = serde_json::from_str(&fs::read_to_string(snapshot).unwrap()).unwrap();
        let actions = snapshot["state"]["undo"]["actions"].as_array();
        let agents = actions.into_iter().flatten().filter_map(|action| {
            let kept = &action["before"]["kept"]["worktree"];
            let saved = !kept["saved"].is_null();
            saved.then(|| kept["agent"].as_str().unwrap().to_owned())
        });
        agents.collect()
    }
}

/// What is in progress counts as pending: how a rollback leaves it.
fn at_rest(status: &str) -> String {
    match status {
        "active" | "merging" => "pending".to_owned(),
        other => other.to_owned(),
    }
}

/// How a rollback leaves an idea that stands so.
fn then(id: &str, status: &str, to: &Point) -> String {
    match (to.statuses.get(id), status) {
        (Some(then), _) => then.clone(),
        // It came later: what it did is not in the target any more.
        (None, "done") => "pending".to_owned(),
        (None, other) => other.to_owned(),
    }
}

fn done(statuses: &Statuses) -> BTreeSet<String> {
    let done = statuses.iter().filter(|(_, status)| *status == "done");
    done.map(|(id, _)| id.clone()).collect()
}

#[track_caller]
fn assert_between(before: &Statuses, found: &Statuses, after: &Statuses) {
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        after.keys().collect::<Vec<_>>()
    );
    for (id, status) in found {
        let possible = [at_rest(&before[id]), at_rest(&after[id])];
        assert!(possible.contains(status), "{id}: {status} {possible:?}");
    }
}

/// All files of a commit, their lines in order.
fn files(sandbox: &Sandbox, commit: &str) -> Files {
    let tree = sandbox.git(&["ls-tree", "-r", "--format=%(objectname) %(path)", commit]);
    let of = |line: &str| {
        let (blob, path) = line.split_once(' ').unwrap();
        let content = sandbox.git(&["cat-file", "blob", blob]);
        let mut lines: Vec<String> = content.lines().map(str::to_owned).collect();
        lines.sort();
        (path.to_owned(), lines)
    };
    tree.lines().map(of).collect()
}

/// The text of an idea: it may be begun again at any place, in a worktree of its own or one that
/// another attempt left.
fn doing(plan: &Plan) -> String {
    let mut steps = vec!["i=$SWARM_IDEA_ID".to_owned()];
    if plan.holds {
        steps.push("write $i.txt half; commit Half; write $i.txt more".to_owned());
        steps.push(": >$OUT/$i.$SWARM_ATTEMPT.here".to_owned());
        steps.push("while [ ! -e $OUT/$i.go ]; do sleep 0.05; done".to_owned());
    }
    if plan.blocks {
        steps.push(
            "[ -e $OUT/$i.ok ] || { write $i.txt half; say BLOCKED:alone; exit 0; }".to_owned(),
        );
    }
    match &plan.after {
        Some(before) => steps.push(format!("write $i.txt by $i on $(cat {before}.txt)")),
        None => steps.push("write $i.txt by $i".to_owned()),
    }
    if let Some(number) = plan.shared {
        let file = format!("shared-{number}.txt");
        steps.push(format!("grep -qx $i {file} || append {file} $i; commit"));
    }
    steps.push("say COMPLETE".to_owned());
    // Of a conflict the side that is not its own is the target's: that, and its own line.
    let resolve = "i=$SWARM_IDEA_ID; for f in $(git diff --name-only --diff-filter=U); do \
         for s in 2 3; do git show :$s:$f >side; grep -qx $i side || cp side new; done; rm side; \
         echo $i >>new; mv new $f; done; say RESOLVED";
    format!("{}\nRESOLVE: {resolve}", steps.join("; "))
}
