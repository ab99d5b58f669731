//! Who speaks: what agents, checks and hooks may type, with a daemon and without one.

use std::fs;

use serde_json::json;

use crate::harness::Sandbox;
use crate::hooks::hook;

/// Reads that everybody may type.
const READING: [&str; 3] = ["status", "idea list", "rollback before --dry-run"];
/// What only people and their hooks may type. Each would be refused to a person for another reason
/// or changes nothing that a test looks at.
const CHANGING: [&str; 13] = [
    "rollback before --yes",
    "undo --yes",
    "pause",
    "open",
    "config set agents.timeoutMinutes 45",
    "stop",
    "idea retry idea-001",
    "agent say ed-001 hello",
    "agent import ed-001.json",
    "merge retry idea-001",
    "checkpoint create mine",
    "hooks run post-complete",
    "clean",
];

/// Writes the script `type.sh WHO LIST`: types the commands of a list, and notes the exit code and
/// the code of the refusal of each.
fn typist(sandbox: &Sandbox) -> String {
    let out = sandbox.path("out");
    let script = format!(
        r#"bin=${{SWARM_BIN:-{}}}
while read -r line; do
    said=$("$bin" $line --json 2>&1 </dev/null)
    code=$?
    why=$(printf '%s' "$said" | grep -o 'NOT_FOR_AGENTS' | head -n 1)
    echo "$line: $code $why" >>"{out}/$1.part"
done <"{out}/$2"
mv "{out}/$1.part" "{out}/$1.typed"
"#,
        env!("CARGO_BIN_EXE_swarm"),
        out = out.display()
    );
    fs::write(sandbox.path("type.sh"), script).unwrap();
    fs::write(out.join("reading"), READING.join("\n") + "\n").unwrap();
    fs::write(out.join("changing"), CHANGING.join("\n") + "\n").unwrap();
    fs::write(out.join("adding"), "idea add more\n").unwrap();
    format!("sh {}", sandbox.path("type.sh").display())
}

/// How the commands ended that this one typed.
fn typed(sandbox: &Sandbox, who: &str) -> Vec<String> {
    let path = sandbox.path("out").join(format!("{who}.typed"));
    sandbox.wait_for(&format!("{who} to have typed"), || {
        path.exists().then_some(())
    });
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

fn all_refused(commands: &[&str]) -> Vec<String> {
    let refused = |line: &&str| format!("{line}: 1 NOT_FOR_AGENTS");
    commands.iter().map(refused).collect()
}

fn all_done(commands: &[&str]) -> Vec<String> {
    commands.iter().map(|line| format!("{line}: 0")).collect()
}

#[test]
fn agents_and_checks_may_read_but_neither_change_nor_add() {
    let sandbox = Sandbox::ready();
    let typist = typist(&sandbox);
    let gate = ["reading", "changing", "adding"].map(|list| format!("{typist} gate-{list} {list}"));
    sandbox.configure(&json!({"qualityCommands": [gate.join(" && ")]}));
    let daemon = sandbox.start();
    sandbox.swarm(&["checkpoint", "create", "before"]).ok();
    let lists = "for list in reading changing adding";
    let out = sandbox.path("out");
    sandbox.idea(&format!(
        "{lists}; do {typist} agent-$list $list; done; \
        (env -i setsid sh -c '({typist} away changing &)' &); \
        while [ ! -e {}/away.typed ]; do sleep 0.05; done; say COMPLETE",
        out.display()
    ));
    for who in ["agent", "gate"] {
        assert_eq!(
            typed(&sandbox, &format!("{who}-reading")),
            all_done(&READING)
        );
        assert_eq!(
            typed(&sandbox, &format!("{who}-changing")),
            all_refused(&CHANGING)
        );
        let added = typed(&sandbox, &format!("{who}-adding"));
        assert_eq!(added, all_refused(&["idea add more"]));
    }
    assert_eq!(typed(&sandbox, "away"), all_refused(&CHANGING));
    sandbox.wait_idea("idea-001", "done");
    assert_eq!(sandbox.ideas().len(), 1);
    sandbox.swarm(&["pause"]).ok();
    sandbox.swarm(&["resume"]).ok();
    daemon.stop();
}

#[test]
fn an_agent_adds_ideas_when_the_configuration_says_so() {
    let sandbox = Sandbox::ready();
    let typist = typist(&sandbox);
    sandbox.configure(&json!({"agents": {"mayAddIdeas": true}, "mode": "semi-auto"}));
    let daemon = sandbox.start();
    let id = sandbox.idea(&format!("{typist} agent adding; say COMPLETE"));
    sandbox.swarm(&["idea", "assign", &id]).ok();
    assert_eq!(typed(&sandbox, "agent"), all_done(&["idea add more"]));
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.ideas().len(), 2);
    daemon.stop();
}

#[test]
fn a_hook_is_a_program_of_a_person() {
    const LIST: [&str; 4] = [
        "pause",
        "config set agents.timeoutMinutes 45",
        "idea add more",
        "resume",
    ];
    let sandbox = Sandbox::ready();
    let typist = typist(&sandbox);
    fs::write(sandbox.path("out/hook"), LIST.join("\n") + "\n").unwrap();
    hook(
        &sandbox,
        "post-merge",
        &format!("#!/bin/sh\n{typist} hook hook\n"),
    );
    sandbox.configure(
        &json!({"hooks": {"post-merge": ".swarm/hooks/post-merge.sh"},
        "mode": "semi-auto"}),
    );
    sandbox.commit("Add a hook");
    let daemon = sandbox.start();
    let id = sandbox.idea("write a.txt a; say COMPLETE");
    sandbox.swarm(&["idea", "assign", &id]).ok();
    assert_eq!(typed(&sandbox, "hook"), all_done(&LIST));
    daemon.stop();
}

#[test]
fn without_a_daemon_an_agent_is_found_too() {
    let sandbox = Sandbox::ready();
    let typist = typist(&sandbox);
    let other = Sandbox::ready();
    let there = ["config set agents.timeoutMinutes 45", "idea add more"];
    let there = there.map(|line| format!("-C {} {line}", other.repo().display()));
    let done = there.clone().map(|line| format!("{line}: 0"));
    fs::write(
        sandbox.path("out/elsewhere"),
        there.map(|line| line + "\n").concat(),
    )
    .unwrap();
    let daemon = sandbox.start();
    let id = sandbox.idea(&format!(
        "hold alone; {typist} agent changing; {typist} adder adding; \
        {typist} elsewhere elsewhere; hold end; say COMPLETE"
    ));
    sandbox.wait_held("alone");
    sandbox.swarm(&["stop", "--keep-agents"]).ok();
    assert_eq!(daemon.wait_exit(crate::harness::PATIENCE), 0);
    sandbox.release("alone");
    assert_eq!(typed(&sandbox, "agent"), all_refused(&CHANGING));
    assert_eq!(typed(&sandbox, "adder"), all_refused(&["idea add more"]));
    assert_eq!(typed(&sandbox, "elsewhere"), done, "another repository");
    sandbox.wait_held("end");
    sandbox.swarm(&["idea", "hold", &id]).ok();
    sandbox.swarm(&["idea", "unhold", &id]).ok();
    sandbox.release("end");
    let daemon = sandbox.start();
    sandbox.wait_idea(&id, "done");
    daemon.stop();
}
