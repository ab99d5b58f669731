//! The scripted agent of the demo, as a real process in real git worktrees, driven by hand the way
//! the daemon does it.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use swarm::agents::adapter::{Adapter as _, Conversation, Launch, LaunchContext, StartedAs};
use swarm::agents::demo::scenario::{self, DemoIdea};
use swarm::agents::demo::{DemoAdapter, WAITING_TO_BE_KILLED};
use swarm::agents::environment::{Environment, Identity, WorkVariables};
use swarm::agents::prompt::{self, ConflictBrief, GateFeedback, PromptInput};
use swarm::agents::recovery_context::RecoveryContext;
use swarm::agents::stream::text_of;
use swarm::agents::{AdapterKind, Profile};
use swarm::domain::signal::{Found, Item, Scanner, Signal};

/// The demo's repository in a temporary directory, which is also the home of all that runs in it.
struct Site {
    dir: tempfile::TempDir,
}

/// One agent's place and what goes into its prompts.
struct Agent<'a> {
    site: &'a Site,
    number: usize,
    worktree: PathBuf,
    input: PromptInput,
    patience: &'static str,
}

/// How an iteration ended.
struct Iteration {
    output: Output,
    signals: Vec<Signal>,
}

impl Site {
    fn new() -> Self {
        let site = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        let repository = site.repository();
        fs::create_dir(&repository).unwrap();
        for file in scenario::FILES {
            let path = repository.join(file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, file.content).unwrap();
            let mode = if file.executable { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        site.git(&repository, &["init", "-q", "-b", "main"]);
        site.git(&repository, &["add", "-A"]);
        site.git(&repository, &["commit", "-qm", "Begin the site"]);
        site
    }

    fn repository(&self) -> PathBuf {
        self.dir.path().join("site")
    }

    fn git_in(&self, folder: &Path, args: &[&str]) -> Output {
        let mut git = Command::new("git");
        git.current_dir(folder).args(args).env_clear();
        for name in ["NAME", "EMAIL"] {
            git.env(format!("GIT_AUTHOR_{name}"), "t@localhost");
            git.env(format!("GIT_COMMITTER_{name}"), "t@localhost");
        }
        git.env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.dir.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        git.output().unwrap()
    }

    fn git(&self, folder: &Path, args: &[&str]) -> String {
        let output = self.git_in(folder, args);
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A worktree from `main` for the idea with this number, from 1.
    fn agent(&self, number: usize, idea: &DemoIdea) -> Agent<'_> {
        let worktree = self.dir.path().join(format!("ed-{number:03}"));
        let branch = format!("agent/ed-{number:03}/idea-{number:03}");
        let path = worktree.to_str().unwrap();
        self.git(
            &self.repository(),
            &["worktree", "add", "-q", "-b", &branch, path, "main"],
        );
        let input = PromptInput {
            idea_id: format!("idea-{number:03}"),
            idea_text: idea.text.clone(),
            quality_commands: vec![scenario::CHECK.to_owned()],
            branch,
            attempt: 1,
            ..PromptInput::default()
        };
        Agent {
            site: self,
            number,
            worktree,
            input,
            patience: "0",
        }
    }
}

impl Agent<'_> {
    /// Starts the next iteration.
    fn spawn(&mut self) -> (String, Child) {
        self.input.iteration += 1;
        let prompt = prompt::build(&self.input);
        let launch = self.launch();
        let mut child = Command::new(&launch.program)
            .args(&launch.args)
            .env_clear()
            .envs(&launch.env)
            .current_dir(&self.worktree)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(prompt.as_bytes()).unwrap();
        (prompt, child)
    }

    fn launch(&self) -> Launch {
        let args = ["--seed", "7", "--pace", "0", "--patience-ms", self.patience];
        let profile = Profile {
            name: "demo".into(),
            adapter: AdapterKind::Demo,
            model: None,
            account: None,
            command: Vec::new(),
            args: args.map(String::from).to_vec(),
            env: BTreeMap::new(),
        };
        let work = WorkVariables {
            prompt_file: "/dev/null".into(),
            idea_id: self.input.idea_id.clone(),
            agent: format!("ed-{:03}", self.number),
            run_id: "r-1".into(),
            attempt: self.input.attempt,
            iteration: self.input.iteration,
            worktree: self.worktree.clone(),
            branch: self.input.branch.clone(),
            repository: self.site.repository(),
            own_program: env!("CARGO_BIN_EXE_swarm").into(),
            ..WorkVariables::default()
        };
        let mut inherited: Environment = std::env::vars_os().collect();
        inherited.insert("HOME".into(), self.site.dir.path().into());
        inherited.insert("GIT_CONFIG_GLOBAL".into(), "/dev/null".into());
        inherited.insert("GIT_CONFIG_NOSYSTEM".into(), "1".into());
        let context = LaunchContext {
            profile: &profile,
            work: &work,
            inherited: &inherited,
            pass: &["GIT_CONFIG_GLOBAL".into(), "GIT_CONFIG_NOSYSTEM".into()],
            identity: Some(&Identity::default()),
            own_program: env!("CARGO_BIN_EXE_swarm").into(),
            memory: None,
            guard: None,
            talk: Conversation::New("s-1".parse().unwrap()),
        };
        DemoAdapter.launch(&context).unwrap()
    }

    /// Runs the next iteration to its end.
    fn iterate(&mut self) -> Iteration {
        let (prompt, child) = self.spawn();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let mut said = Vec::new();
        let mut reader = DemoAdapter.reader(&StartedAs::new(AdapterKind::Demo));
        reader.push(&output.stdout, &mut said);
        reader.finish(&mut said);
        let text = text_of(&said);
        let mut scanner = Scanner::new(&prompt);
        let mut found = scanner.push(&text);
        found.extend(scanner.finish());
        let signals = found.into_iter().map(signal_of).collect();
        Iteration { output, signals }
    }

    /// Iterates, with the gate after each COMPLETE, until an attempt is complete; its uncommitted
    /// work is committed.
    fn complete(&mut self) -> usize {
        for iterations in 1..=4 {
            let said_so = self.iterate().signals.contains(&Signal::Complete(None));
            self.input.feedback = if said_so { self.gate() } else { None };
            if said_so && self.input.feedback.is_none() {
                self.commit_the_rest();
                return iterations;
            }
        }
        panic!("idea {} is never complete", self.number);
    }

    fn gate(&self) -> Option<GateFeedback> {
        let output = Command::new("sh")
            .args(["-c", scenario::CHECK])
            .current_dir(&self.worktree)
            .output()
            .unwrap();
        (!output.status.success()).then(|| GateFeedback {
            command: scenario::CHECK.to_owned(),
            exit_code: output.status.code(),
            output_tail: String::from_utf8(output.stdout).unwrap(),
        })
    }

    fn is_dirty(&self) -> bool {
        let status = self.site.git(&self.worktree, &["status", "--porcelain"]);
        !status.is_empty()
    }

    fn commit_the_rest(&self) {
        if self.is_dirty() {
            let worktree = &self.worktree;
            self.site.git(worktree, &["add", "-A"]);
            self.site.git(worktree, &["commit", "-qm", "What was left"]);
        }
    }

    /// Merges `main` into the branch, by a resolver if need be; then `main` follows. Says whether
    /// there was a conflict.
    fn land(&mut self) -> bool {
        let merge = ["merge", "-q", "--no-ff", "-m", "Merge", "main"];
        let clean = self.site.git_in(&self.worktree, &merge).status.success();
        if !clean {
            self.resolve();
        }
        assert!(self.gate().is_none());
        let target = self.site.repository();
        self.site
            .git(&target, &["merge", "-q", "--ff-only", &self.input.branch]);
        !clean
    }

    fn resolve(&mut self) {
        let list = ["diff", "--name-only", "--diff-filter=U"];
        let files = self.site.git(&self.worktree, &list);
        self.input.conflict = Some(ConflictBrief {
            files: files.lines().map(str::to_owned).collect(),
            target_branch: "main".into(),
            ours: "what has landed".into(),
            theirs: self.input.idea_text.clone(),
            saved: None,
        });
        let resolved = self.iterate();
        let said = &resolved.signals[..];
        assert!(matches!(said, [Signal::Resolved(_)]), "{said:?}");
        self.commit_the_rest();
    }
}

fn signal_of(found: Found) -> Signal {
    let Item::Signal(signal) = found.item else {
        panic!("no signal: {:?}", found.item);
    };
    signal
}

#[test]
fn the_whole_backlog_lands_in_order_and_the_check_passes() {
    let site = Site::new();
    let ideas = scenario::ideas(9);
    let mut conflicts = Vec::new();
    let mut iterations = Vec::new();
    // The ideas 1 to 6 are worked on side by side, the others begin when what they come after has
    // landed.
    let mut agents: Vec<Agent<'_>> = (1..=6).map(|n| site.agent(n, &ideas[n - 1])).collect();
    for agent in &mut agents {
        iterations.push(agent.complete());
    }
    for agent in &mut agents {
        conflicts.push(agent.land());
    }
    for number in 7..=9 {
        let mut agent = site.agent(number, &ideas[number - 1]);
        iterations.push(agent.complete());
        conflicts.push(agent.land());
    }
    assert_eq!(iterations, [2, 2, 1, 1, 1, 1, 1, 1, 1]);
    let only_the_fourth: Vec<bool> = (1..=9).map(|number| number == 4).collect();
    assert_eq!(conflicts, only_the_fourth);
    let home = fs::read_to_string(site.repository().join("pages/home.txt")).unwrap();
    assert!(
        home.contains("ready at six") && home.contains("cakes"),
        "{home}"
    );
}

#[test]
fn the_gate_refuses_the_first_opening_hours_and_feedback_mends_them() {
    let site = Site::new();
    let mut agent = site.agent(2, &scenario::ideas(2)[1]);
    let first = agent.iterate();
    assert!(first.signals.contains(&Signal::Complete(None)));
    let feedback = agent.gate().expect("the link leads nowhere");
    assert!(
        feedback.output_tail.contains("leads nowhere"),
        "{feedback:?}"
    );
    agent.input.feedback = Some(feedback);
    agent.iterate();
    assert!(agent.gate().is_none());
}

#[test]
fn a_killed_agent_leaves_work_that_the_next_one_goes_on_with() {
    let site = Site::new();
    let mut agent = site.agent(5, &scenario::ideas(5)[4]);
    agent.patience = "60000";
    let (_, mut child) = agent.spawn();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    let waits = lines.any(|line| line == WAITING_TO_BE_KILLED);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(waits && agent.is_dirty());

    agent.input.attempt = 2;
    agent.input.iteration = 0;
    agent.input.recovery = Some(RecoveryContext::new(1, Vec::new(), true));
    let iteration = agent.iterate();
    let said = String::from_utf8(iteration.output.stdout).unwrap();
    assert!(said.contains("I continue from there"), "{said}");
    assert!(iteration.signals.contains(&Signal::Complete(None)));
    assert!(agent.gate().is_none() && !agent.is_dirty());
    let prices = fs::read_to_string(agent.worktree.join("pages/prices.txt")).unwrap();
    assert!(prices.contains("Bread") && prices.contains("Cakes"));
}

#[test]
fn work_that_is_done_again_changes_nothing() {
    let site = Site::new();
    let ideas = scenario::ideas(7);
    for number in [3, 6, 7] {
        let mut agent = site.agent(number, &ideas[number - 1]);
        agent.iterate();
        agent.commit_the_rest();
        let before = site.git(&agent.worktree, &["rev-parse", "HEAD"]);
        agent.iterate();
        assert!(!agent.is_dirty());
        assert_eq!(site.git(&agent.worktree, &["rev-parse", "HEAD"]), before);
    }
}

#[test]
fn what_the_agent_quotes_from_its_prompt_does_not_count() {
    let site = Site::new();
    let mut agent = site.agent(7, &scenario::ideas(7)[6]);
    let contact = agent.worktree.join("pages/contact.txt");
    fs::write(contact, "title: Contact\n").unwrap();
    let iteration = agent.iterate();
    let said = String::from_utf8(iteration.output.stdout).unwrap();
    assert_eq!(said.matches("<swarm>COMPLETE</swarm>").count(), 2, "{said}");
    assert_eq!(iteration.signals, [Signal::Complete(None)]);
}

#[test]
fn the_same_work_gives_the_same_output() {
    let output_of_one = || {
        let site = Site::new();
        let mut agent = site.agent(1, &scenario::ideas(1)[0]);
        agent.iterate().output.stdout
    };
    assert_eq!(output_of_one(), output_of_one());
}

#[test]
fn started_by_hand_it_says_what_is_wrong() {
    for (args, code) in [(&["__demo-agent"][..], 1), (&["__demo-agent", "--what"], 2)] {
        let output = Command::new(env!("CARGO_BIN_EXE_swarm"))
            .args(args)
            .env_remove("SWARM_IDEA_ID")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code));
        assert!(!output.stderr.is_empty());
    }
}
