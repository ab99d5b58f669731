//! Hooks: which are called, what they are told, what they hold, which are refused, and what a crash
//! leaves of a call.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::Sandbox;
use crate::kill_and_restart::start_with_killed_git;

const WORK: &str = "write $SWARM_IDEA_ID.txt x; say COMPLETE";

/// Each call notes its name, and keeps its variables and its standard input.
pub const RECORDER: &str = "#!/bin/sh\nset \
    -e\nout=${HOME%/*}/out\nname=$SWARM_HOOK-$SWARM_EVENT_SEQ\nenv | grep '^SWARM_' | sort > \
    $out/$name.env\ncat > $out/$name.json\npwd > $out/$name.pwd\necho $SWARM_HOOK $SWARM_EVENT_SEQ \
    >> $out/hooks\n";

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Puts a hook's file there, executable.
pub fn hook(sandbox: &Sandbox, name: &str, script: &str) {
    let file = format!(".swarm/hooks/{name}.sh");
    sandbox.write(&file, script);
    mode(&sandbox.repo().join(file), 0o755);
}

fn hooks_called(sandbox: &Sandbox) -> Vec<String> {
    let first = |line: String| line.split(' ').next().unwrap().to_owned();
    sandbox.notes("hooks").into_iter().map(first).collect()
}

/// The variables that the first call of this hook was given.
fn variables(sandbox: &Sandbox, name: &str) -> Vec<String> {
    let call = call_of(sandbox, name);
    let text = fs::read_to_string(sandbox.path("out").join(format!("{call}.env"))).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// What its standard input was.
fn told(sandbox: &Sandbox, name: &str) -> Value {
    let call = call_of(sandbox, name);
    let text = fs::read(sandbox.path("out").join(format!("{call}.json"))).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn call_of(sandbox: &Sandbox, name: &str) -> String {
    let calls = sandbox.notes("hooks");
    let of = |line: &&String| line.split(' ').next() == Some(name);
    let line = calls.iter().find(of);
    line.unwrap_or_else(|| panic!("{name} was not called: {calls:?}"))
        .replace(' ', "-")
}

#[test]
fn an_idea_calls_its_hooks_in_order_with_what_the_contract_promises() {
    let sandbox = Sandbox::ready();
    for name in ["pre-start", "post-complete", "pre-merge", "post-merge"] {
        hook(&sandbox, name, RECORDER);
    }
    let id = sandbox.idea(WORK);
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(
        hooks_called(&sandbox),
        ["pre-start", "post-complete", "pre-merge", "post-merge"]
    );
    let landed = sandbox.show(&id)["commit"].as_str().unwrap().to_owned();
    let expected = [
        (
            "pre-start",
            "SWARM_AGENT SWARM_BIN SWARM_BRANCH SWARM_EVENT_SEQ SWARM_HOOK SWARM_IDEA_ID \
            SWARM_REPO SWARM_WORKTREE",
        ),
        (
            "post-complete",
            "SWARM_AGENT SWARM_BIN SWARM_BRANCH SWARM_DURATION SWARM_EVENT_SEQ SWARM_HOOK \
            SWARM_IDEA_ID SWARM_REPO SWARM_STATUS",
        ),
        (
            "pre-merge",
            "SWARM_BIN SWARM_BRANCH SWARM_COMMIT_HASH SWARM_EVENT_SEQ SWARM_HOOK SWARM_IDEA_ID \
            SWARM_REPO SWARM_TARGET",
        ),
        (
            "post-merge",
            "SWARM_BIN SWARM_COMMIT_HASH SWARM_EVENT_SEQ SWARM_HOOK SWARM_IDEA_ID SWARM_REPO \
            SWARM_TARGET",
        ),
    ];
    for (name, names) in expected {
        let all = variables(&sandbox, name);
        // There is a slot with ports only while one of the blocks is free.
        let of_slot = |name: &str| ["SWARM_PORT_BASE", "SWARM_SLOT"].contains(&name);
        let own = |line: &&str| !line.starts_with("SWARM_RUN_") && !of_slot(line);
        let found: Vec<&str> = all
            .iter()
            .map(|line| line.split('=').next().unwrap())
            .filter(own)
            .collect();
        assert_eq!(found.join(" "), names, "{name}");
        let stdin = told(&sandbox, name);
        assert_eq!(stdin["hook"], name);
        assert_eq!(stdin["data"]["ideaId"], id.as_str(), "{stdin}");
    }
    assert_eq!(
        told(&sandbox, "pre-merge")["data"]["commitHash"],
        landed.as_str()
    );
    assert_eq!(told(&sandbox, "post-complete")["data"]["status"], "done");
    let worktree = told(&sandbox, "pre-start")["data"]["worktree"].clone();
    assert!(
        Path::new(worktree.as_str().unwrap()).is_absolute(),
        "{worktree}"
    );
    let pwd = call_of(&sandbox, "post-merge");
    let pwd = fs::read_to_string(sandbox.path("out").join(format!("{pwd}.pwd"))).unwrap();
    assert_eq!(
        Path::new(pwd.trim()),
        fs::canonicalize(sandbox.repo()).unwrap()
    );
    let seqs: Vec<u64> = sandbox
        .logged("hookFinished")
        .iter()
        .map(|event| event.data["about"].as_u64().unwrap())
        .collect();
    assert!(seqs.len() == 4 && seqs.is_sorted(), "{seqs:?}");
}

#[test]
fn a_failing_pre_start_blocks_the_idea_and_says_why() {
    let sandbox = Sandbox::ready();
    hook(
        &sandbox,
        "pre-start",
        "#!/bin/sh\necho 'the database is not there' >&2\nexit 3\n",
    );
    let id = sandbox.idea(WORK);
    assert_eq!(sandbox.run_until_idle(), 5);
    let idea = sandbox.show(&id);
    assert_eq!(idea["status"], "blocked");
    let why = idea["lastError"].as_str().unwrap();
    assert!(
        why.contains("pre-start") && why.contains("the database is not there"),
        "{why}"
    );
    assert!(sandbox.notes("runs").is_empty(), "no iteration was begun");
    hook(&sandbox, "pre-start", "#!/bin/sh\n");
    sandbox.swarm(&["idea", "retry", &id]).ok();
    assert_eq!(sandbox.run_until_idle(), 0);
}

#[test]
fn a_failing_pre_merge_holds_the_landing_until_it_passes() {
    let sandbox = Sandbox::ready();
    hook(
        &sandbox,
        "pre-merge",
        "#!/bin/sh\nif [ ! -e \"$HOME/go\" ]; then echo 'end to end: 3 failed'; exit 1; fi\n",
    );
    let before = sandbox.head("main");
    let id = sandbox.idea(WORK);
    let daemon = sandbox.start();
    let status = sandbox.wait_status("the held merge", |status| {
        status["needsYou"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    });
    assert!(
        status["needsYou"][0]
            .to_string()
            .contains("end to end: 3 failed"),
        "{status}"
    );
    assert_eq!(sandbox.head("main"), before);
    fs::write(sandbox.path("home").join("go"), "").unwrap();
    sandbox.swarm(&["merge", "retry", &id]).ok();
    sandbox.wait_idea(&id, "done");
    daemon.stop();
}

#[test]
fn one_that_hangs_is_ended_with_all_that_it_started_and_only_warns() {
    let sandbox = Sandbox::ready();
    let hang = "#!/bin/sh\ntrap '' TERM\nsetsid sh -c \"trap '' TERM; while :; do sleep 1000; \
        done\" &\nwhile :; do sleep 1000; done\n";
    hook(&sandbox, "post-complete", hang);
    sandbox.configure(
        &json!({"hooks": {"post-complete": {"run": ".swarm/hooks/post-complete.sh",
        "timeoutSeconds": 1}}}),
    );
    let id = sandbox.idea(WORK);
    let daemon = sandbox.start();
    // What it hangs about lands meanwhile.
    sandbox.wait_idea(&id, "done");
    sandbox.wait_for("its end", || sandbox.logged("hookTimedOut").pop());
    let warning = sandbox.wait_status("the warning", |status| {
        status["warnings"].to_string().contains("took too long")
    });
    assert!(
        warning["warnings"].to_string().contains("post-complete"),
        "{warning}"
    );
    daemon.stop();
    sandbox.assert_nothing_runs();
}

#[test]
fn what_must_not_be_trusted_is_refused_and_holds_its_step() {
    type Spoil = fn(&Sandbox, &Path);
    let spoils: [(&str, Spoil); 5] = [
        ("other users can write to", |_, file| mode(file, 0o777)),
        ("other users can write to", |_, file| {
            mode(file.parent().unwrap(), 0o777);
        }),
        ("is not executable", |_, file| mode(file, 0o644)),
        ("is outside the repository", |sandbox, file| {
            let elsewhere = sandbox.path("out").join("hook.sh");
            fs::rename(file, &elsewhere).unwrap();
            symlink(elsewhere, file).unwrap();
        }),
        ("does not exist", |_, file| {
            fs::remove_file(file).unwrap();
            symlink("nowhere", file).unwrap();
        }),
    ];
    for (why, spoil) in spoils {
        let sandbox = Sandbox::ready();
        hook(&sandbox, "pre-merge", RECORDER);
        hook(&sandbox, "post-complete", RECORDER);
        for name in ["pre-merge", "post-complete"] {
            spoil(&sandbox, &sandbox.dot_swarm(&format!("hooks/{name}.sh")));
        }
        let before = sandbox.head("main");
        let id = sandbox.idea(WORK);
        assert_eq!(sandbox.run_until_idle(), 6, "{why}");
        assert_eq!(sandbox.head("main"), before);
        let status = sandbox.status().to_string();
        assert!(status.contains(why), "{why}: {status}");
        assert!(sandbox.notes("hooks").is_empty(), "{why}");
        let list = sandbox.swarm(&["hooks", "list"]).stdout;
        assert!(list.contains("refused") && list.contains(why), "{}", list);
        let doctor = sandbox.swarm(&["doctor"]);
        assert!(doctor.stdout.contains(why), "{}", doctor.stdout);
        assert_eq!(sandbox.idea_status(&id), "merging");
    }
}

#[test]
fn a_git_killed_once_before_a_hook_is_called_holds_nothing_up() {
    // The first call is that of the start, which refuses then.
    for nth in 2..=4 {
        let sandbox = Sandbox::ready();
        for name in ["pre-start", "pre-merge", "post-merge"] {
            hook(&sandbox, name, RECORDER);
        }
        let id = sandbox.idea("write a.txt hello; commit; say COMPLETE");
        let start = start_with_killed_git(&sandbox, "*' log '*.swarm/hooks*", Some(nth));
        let daemon = sandbox.spawn(start);
        sandbox.wait_idea(&id, "done");
        sandbox.wait_for("the last hook", || {
            (hooks_called(&sandbox).len() == 3).then_some(())
        });
        daemon.kill();
        // The runner of the last hook outlives the daemon by a moment.
        sandbox.assert_nothing_runs();
        let matched = fs::read_to_string(sandbox.path("out/matched")).unwrap();
        assert!(matched.lines().count() > nth as usize, "none was killed");
    }
}

#[test]
fn what_an_agent_made_of_a_hook_is_run_only_after_a_person_approved_it() {
    let sandbox = Sandbox::ready();
    hook(&sandbox, "post-merge", RECORDER);
    sandbox.commit("A hook");
    let evil = "printf '#!/bin/sh\\necho evil >> $HOME/../out/hooks\\n' > \
        .swarm/hooks/post-merge.sh; say COMPLETE";
    let first = sandbox.idea(evil);
    let second = sandbox.idea_with(WORK, &["--after", &first]);
    sandbox.run_until_idle();
    assert_eq!(sandbox.idea_status(&second), "done");
    assert!(
        sandbox.notes("hooks").is_empty(),
        "{:?}",
        sandbox.notes("hooks")
    );
    let warnings = sandbox.status()["warnings"].to_string();
    assert!(
        warnings.contains("swarm hooks approve post-merge"),
        "{warnings}"
    );
    assert!(warnings.contains(&first), "{warnings}");
    let refused = sandbox.swarm(&["hooks", "approve", "post-merge"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stdout.contains("+echo evil"), "{}", refused.stdout);
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    sandbox
        .swarm(&["hooks", "approve", "post-merge", "--yes"])
        .ok();
    let again = sandbox.swarm(&["hooks", "approve", "post-merge", "--yes"]);
    assert_eq!(again.code, 0, "{again}");
    assert!(
        again.stderr.contains("nothing to approve"),
        "{}",
        again.stderr
    );
    sandbox.idea(WORK);
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.notes("hooks"), ["evil"]);
}

#[test]
fn a_guard_that_an_agent_deletes_still_holds_until_a_person_says_so() {
    let sandbox = Sandbox::ready();
    hook(&sandbox, "pre-merge", RECORDER);
    sandbox.commit("A guard");
    let first = sandbox.idea("git rm -q .swarm/hooks/pre-merge.sh; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&first), "done");
    let second = sandbox.idea(WORK);
    assert_eq!(sandbox.run_until_idle(), 6);
    let status = sandbox.status().to_string();
    assert!(
        status.contains("was deleted by the landed work of"),
        "{status}"
    );
    sandbox
        .swarm(&["hooks", "approve", "pre-merge", "--yes"])
        .ok();
    sandbox.swarm(&["merge", "retry", &second]).ok();
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&second), "done");
}

#[test]
fn a_program_outside_of_the_repository_holds_up_nothing_but_its_step() {
    for program in ["../hook.sh", "/bin/true", "a/../../x", "-x", ":(top)x", "*"] {
        let sandbox = Sandbox::ready();
        sandbox.configure(&json!({"hooks": {"post-merge": program}}));
        let id = sandbox.idea(WORK);
        assert_eq!(sandbox.run_until_idle(), 0, "{program}");
        assert_eq!(sandbox.idea_status(&id), "done");
        let warnings = sandbox.status()["warnings"].to_string();
        assert!(warnings.contains("it is not run"), "{program}: {warnings}");
        let list = sandbox.swarm(&["hooks", "list", "--json"]).json();
        assert_eq!(list[0]["approved"], false, "{program}");
    }
}

#[test]
fn a_hook_can_be_tried_with_sample_data() {
    let sandbox = Sandbox::ready();
    hook(
        &sandbox,
        "post-complete",
        "#!/bin/sh\necho $SWARM_STATUS $EXTRA; cat; exit ${CODE:-0}\n",
    );
    let ran = sandbox.swarm(&[
        "hooks",
        "run",
        "post-complete",
        "--env",
        "SWARM_STATUS=failed",
        "--env",
        "EXTRA=more",
    ]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.starts_with("failed more\n"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("\"status\":\"failed\""),
        "{}",
        ran.stdout
    );
    let ran = sandbox.swarm(&["hooks", "run", "post-complete", "--env", "CODE=4", "--json"]);
    assert_eq!(ran.code, 1);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&document["how"], &document["well"]),
        (&json!("exit code 4"), &json!(false))
    );
    hook(
        &sandbox,
        "pre-merge",
        "#!/bin/sh\ngit log -1 --format=%H $SWARM_COMMIT_HASH; echo $SWARM_TARGET\n",
    );
    let ran = sandbox.swarm(&["hooks", "run", "pre-merge"]);
    let here = format!("{}\nmain\n", sandbox.head("main"));
    assert_eq!((ran.code, &ran.stdout), (0, &here), "{ran}");
    let none = sandbox.swarm(&["hooks", "run", "on-pause"]);
    assert_eq!(none.code, 1);
    assert!(none.stderr.contains("swarm hooks list"), "{}", none.stderr);
    assert_eq!(sandbox.swarm(&["hooks", "run", "on-lunch"]).code, 2);
}

#[test]
fn a_hook_that_comes_while_the_daemon_runs_is_called() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    hook(&sandbox, "on-pause", RECORDER);
    sandbox.wait_for("the hook to be known", || {
        let loaded = sandbox.logged("settingsLoaded").pop()?;
        loaded.data["settings"]["hooks"].get("on-pause").cloned()
    });
    sandbox.swarm(&["pause", "--reason", "lunch & more"]).ok();
    sandbox.wait_for("its call", || sandbox.logged("hookFinished").pop());
    assert_eq!(told(&sandbox, "on-pause")["data"]["reason"], "lunch & more");
    daemon.stop();
}

#[test]
fn a_call_outlives_its_daemon_and_is_made_again_when_it_died_too() {
    let sandbox = Sandbox::ready();
    let script = format!("{RECORDER}while [ ! -e $out/go ]; do sleep 0.05; done\n");
    hook(&sandbox, "post-merge", &script);
    sandbox.idea(WORK);
    let daemon = sandbox.start();
    let calls = |number: usize| {
        sandbox.wait_for("the call", || {
            (sandbox.notes("hooks").len() == number).then_some(())
        });
    };
    calls(1);
    daemon.kill();
    let daemon = sandbox.start();
    assert_eq!(sandbox.logged("hookStarted").len(), 1, "it is adopted");
    daemon.kill_everything();
    let daemon = sandbox.start();
    calls(2);
    let notes = sandbox.notes("hooks");
    assert_eq!(notes[0], notes[1], "the same event");
    fs::write(sandbox.path("out/go"), "").unwrap();
    sandbox.wait_for("its end", || sandbox.logged("hookFinished").pop());
    daemon.stop();
    assert_eq!(sandbox.logged("hookCutOff").len(), 1);
    sandbox.assert_log_sound();
}

#[test]
fn a_rollback_does_not_wait_for_a_hook_which_is_called_again_after_it() {
    let sandbox = Sandbox::ready();
    let waits = format!("{RECORDER}while [ ! -e $out/go ]; do sleep 0.05; done\n");
    hook(&sandbox, "post-merge", &waits);
    sandbox.swarm(&["checkpoint", "create", "one"]).ok();
    let before = sandbox.head("main");
    let id = sandbox.idea(WORK);
    let daemon = sandbox.start();
    sandbox.wait_for("the call", || sandbox.notes("hooks").pop());
    assert_ne!(sandbox.head("main"), before);
    sandbox.swarm(&["rollback", "one", "--yes", "--pause"]).ok();
    assert_eq!(sandbox.head("main"), before);
    assert_eq!(sandbox.idea_status(&id), "pending");
    fs::write(sandbox.path("out/go"), "").unwrap();
    sandbox.wait_for("its end", || {
        let ended = sandbox.logged("hookFinished");
        ended.into_iter().find(|event| event.data["well"] == true)
    });
    let notes = sandbox.notes("hooks");
    assert!(
        notes.len() > 1 && notes.iter().all(|note| *note == notes[0]),
        "{notes:?}"
    );
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn an_end_does_not_wait_for_a_hook_longer_than_its_grace_and_the_next_start_calls_it_again() {
    let sandbox = Sandbox::ready();
    hook(
        &sandbox,
        "post-merge",
        &format!("{RECORDER}trap '' TERM\n[ -e $out/go ] || sleep 1000\n"),
    );
    sandbox.idea(WORK);
    let daemon = sandbox.start();
    sandbox.wait_for("the call", || sandbox.notes("hooks").pop());
    daemon.stop();
    sandbox.assert_nothing_runs();
    fs::write(sandbox.path("out/go"), "").unwrap();
    assert_eq!(sandbox.run_until_idle(), 0);
    let notes = sandbox.notes("hooks");
    assert_eq!((notes.len(), &notes[0]), (2, &notes[1]));
}

/// Lets the merge of everything but the idea named in `forbidden` pass.
const GUARD: &str =
    "#!/bin/sh\necho guard >> ${HOME%/*}/out/hooks\n! grep -q \"^$SWARM_IDEA_ID$\" forbidden\n";

/// A repository whose guard lets the first idea pass and is against the second.
fn guarded() -> Sandbox {
    let sandbox = Sandbox::ready();
    hook(&sandbox, "pre-merge", GUARD);
    sandbox.write("forbidden", "idea-002\n");
    sandbox
}

/// The second idea does not land after what the first one did, and then by no more than what a
/// person approves.
fn assert_guarded(sandbox: &Sandbox, first: &str, word: &str) {
    sandbox.commit("A guard");
    let first = sandbox.idea(first);
    assert_eq!(sandbox.run_until_idle(), 0, "{word}");
    assert_eq!(sandbox.idea_status(&first), "done", "{word}");
    let second = sandbox.idea(WORK);
    assert_eq!(sandbox.run_until_idle(), 6, "{word}");
    assert_eq!(sandbox.idea_status(&second), "merging", "{word}");
    let status = sandbox.status().to_string();
    assert!(
        status.contains("swarm hooks approve pre-merge"),
        "{word}: {status}"
    );
    sandbox
        .swarm(&["hooks", "approve", "pre-merge", "--yes"])
        .ok();
    let again = sandbox.swarm(&["hooks", "approve", "pre-merge", "--yes"]);
    assert!(
        again.stderr.contains("nothing to approve") || again.stderr.contains("no hook"),
        "{word}: {}",
        again.stderr
    );
    sandbox.swarm(&["merge", "retry", &second]).ok();
    assert_eq!(sandbox.run_until_idle(), 0, "{word}");
    assert_eq!(sandbox.idea_status(&second), "done", "{word}");
}

/// A person's own file that says yes to everything.
fn yes(sandbox: &Sandbox, file: &str) {
    sandbox.write(file, "#!/bin/sh\n");
    mode(&sandbox.repo().join(file), 0o755);
}

#[test]
fn a_guard_behind_links_is_guarded_with_all_of_them() {
    // Each was a person's, and none of the files is an agent's.
    let sandbox = guarded();
    yes(&sandbox, "scripts/v2.sh");
    let guard = sandbox.dot_swarm("hooks/pre-merge.sh");
    fs::rename(&guard, sandbox.repo().join("scripts/v1.sh")).unwrap();
    symlink("v1.sh", sandbox.repo().join("scripts/guard.sh")).unwrap();
    symlink("../../scripts/guard.sh", guard).unwrap();
    assert_guarded(
        &sandbox,
        "ln -sfn v2.sh scripts/guard.sh; say COMPLETE",
        "a link between",
    );

    let sandbox = guarded();
    yes(&sandbox, "samples/guard.sh");
    let guard = sandbox.dot_swarm("hooks/pre-merge.sh");
    fs::create_dir(sandbox.repo().join("scripts")).unwrap();
    fs::rename(&guard, sandbox.repo().join("scripts/guard.sh")).unwrap();
    symlink("../../scripts/guard.sh", guard).unwrap();
    let other = "git rm -rq scripts; ln -s samples scripts; say COMPLETE";
    assert_guarded(&sandbox, other, "a folder that becomes a link");
}

#[test]
fn a_guard_in_a_folder_behind_a_link_is_not_lost_with_it() {
    for first in [
        "git rm -rq guards; say COMPLETE",
        "git rm -q .swarm/hooks; say COMPLETE",
        "ln -sfn ../others .swarm/hooks; say COMPLETE",
    ] {
        let sandbox = guarded();
        sandbox.write("others/README", "");
        let folder = sandbox.dot_swarm("hooks");
        fs::rename(&folder, sandbox.repo().join("guards")).unwrap();
        symlink("../guards", folder).unwrap();
        assert_guarded(&sandbox, first, first);
    }
}

#[test]
fn an_approval_is_of_one_landing_and_not_of_the_same_once_more() {
    for weaken in [
        "git rm -q .swarm/hooks/pre-merge.sh; say COMPLETE",
        "write .swarm/hooks/pre-merge.sh '#!/bin/sh'; say COMPLETE",
    ] {
        let sandbox = guarded();
        sandbox.write("forbidden", "idea-003\n");
        sandbox.commit("A guard");
        sandbox.idea(weaken);
        assert_eq!(sandbox.run_until_idle(), 0);
        sandbox
            .swarm(&["hooks", "approve", "pre-merge", "--yes"])
            .ok();
        // The person thinks better of it, and an agent does it again.
        hook(&sandbox, "pre-merge", GUARD);
        sandbox.commit("The guard again");
        sandbox.idea(weaken);
        assert_eq!(sandbox.run_until_idle(), 0);
        let third = sandbox.idea(WORK);
        assert_eq!(sandbox.run_until_idle(), 6, "{weaken}");
        assert_eq!(sandbox.idea_status(&third), "merging");
    }
}

#[test]
fn merges_that_wait_for_an_approval_go_on_with_it() {
    for weaken in [
        "git rm -q .swarm/hooks/pre-merge.sh; say COMPLETE",
        "write .swarm/hooks/pre-merge.sh '#!/bin/sh'; say COMPLETE",
    ] {
        let sandbox = guarded();
        sandbox.commit("A guard");
        sandbox.idea(weaken);
        assert_eq!(sandbox.run_until_idle(), 0);
        let daemon = sandbox.start();
        let waiting = [sandbox.idea(WORK), sandbox.idea(WORK)];
        sandbox.wait_status("both merges to wait", |status| {
            let needs = status["needsYou"].as_array().unwrap();
            let approve =
                |need: &&serde_json::Value| need["commands"][0] == "swarm hooks approve pre-merge";
            needs.iter().filter(approve).count() == 2
        });
        let approved = sandbox.swarm(&["hooks", "approve", "pre-merge", "--yes"]);
        approved.ok();
        for id in &waiting {
            let words = format!("the merge of {id} was waiting for this and continues");
            assert!(approved.stderr.contains(&words), "{approved}");
            sandbox.wait_idea(id, "done");
        }
        daemon.stop();
        sandbox.assert_log_sound();
    }
}

#[test]
fn a_hook_that_is_tried_ends_with_the_trial() {
    use nix::sys::signal::{Signal, kill};
    for signal in [
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGKILL,
    ] {
        let sandbox = Sandbox::ready();
        let hang = "#!/bin/sh\necho on >> ${HOME%/*}/out/hooks\nsetsid sleep 1000 &\nsleep 1000\n";
        hook(&sandbox, "on-pause", hang);
        let mut trial = sandbox
            .swarm_command(&["hooks", "run", "on-pause"])
            .spawn()
            .unwrap();
        sandbox.wait_for("the hook", || sandbox.notes("hooks").pop());
        let pid = nix::unistd::Pid::from_raw(trial.id().cast_signed());
        kill(pid, signal).unwrap();
        let end = trial.wait().unwrap();
        if signal != Signal::SIGKILL {
            assert_eq!(end.code(), Some(130), "{signal}");
            assert!(sandbox.processes().is_empty(), "{signal}");
            let left = fs::read_dir(sandbox.path("tmp")).unwrap().count();
            assert_eq!(left, 0, "{signal}");
        }
        sandbox.wait_for("its end", || sandbox.processes().is_empty().then_some(()));
    }
}

#[test]
fn a_hook_that_ends_its_runner_is_called_three_times_and_no_more() {
    let sandbox = Sandbox::ready();
    let ends = "#!/bin/sh\necho on >> ${HOME%/*}/out/hooks\nkill -TERM $PPID\nsleep 1000\n";
    hook(&sandbox, "pre-merge", ends);
    let id = sandbox.idea(WORK);
    assert_eq!(sandbox.run_until_idle(), 6);
    assert_eq!(sandbox.idea_status(&id), "merging");
    assert_eq!(sandbox.notes("hooks").len(), 3);
}

#[test]
fn a_hook_that_stops_its_runner_gains_no_time() {
    let sandbox = Sandbox::ready();
    let stops = "#!/bin/sh\necho on >> ${HOME%/*}/out/hooks\nkill -STOP $PPID\nsleep 1000\n";
    hook(&sandbox, "post-merge", stops);
    let program = ".swarm/hooks/post-merge.sh";
    let limited = json!({"hooks": {"post-merge": {"run": program, "timeoutSeconds": 1}}});
    sandbox.configure(&limited);
    sandbox.idea(WORK);
    let daemon = sandbox.start();
    sandbox.wait_for("its end", || sandbox.logged("hookTimedOut").pop());
    sandbox.configure(&json!({"hooks": {"post-merge": program}}));
    sandbox.idea(WORK);
    sandbox.wait_for("the next call", || {
        (sandbox.notes("hooks").len() == 2).then_some(())
    });
    daemon.stop();
    sandbox.assert_nothing_runs();
}

#[test]
fn a_hook_with_crlf_line_ends_is_named_before_it_is_called() {
    let sandbox = Sandbox::ready();
    hook(&sandbox, "pre-merge", "#!/bin/sh\r\nexit 0\r\n");
    let way_out = "sed -i 's/\\r$//' .swarm/hooks/pre-merge.sh";
    for command in [["hooks", "list"].as_slice(), &["doctor"]] {
        let said = sandbox.swarm(command).stdout;
        assert!(said.contains("CRLF") && said.contains(way_out), "{said}");
    }
    let id = sandbox.idea(WORK);
    assert_eq!(sandbox.run_until_idle(), 6);
    assert_eq!(sandbox.idea_status(&id), "merging");
    let status = sandbox.swarm(&["status"]).stdout;
    assert!(status.contains(way_out), "{status}");
}
