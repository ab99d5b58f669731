//! Rollbacks whose daemon is killed at random instants, again while it recovers: each ends as one
//! that nobody disturbed.
//!
//! Invariant: every round begins with the same ideas landed and the same three agents at work, each
//! on what it had at the end of the round before, and goes there and back: to the checkpoint, and
//! by its safety checkpoint to where it began. Nothing is random but the instants, which the
//! printed seed repeats as well as a loaded machine can. `SWARM_ROLLBACK_KILLS` rounds (10; the
//! long run takes 200).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Daemon, Logged, PATIENCE, Sandbox, files_in, processes};
use crate::kill_and_restart::Dice;

/// An agent of every round, which takes a moment to end: what the attempts before it left is
/// committed; on top of that a commit, a change and a file that git does not know.
const BUSY: &str = "trap 'sleep 0.05; exit 1' TERM; i=$SWARM_IDEA_ID; n=$SWARM_ATTEMPT; rm -rf \
    loose; append $i.trail begun $n; commit Work $n on $i; append $i.trail open $n; write \
    loose/$i-$n.txt x; hold $i.$n; if attempt 1; then append $i.trail further; commit Further; \
    write $i.txt y; append $i.trail open; hold $i.further; fi; say COMPLETE";

/// At work at the checkpoint, landed since.
const LANDS: &str =
    "write lands.txt x; commit Half; write lands.txt y; hold lands; commit; say COMPLETE";

/// Not there at the checkpoint, landed since.
const LATER: &str = "write later.txt x; commit; say COMPLETE";

/// The ideas that work in every round.
const AT_WORK: [&str; 3] = ["idea-001", "idea-002", "idea-003"];

const LOADED: Duration = Duration::from_secs(4 * PATIENCE.as_secs());

/// An attempt's work: its last commit, and its files (path and blob), committed or not.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Work {
    tip: String,
    files: BTreeMap<String, String>,
}

/// An agent at work.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Agent {
    id: String,
    attempt: u64,
    work: Work,
}

/// By idea.
type Agents = BTreeMap<String, Agent>;

/// What a rollback leaves, without what differs each time: names of agents and safety checkpoints,
/// times, numbers of attempts.
#[derive(Debug, PartialEq, Eq)]
struct End {
    target: String,
    head: String,
    dirty: String,
    ideas: BTreeMap<String, Value>,
    worktrees: Vec<String>,
    folders: Vec<String>,
    refs: BTreeMap<String, String>,
}

/// How long things take undisturbed.
#[derive(Debug, Clone, Copy, Default)]
struct Lengths {
    there: Duration,
    back: Duration,
    start: Duration,
}

#[derive(Debug, Default)]
struct Counts {
    rollbacks: usize,
    kills: usize,
    while_recovering: usize,
    asked_again: usize,
    /// By the step that the log shows.
    steps: BTreeMap<String, usize>,
}

/// A rollback that is asked for, and how far the log has come with it.
struct Progress<'a> {
    sandbox: &'a Sandbox,
    /// Where the log ended when it was asked for.
    from: u64,
}

impl<'a> Progress<'a> {
    fn begin(sandbox: &'a Sandbox) -> Self {
        let from = sandbox.log().last().unwrap().seq;
        Self { sandbox, from }
    }

    fn events(&self) -> Vec<Logged> {
        let log = self.sandbox.log();
        log.into_iter()
            .filter(|event| event.seq > self.from)
            .collect()
    }

    fn count(&self, kind: &str) -> usize {
        let events = self.events();
        events.iter().filter(|event| event.kind == kind).count()
    }

    /// How far it is by what is on disk. A daemon that was started in the meantime is in the pause
    /// at once, and gives back all the same.
    fn step(&self) -> String {
        let mut step = "not begun".to_owned();
        let (mut given_back, mut paused) = (BTreeSet::new(), false);
        for event in self.events() {
            let data = &event.data;
            match event.kind.as_str() {
                "rollbackBegun" => "checking".clone_into(&mut step),
                "rollbackStepped" => data["step"].as_str().unwrap().clone_into(&mut step),
                "rolledBack" => "giving back".clone_into(&mut step),
                "phaseChanged" => paused = data["phase"] == "paused",
                "effectRequested" if data["effect"].get("releaseWorktree").is_some() => {
                    given_back.insert(data["id"].as_u64().unwrap());
                }
                "effectFinished" => {
                    given_back.remove(&data["id"].as_u64().unwrap());
                }
                _ => {}
            }
        }
        let over = step == "giving back" && paused && given_back.is_empty();
        if over { "over".to_owned() } else { step }
    }
}

/// The blows of a test: when they fall, and what they met.
struct Storm {
    dice: Dice,
    lengths: Lengths,
    counts: Counts,
}

impl Storm {
    /// An instant of something that takes so long undisturbed, or a bit after it; often one of the
    /// first.
    fn instant(&mut self, length: Duration) -> Duration {
        let micros = u64::try_from(length.as_micros()).unwrap();
        let upto = if self.dice.below(8) == 0 {
            micros / 100
        } else {
            micros * 13 / 10
        };
        Duration::from_micros(self.dice.below(upto.max(1)))
    }

    /// How far it was by what is on disk.
    fn kill(&mut self, daemon: Daemon<'_>, progress: &Progress<'_>, instant: Duration) -> String {
        // Not synchronisation: the instant of the blow is what is drawn.
        thread::sleep(instant);
        daemon.kill();
        drop(daemon);
        self.counts.kills += 1;
        let step = progress.step();
        let last = progress.events().pop().map(|event| event.kind);
        println!(
            "  killed after {instant:.1?}: {step}, {}",
            last.unwrap_or_default()
        );
        *self.counts.steps.entry(step.clone()).or_default() += 1;
        step
    }

    /// One daemon after the other is killed over a rollback that takes so long; the last one has
    /// ended it. Its safety checkpoint.
    fn roll_back<'a>(
        &mut self,
        sandbox: &'a Sandbox,
        daemon: &mut Option<Daemon<'a>>,
        to: &str,
        length: Duration,
    ) -> String {
        let before = Before::of(sandbox);
        let progress = Progress::begin(sandbox);
        loop {
            let instant = self.instant(length);
            let (step, answer) = thread::scope(|scope| {
                let asking = scope.spawn(|| ask(sandbox, to));
                let step = self.kill(daemon.take().unwrap(), &progress, instant);
                (step, asking.join().unwrap())
            });
            self.strike_again(&progress, step, length);
            *daemon = Some(sandbox.start());
            if progress.count("rollbackBegun") == 1 {
                self.counts.rollbacks += 1;
                return ended(&progress, answer.ok());
            }
            // Nobody was told that it will be done, and nothing of it was.
            assert!(answer.is_err(), "{answer:?}");
            before.assert_same(&Before::of(sandbox));
            self.counts.asked_again += 1;
        }
    }

    /// The daemons that would go on with it are killed, too: up to three of them.
    fn strike_again(&mut self, progress: &Progress<'_>, mut step: String, length: Duration) {
        for _ in 0..self.dice.below(4) {
            if step == "over" {
                return;
            }
            let daemon = progress.sandbox.spawn_daemon(&[]);
            let instant = self.instant(self.lengths.start + length);
            step = self.kill(daemon, progress, instant);
            self.counts.while_recovering += 1;
        }
    }
}

/// What a rollback that has not begun leaves alone.
#[derive(Debug, PartialEq, Eq)]
struct Before {
    target: String,
    phase: Value,
    statuses: Vec<Value>,
    agents: Agents,
    refs: String,
}

impl Before {
    fn of(sandbox: &Sandbox) -> Self {
        let status = sandbox.status();
        let ideas = sandbox.ideas();
        Self {
            target: sandbox.head("main"),
            phase: status["phase"].clone(),
            statuses: ideas.iter().map(|idea| idea["status"].clone()).collect(),
            agents: agents(sandbox, &status),
            refs: sandbox.git(&["for-each-ref"]),
        }
    }

    #[track_caller]
    fn assert_same(&self, now: &Self) {
        assert_eq!(
            now, self,
            "a rollback that was not acknowledged did something"
        );
    }
}

fn ask(sandbox: &Sandbox, to: &str) -> io::Result<(u16, Value)> {
    sandbox.send(&json!({"do": "rollBack", "name": to, "pause": true}))
}

/// Waits until a rollback that has begun is over; it was done once, and who was told so was told
/// the truth. Its safety checkpoint.
fn ended(progress: &Progress<'_>, answer: Option<(u16, Value)>) -> String {
    let sandbox = progress.sandbox;
    sandbox.wait_within(LOADED, "the rollback to be over", || {
        (progress.step() == "over").then_some(())
    });
    // A batch that was torn behind `rolledBack` has asked for nothing yet.
    sandbox.wait_within(LOADED, "nothing to be owed", || {
        let state = sandbox.swarm(&["replay", "--json"]).json();
        let done = ["outbox", "owed"].iter().all(|key| state[key] == json!({}));
        done.then_some(())
    });
    for (kind, times) in [
        ("rollbackBegun", 1),
        ("rolledBack", 1),
        ("rollbackAbandoned", 0),
    ] {
        assert_eq!(progress.count(kind), times, "{kind}");
    }
    let events = progress.events();
    let done = events
        .iter()
        .find(|event| event.kind == "rolledBack")
        .unwrap();
    let safety = done.data["safety"].as_str().unwrap();
    if let Some((status, answer)) = answer {
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["safety"], safety);
        assert_eq!(answer["seq"], done.seq);
    }
    safety.to_owned()
}

/// `git hash-object` of every file of a worktree.
fn blobs(sandbox: &Sandbox, worktree: &Path) -> BTreeMap<String, String> {
    let names = files_in(worktree);
    let args = ["hash-object", "--stdin-paths"];
    let ran = sandbox.git_fed(worktree, &args, names.join("\n").as_bytes());
    let blobs = ran.ok().lines().map(str::to_owned);
    names.iter().cloned().zip(blobs).collect()
}

fn tree(sandbox: &Sandbox, commit: &str) -> BTreeMap<String, String> {
    let text = sandbox.git(&["ls-tree", "-r", "--format=%(path)|%(objectname)", commit]);
    let pairs = text.lines().map(|line| line.split_once('|').unwrap());
    pairs
        .map(|(path, blob)| (path.to_owned(), blob.to_owned()))
        .collect()
}

fn agents(sandbox: &Sandbox, status: &Value) -> Agents {
    let one = |agent: &Value| {
        let place = sandbox.repo().join(agent["worktree"].as_str().unwrap());
        let work = Work {
            tip: sandbox.git_in(&place, &["rev-parse", "HEAD"]),
            files: blobs(sandbox, &place),
        };
        Agent {
            id: agent["id"].as_str().unwrap().to_owned(),
            attempt: agent["attempt"].as_u64().unwrap(),
            work,
        }
    };
    let all = status["agents"].as_array().unwrap().iter();
    all.map(|agent| (agent["ideaId"].as_str().unwrap().to_owned(), one(agent)))
        .collect()
}

/// The work that each idea's next attempt goes on from.
fn saved(sandbox: &Sandbox, ideas: &BTreeMap<String, Value>) -> BTreeMap<String, Work> {
    let work = |idea: &Value| {
        let saved = idea["kept"]["worktree"]["saved"].as_object()?;
        let tip = saved["tip"].as_str().unwrap().to_owned();
        let files = tree(sandbox, saved["wip"].as_str().unwrap_or(&tip));
        Some(Work { tip, files })
    };
    let all = ideas.iter();
    all.filter_map(|(id, idea)| Some((id.clone(), work(idea)?)))
        .collect()
}

/// What git keeps of each agent under a checkpoint's private references: nothing but that, and all
/// of it.
fn kept(sandbox: &Sandbox, checkpoint: &str, agents: &Agents) -> BTreeMap<String, Work> {
    let prefix = format!("refs/swarm/checkpoint-work/{checkpoint}/");
    let text = sandbox.git(&["for-each-ref", "--format=%(refname)", &prefix]);
    let of = |name: &str| {
        let agent = &name[prefix.len()..];
        let owner = agents.iter().find(|(_, one)| one.id == agent);
        let (idea, _) = owner.unwrap_or_else(|| panic!("{name}: whose?"));
        let tip = sandbox.head(&format!("{name}^"));
        let files = tree(sandbox, name);
        (idea.clone(), Work { tip, files })
    };
    text.lines().map(of).collect()
}

fn works(agents: &Agents) -> BTreeMap<String, Work> {
    let all = agents.iter();
    all.map(|(id, agent)| (id.clone(), agent.work.clone()))
        .collect()
}

impl End {
    /// Says which lines differ.
    #[track_caller]
    fn assert_same(&self, expected: &Self) {
        if self == expected {
            return;
        }
        let [is, should] = [self, expected].map(|end| format!("{end:#?}"));
        let not_in = |one: &str, other: &str| -> Vec<String> {
            let there: BTreeSet<&str> = other.lines().collect();
            let lines = one.lines().filter(|line| !there.contains(line));
            lines.map(str::to_owned).collect()
        };
        let (more, less) = (not_in(&is, &should), not_in(&should, &is));
        panic!("not as undisturbed; there is {more:#?}, there is not {less:#?}");
    }
}

fn ideas(sandbox: &Sandbox) -> BTreeMap<String, Value> {
    let mut state = sandbox.swarm(&["replay", "--json"]).json();
    let ideas = state["ideas"].as_object_mut().unwrap();
    for idea in ideas.values_mut() {
        let idea = idea.as_object_mut().unwrap();
        for volatile in ["attempts", "audit", "createdAt", "updatedAt"] {
            idea.remove(volatile);
        }
    }
    ideas
        .iter()
        .map(|(id, idea)| (id.clone(), idea.clone()))
        .collect()
}

fn worktrees(sandbox: &Sandbox) -> Vec<String> {
    let list = sandbox.git(&["worktree", "list", "--porcelain"]);
    let places = list
        .lines()
        .filter_map(|line| line.strip_prefix("worktree "));
    let mut all: Vec<String> = places.map(waiting).collect();
    all.sort();
    all
}

/// Which worktrees wait for their next idea depends on whose release was first.
fn waiting(place: &str) -> String {
    let folder = place.split_inclusive("/.pool-").next().unwrap();
    folder.to_owned()
}

fn folders(sandbox: &Sandbox) -> Vec<String> {
    let mut all = vec![];
    for folder in ["worktrees", ".git", ".git/worktrees", "."] {
        let path = match folder {
            "worktrees" => sandbox.worktrees(),
            folder => sandbox.repo().join(folder),
        };
        let Ok(entries) = fs::read_dir(path) else {
            continue;
        };
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        all.extend(entries.map(|entry| waiting(&format!("{folder}/{}", name(entry).display()))));
    }
    all.sort();
    all
}

/// The references, but for the trees that records name: a rollback leaves them alone, and which of
/// two agents is recorded first is chance.
fn all_refs(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let text = sandbox.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let pairs = text.lines().map(|line| line.split_once(' ').unwrap());
    pairs
        .filter(|(name, _)| !name.starts_with("refs/swarm/provenance/"))
        .map(|(name, oid)| (name.to_owned(), oid.to_owned()))
        .collect()
}

/// Nothing runs but this daemon, with the git processes that it keeps to read objects.
fn assert_alone(sandbox: &Sandbox, daemon: &Daemon<'_>) {
    sandbox.wait_within(LOADED, "nothing but the daemon to run", || {
        let mut others = processes::numbers(&sandbox.path("")).into_iter();
        let other = others.find(|pid| *pid != daemon.pid && !processes::reads_objects(*pid));
        other.is_none().then_some(())
    });
    assert_eq!(sandbox.status()["agents"], json!([]));
}

/// What holds after every rollback, wherever it leads.
fn assert_tidy(sandbox: &Sandbox, daemon: &Daemon<'_>, end: &End) {
    assert_alone(sandbox, daemon);
    sandbox.assert_sound();
    sandbox.assert_log_sound();
    assert_eq!(end.dirty, "");
    assert_eq!(end.head, "refs/heads/main");
    let ended = end
        .refs
        .keys()
        .filter(|name| name.starts_with("refs/heads/agent/"));
    assert_eq!(ended.count(), 0, "{:#?}", end.refs);
    assert!(
        !end.worktrees
            .iter()
            .any(|place| place.starts_with(&format!("{}/w", sandbox.worktrees().display()))),
        "{:#?}",
        end.worktrees
    );
}

/// Two ideas have landed since the checkpoint `mid`, and three agents that worked then have gone
/// further.
fn far_from_the_checkpoint() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 4}, "checkpoints": {"periodic": 0}}));
    for _ in AT_WORK {
        sandbox.idea(BUSY);
    }
    let lands = sandbox.idea(LANDS);
    let daemon = sandbox.start();
    for id in AT_WORK {
        sandbox.wait_held(&format!("{id}.1"));
    }
    sandbox.wait_held("lands");
    sandbox.swarm(&["checkpoint", "create", "mid"]).ok();
    sandbox.release("lands");
    sandbox.wait_idea(&lands, "done");
    let later = sandbox.idea(LATER);
    sandbox.wait_idea(&later, "done");
    for id in AT_WORK {
        sandbox.release(&format!("{id}.1"));
        sandbox.wait_held(&format!("{id}.further"));
    }
    daemon.kill();
    drop(daemon);
    sandbox
}

/// The agents go on, each from its work; they hold again.
fn go_on(sandbox: &Sandbox, before: &Agents) -> Agents {
    sandbox.swarm(&["resume"]).ok();
    for id in AT_WORK {
        let next = before[id].attempt + 1;
        let path = sandbox.path(&format!("out/{id}.{next}.here"));
        sandbox.wait_within(LOADED, "the agents to hold again", || {
            path.exists().then_some(())
        });
    }
    let status = sandbox.status();
    let now = agents(sandbox, &status);
    assert_eq!(now.keys().collect::<Vec<_>>(), AT_WORK);
    for agent in status["agents"].as_array().unwrap() {
        let id = agent["ideaId"].as_str().unwrap();
        assert_eq!(now[id].attempt, before[id].attempt + 1);
        let place = sandbox.repo().join(agent["worktree"].as_str().unwrap());
        let found = fs::read_to_string(place.join(format!("{id}.trail"))).unwrap();
        assert_eq!(found, trail(now[id].attempt), "{id}");
        assert!(place.join(format!("{id}.txt")).exists(), "{id}");
    }
    now
}

/// What an attempt's file says after all the attempts before it.
fn trail(attempts: u64) -> String {
    let mut text = String::new();
    for attempt in 1..=attempts {
        write!(text, "begun {attempt}\nopen {attempt}\n").unwrap();
        if attempt == 1 {
            text.push_str("further\nopen\n");
        }
    }
    text
}

/// There and back.
struct Round<'a> {
    sandbox: &'a Sandbox,
    refs: BTreeMap<String, String>,
    agents: Agents,
    tip: String,
    ideas: BTreeMap<String, Value>,
}

impl<'a> Round<'a> {
    fn of(sandbox: &'a Sandbox) -> Self {
        Self {
            sandbox,
            refs: all_refs(sandbox),
            agents: agents(sandbox, &sandbox.status()),
            tip: sandbox.head("main"),
            ideas: ideas(sandbox),
        }
    }

    fn end(&self, safety: &str) -> End {
        let sandbox = self.sandbox;
        End {
            target: sandbox.head("main"),
            head: sandbox.git(&["symbolic-ref", "HEAD"]),
            dirty: sandbox.git(&["status", "--porcelain", "--", ".", ":!.swarm"]),
            ideas: ideas(sandbox),
            worktrees: worktrees(sandbox),
            folders: folders(sandbox),
            refs: self.plain_refs(safety),
        }
    }

    /// The references, but for what earlier rounds have left: the safety checkpoint's name is
    /// `SAFETY`, an agent's that of its idea.
    fn plain_refs(&self, safety: &str) -> BTreeMap<String, String> {
        let mut all = all_refs(self.sandbox);
        all.retain(|name, oid| {
            let passing = ["/before-rollback-", "refs/swarm/rescue/"];
            !passing.iter().any(|part| name.contains(part)) || self.refs.get(name) != Some(oid)
        });
        let plain = |(name, oid): (String, String)| {
            let place = self.plain_place(&name, &oid);
            (self.plain_name(&name, safety), place)
        };
        all.into_iter().map(plain).collect()
    }

    fn plain_name(&self, name: &str, safety: &str) -> String {
        let mut name = name.replace(safety, "SAFETY");
        if name.contains("SAFETY") || name.starts_with("refs/swarm/rescue/") {
            for (idea, agent) in &self.agents {
                name = name.replace(&agent.id, &format!("agent-of-{idea}"));
            }
            // Where the name was taken by an earlier round there is a number behind it.
            if let Some(at) = name.rfind("/idea-").or_else(|| name.rfind("-idea-")) {
                name.truncate(at + "/idea-000".len());
            }
        }
        name
    }

    /// A commit by what it has: an agent's last commit, or all its work on top of that.
    fn plain_place(&self, name: &str, oid: &str) -> String {
        if name.starts_with("refs/swarm/checkpoint-files/") {
            return "a file".to_owned();
        }
        let commit = self.sandbox.head(oid);
        if name.starts_with("refs/heads/") || name.starts_with("refs/swarm/checkpoints/") {
            return commit;
        }
        for (idea, agent) in &self.agents {
            if agent.work.tip == commit {
                return format!("the last commit of {idea}");
            }
            if self.sandbox.head(&format!("{commit}^")) == agent.work.tip
                && tree(self.sandbox, &commit) == agent.work.files
            {
                return format!("all work on {idea}");
            }
        }
        commit
    }

    /// After the rollback to the checkpoint.
    fn there(&self, daemon: &Daemon<'_>, safety: &str) -> End {
        let end = self.end(safety);
        assert_tidy(self.sandbox, daemon, &end);
        assert_eq!(
            kept(self.sandbox, safety, &self.agents),
            works(&self.agents),
            "kept by {safety}"
        );
        end
    }

    /// After the rollback to the safety checkpoint.
    fn back(&self, daemon: &Daemon<'_>, safety: &str) {
        let end = self.end(safety);
        assert_tidy(self.sandbox, daemon, &end);
        assert_eq!(end.target, self.tip);
        assert_eq!(saved(self.sandbox, &end.ideas), works(&self.agents));
        for (id, idea) in &end.ideas {
            let mut expected = self.ideas[id]["status"].clone();
            if AT_WORK.contains(&id.as_str()) {
                expected = json!("pending");
            }
            assert_eq!(idea["status"], expected, "{id}");
            for key in ["commit", "retryCount", "failedAttempts", "lastError"] {
                assert_eq!(idea[key], self.ideas[id][key], "{key} of {id}");
            }
        }
    }
}

/// Nobody disturbs it. How long it took, and its safety checkpoint.
fn undisturbed(sandbox: &Sandbox, to: &str) -> (Duration, String) {
    let progress = Progress::begin(sandbox);
    let begun = Instant::now();
    let answer = ask(sandbox, to).unwrap();
    let took = begun.elapsed();
    (took, ended(&progress, Some(answer)))
}

/// The checkpoints of a round go: their files and tags. The references of work that an idea goes on
/// from stay.
fn forget(sandbox: &Sandbox, safeties: &[String; 2]) {
    for safety in safeties {
        sandbox.swarm(&["checkpoint", "delete", safety]).ok();
    }
    let left = sandbox.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/swarm/checkpoints",
    ]);
    assert_eq!(left, "refs/swarm/checkpoints/mid");
}

#[test]
fn killed_at_any_instant_it_ends_as_one_that_nobody_disturbed() {
    let rounds: usize =
        std::env::var("SWARM_ROLLBACK_KILLS").map_or(10, |text| text.parse().unwrap());
    let sandbox = far_from_the_checkpoint();
    let begun = Instant::now();
    let mut daemon = Some(sandbox.start());
    let mut storm = Storm {
        dice: Dice::thrown(),
        lengths: Lengths::default(),
        counts: Counts::default(),
    };
    storm.lengths.start = begun.elapsed();

    let round = Round::of(&sandbox);
    let (there, safety) = undisturbed(&sandbox, "mid");
    let expected = round.there(daemon.as_ref().unwrap(), &safety);
    let (back, other) = undisturbed(&sandbox, &safety);
    round.back(daemon.as_ref().unwrap(), &other);
    let mut now = go_on(&sandbox, &round.agents);
    forget(&sandbox, &[safety, other]);
    (storm.lengths.there, storm.lengths.back) = (there, back);
    println!("undisturbed: {:?}", storm.lengths);

    for number in 1..=rounds {
        println!("round {number}");
        let round = Round::of(&sandbox);
        assert_eq!(round.agents, now);
        let safety = storm.roll_back(&sandbox, &mut daemon, "mid", there);
        let end = round.there(daemon.as_ref().unwrap(), &safety);
        end.assert_same(&expected);
        let other = storm.roll_back(&sandbox, &mut daemon, &safety, back);
        round.back(daemon.as_ref().unwrap(), &other);
        now = go_on(&sandbox, &round.agents);
        forget(&sandbox, &[safety, other]);
    }

    let runs = sandbox.notes("runs");
    let attempts: BTreeSet<Vec<&str>> = runs
        .iter()
        .map(|run| run.split(' ').take(3).collect())
        .collect();
    assert_eq!(
        attempts.len(),
        runs.len(),
        "an attempt was run twice: {runs:#?}"
    );
    for id in AT_WORK {
        sandbox.release(&format!("{id}.{}", now[id].attempt));
        sandbox.wait_idea(id, "done");
        assert_eq!(
            sandbox.file_at("main", &format!("{id}.trail")) + "\n",
            trail(now[id].attempt)
        );
    }
    daemon.take().unwrap().stop();
    println!("{rounds} rounds: {:?}", storm.counts);
    sandbox.assert_repository_clean();
    sandbox.assert_log_sound();
}
