//! What is said to whoever comes back in the morning: `swarm report`, and the end of `start
//! --until-idle`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::harness::{PATIENCE, Ran, Sandbox};

/// A made-up `claude`: does what the idea says, then tells its last word and what that cost.
const CLAUDE: &str = r#"#!/bin/sh
case "$*" in *--version*) echo '99.1.2 (Claude Code)'; exit ;; esac
word=
say() { word="<swarm>$*</swarm>"; }
hold() { : >"$OUT/$1.here"; while [ ! -e "$OUT/$1.go" ]; do sleep 0.05; done; }
# In a conversation that goes on the prompt has only what is new.
if grep -q '^DO: ' "$SWARM_PROMPT_FILE"; then eval "$(sed -n 's/^DO: //p' "$SWARM_PROMPT_FILE")"; else hold stuck; fi
session=11111111-1111-4111-8111-111111111111
usage='{"input_tokens":1200,"cache_read_input_tokens":800,"cache_creation_input_tokens":0,"output_tokens":100}'
printf '{"type":"system","subtype":"init","session_id":"%s","model":"m"}\n' $session
printf '{"type":"assistant","message":{"id":"m1","role":"assistant","model":"m","content":[{"type":"text","text":"At work. %s"}],"usage":%s},"parent_tool_use_id":null,"session_id":"%s"}\n' "$word" "$usage" $session
printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","session_id":"%s","total_cost_usd":0.25,"usage":%s,"modelUsage":{"m":{"inputTokens":1200,"outputTokens":100,"cacheReadInputTokens":800,"cacheCreationInputTokens":0,"costUSD":0.25}}}\n' "$word" $session "$usage"
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::ready();
    let program = sandbox.path("claude");
    fs::write(&program, CLAUDE).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let profile = json!({"adapter": "claude", "command": [program],
        "env": {"OUT": sandbox.path("out"), "ANTHROPIC_API_KEY": "k"}});
    sandbox.configure(&json!({
        "agents": {"profile": "cl", "profiles": {"cl": profile}},
        "completion": {"stuckThreshold": 1},
    }));
    sandbox
}

/// One landed, one blocked with words that are no markup, one waits for it, one goes on without a
/// commit.
fn some_of_each(sandbox: &Sandbox) {
    let landed = sandbox.idea("echo x >landed.txt; say COMPLETE");
    sandbox.idea("say 'BLOCKED:*why* <b>not</b>'");
    sandbox.idea_with("say COMPLETE", &["--after", "idea-002"]);
    sandbox.wait_idea(&landed, "done");
    sandbox.wait_idea("idea-002", "blocked");
    sandbox.idea("echo half done >draft.txt");
    sandbox.wait_held("stuck");
}

fn report(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let all: Vec<&str> = ["report"].iter().chain(args).copied().collect();
    sandbox.swarm(&all)
}

fn ids<'a>(report: &'a Value, key: &str) -> Vec<&'a str> {
    let all = report[key].as_array().unwrap().iter();
    all.map(|one| one["id"].as_str().unwrap()).collect()
}

/// Times and commits are other ones each time.
fn masked(text: &str) -> String {
    let word = |word: &str| {
        let digit = word.starts_with(|first: char| first.is_ascii_digit());
        let commit = word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let masked = match (word.len(), word.as_bytes()) {
            (10, bytes) if digit && bytes[4] == b'-' => "DATE",
            (8, bytes) if digit && bytes[2] == b':' => "TIME",
            (10, _) if commit => "COMMIT",
            _ => word,
        };
        masked.to_owned()
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(|one| without_ages(&line(one))).collect();
    lines.join("\n")
}

/// `just now` and `3 s ago` become `AGO`, `in 3 s` becomes `in SPAN`.
pub fn without_ages(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    for at in 0..words.len() {
        let is_number = !words[at].is_empty() && words[at].bytes().all(|b| b.is_ascii_digit());
        if is_number && words[at + 1..].starts_with(&["s", "ago"]) {
            words.splice(at..at + 3, ["AGO"]);
        } else if is_number && at > 0 && words[at - 1] == "in" && words[at + 1..] == ["s"] {
            words.splice(at..at + 2, ["SPAN"]);
        }
        if at + 1 >= words.len() {
            break;
        }
    }
    words.join(" ").replace("just now", "AGO")
}

#[test]
fn the_list_of_ideas_shows_open_ones_first_with_their_cost() {
    let sandbox = sandbox();
    let daemon = sandbox.start();
    some_of_each(&sandbox);
    insta::assert_snapshot!(sandbox.swarm(&["idea", "list"]).ok(), @r"
    ID        STATUS   COST   TITLE                 AFTER
    idea-004  active   $0.25  An idea of the test…
    idea-002  blocked  $0.25  An idea of the test…
    idea-003  pending         An idea of the test…  idea-002
    idea-001  done     $0.25  An idea of the test…
    ");
    sandbox.swarm(&["agent", "stop", "cl-003"]).ok();
    daemon.stop();
}

#[test]
fn it_says_what_landed_failed_waits_is_stuck_and_was_spent() {
    let sandbox = sandbox();
    let daemon = sandbox.start();
    some_of_each(&sandbox);

    insta::assert_snapshot!(masked(report(&sandbox, &[]).ok()), @r"
    So far: 1 landed, 1 blocked, 2 unfinished

    Landed
      AGO  idea-001  done  COMMIT  An idea of the test… ($0.25; tokens: 1200 in, 800 cached, 100 out)

    Did not land
      AGO  idea-002  blocked  An idea of the test… ($0.25; tokens: 1200 in, 800 cached, 100 out)

    Unfinished
      AGO  idea-003  pending  An idea of the test…: waits for idea-002
      AGO  idea-004  active  An idea of the test… ($0.25; tokens: 1200 in, 800 cached, 100 out)

    Stuck
      AGO  cl-003 has made no commit on idea-004 for 1 or more iterations
          swarm agent logs cl-003

    Warnings
      no quality command is configured, so swarm checks nothing before work lands; add your project's commands to qualityCommands in .swarm/config.json

    Needs you
      ! idea-002 is blocked: *why* <b>not</b>
          swarm idea retry idea-002
          swarm idea cancel idea-002

    Spent
      $0.75; tokens: 3600 in, 2400 cached, 300 out
    ");
    insta::assert_snapshot!(masked(report(&sandbox, &["--markdown"]).ok()), @r"
    # So far: 1 landed, 1 blocked, 2 unfinished

    ## Landed

    - DATE TIME  idea-001  done  COMMIT  An idea of the test… ($0.25; tokens: 1200 in, 800 cached, 100 out)

    ## Did not land

    - DATE TIME  idea-002  blocked  An idea of the test… ($0.25; tokens: 1200 in, 800 cached, 100 out)

    ## Unfinished

    - DATE TIME  idea-003  pending  An idea of the test…: waits for idea-002
    - DATE TIME  idea-004  active  An idea of the test… ($0.25; tokens: 1200 in, 800 cached, 100 out)

    ## Stuck

    - DATE TIME  cl-003 has made no commit on idea-004 for 1 or more iterations: `swarm agent logs cl-003`

    ## Warnings

    - no quality command is configured, so swarm checks nothing before work lands; add your project's commands to qualityCommands in .swarm/config.json

    ## Needs you

    - idea-002 is blocked: \*why\* \<b\>not\</b\>: `swarm idea retry idea-002` or `swarm idea cancel idea-002`

    ## Spent

    $0.75; tokens: 3600 in, 2400 cached, 300 out
    ");

    let seen = report(&sandbox, &["--json"]).json();
    assert_eq!(seen["since"], Value::Null);
    assert_eq!(ids(&seen, "landed"), ["idea-001"]);
    assert_eq!(ids(&seen, "failed"), ["idea-002"]);
    assert_eq!(ids(&seen, "waiting"), ["idea-003", "idea-004"]);
    assert_eq!(seen["stuck"][0]["ideaId"], "idea-004");
    assert_eq!(seen["landed"][0]["commit"], sandbox.head("main"));
    assert_eq!(seen["failed"][0]["reason"], "*why* <b>not</b>");
    assert_eq!(seen["waiting"][0]["reason"], "waits for idea-002");
    assert_eq!(seen["waiting"][1].get("reason"), None);
    assert_eq!(seen["accounts"], json!([]));
    assert_eq!(seen["needsYou"][0]["ideaId"], "idea-002");
    // Three iterations have told what they used; the one that is held has not.
    let spent = &seen["used"];
    assert_eq!(spent["usd"], 0.75);
    assert_eq!(spent["runs"], 3);
    assert_eq!(
        spent["tokens"],
        json!({"input": 3600, "cached": 2400, "cacheWritten": 0, "output": 300})
    );
    assert_eq!(seen["landed"][0]["used"]["usd"], 0.25);

    sandbox.swarm(&["agent", "stop", "cl-003"]).ok();
    daemon.stop();
    // Without a daemon the same is known.
    let later = report(&sandbox, &["--json"]).json();
    for key in ["landed", "failed", "needsYou", "accounts"] {
        assert_eq!(later[key], seen[key], "{key}");
    }
    assert_eq!(ids(&later, "waiting"), ids(&seen, "waiting"));
    assert_eq!(later["stuck"], json!([]));
    assert_eq!(later["used"]["usd"], 0.75);
}

#[test]
fn since_is_a_time_a_span_or_the_last_report() {
    let sandbox = sandbox();
    sandbox.idea("echo x >a.txt; say COMPLETE");
    sandbox.run_until_idle();
    let landed = |args: &[&str]| {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let seen = report(&sandbox, &args).json();
        (ids(&seen, "landed").len(), seen["used"]["usd"].as_f64())
    };
    let (all, none) = ((1, Some(0.25)), (0, Some(0.0)));
    // There has been no last one.
    assert_eq!(landed(&["--since", "last"]), all);
    assert_eq!(landed(&["--since", "last"]), none);
    for since in [
        "12h",
        "2d",
        "1 h 30 min",
        "2020-01-31",
        "2020-01-31 22:00",
        "2020-01-31T22:00:00Z",
    ] {
        assert_eq!(landed(&["--since", since]), all, "{since}");
    }
    for since in ["0s", "2999-01-31", "2999-01-31T22:00:00+02:00"] {
        assert_eq!(landed(&["--since", since]), none, "{since}");
    }
    // What happened at the very time is told.
    let seen = report(&sandbox, &["--json"]).json();
    let at = seen["landed"][0]["at"].as_str().unwrap();
    assert_eq!(landed(&["--since", at]).0, 1);
    assert_eq!(
        report(&sandbox, &["--json", "--since", at]).json()["since"],
        at
    );

    sandbox.idea("echo x >b.txt; say COMPLETE");
    sandbox.run_until_idle();
    assert_eq!(landed(&["--since", "last"]), all);
    for wrong in ["yesterday", "12", "", "2020-13-01", "1 month"] {
        report(&sandbox, &["--since", wrong])
            .refused(2, &[&format!("`{wrong}` is not a time"), "12h"]);
    }
    report(&sandbox, &["--since"]).refused(2, &["--since"]);
    report(&sandbox, &["--json", "--markdown"]).refused(2, &["--markdown"]);
    // A report that was refused is none.
    assert_eq!(landed(&["--since", "last"]), none);
    let remembered = sandbox.dot_swarm("state/report.json");
    fs::write(&remembered, "{").unwrap();
    report(&sandbox, &["--since", "last"]).refused(1, &["report.json", "--since 12h"]);
    // Any other one mends it.
    assert_eq!(landed(&[]).0, 2);
    assert_eq!(landed(&["--since", "last"]), none);
}

#[test]
fn where_nothing_ever_ran_nothing_is_told_and_nothing_is_written() {
    let sandbox = Sandbox::ready();
    let seen = report(&sandbox, &[]);
    assert_eq!(
        seen.ok(),
        "So far: 0 landed, 0 unfinished\n\nSpent\n  no usage reported yet\n"
    );
    let other = Sandbox::new();
    let refused = report(&other, &[]);
    refused.refused(1, &["swarm init"]);
}

#[test]
fn the_end_of_a_start_until_idle_tells_the_same_of_its_own_time() {
    let sandbox = sandbox();
    sandbox.idea("echo x >a.txt; say COMPLETE");
    let told = sandbox.swarm(&["start", "--until-idle"]);
    insta::assert_snapshot!(masked(told.ok()), @r"
    landed 1 idea in SPAN
      idea-001  COMMIT  An idea of the test…
    warning: no quality command is configured, so swarm checks nothing before work lands; add your project's commands to qualityCommands in .swarm/config.json
    spent: $0.25; tokens: 1200 in, 800 cached, 100 out
    ");
    sandbox.idea("say BLOCKED:no");
    sandbox.idea_with("say COMPLETE", &["--after", "idea-002"]);
    let told = sandbox.run(
        &mut sandbox.swarm_command(&["start", "--until-idle", "--json"]),
        b"",
        PATIENCE,
    );
    assert_eq!(told.code, 5, "{told}");
    let last: Value = serde_json::from_str(told.stdout.lines().next_back().unwrap()).unwrap();
    let summary = &last["summary"];
    assert_eq!(summary["landed"], json!([]), "{summary:#}");
    assert_eq!(ids(summary, "failed"), ["idea-002"]);
    assert_eq!(ids(summary, "waiting"), ["idea-003"]);
    assert_eq!(summary["stuck"], json!([]));
    assert_eq!(summary["used"]["usd"], 0.25);
    assert_eq!(summary["needsYou"][0]["ideaId"], "idea-002");
    let since = summary["since"].as_str().unwrap();
    let seen = report(&sandbox, &["--json", "--since", since]).json();
    assert_eq!(ids(&seen, "failed"), ["idea-002"]);
    assert_eq!(ids(&seen, "landed"), Vec::<&str>::new());
    assert_eq!(seen["used"], summary["used"]);
}

#[test]
fn an_idea_whose_agent_said_complete_and_changed_nothing_is_blocked_with_that_reason() {
    let sandbox = Sandbox::ready();
    sandbox.idea("cp \"$SWARM_PROMPT_FILE\" $OUT/prompt; echo '<swarm>COMPLETE</swarm>'");
    assert_eq!(sandbox.swarm(&["start", "--until-idle"]).code, 5);
    let prompt = fs::read_to_string(sandbox.path("out").join("prompt")).unwrap();
    assert!(
        prompt.contains("You said it was done and changed nothing"),
        "{prompt}"
    );
    let seen = report(&sandbox, &["--json"]).json();
    assert_eq!(ids(&seen, "failed"), ["idea-001"]);
    let why = seen["failed"][0]["reason"].as_str().unwrap();
    assert!(
        why.contains("said it was done and changed nothing"),
        "{why}"
    );
    assert_eq!(sandbox.notes("runs").len(), 2);
}

/// In milliseconds by mistake, it would be a year of five digits.
#[test]
fn a_limit_that_is_reset_in_an_impossible_year_leaves_a_log_that_can_be_read() {
    let sandbox = sandbox();
    let limit = r#"printf '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795226799999}}\n{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"limit","session_id":"11111111-1111-4111-8111-111111111111"}\n'; exit 1"#;
    sandbox.idea(limit);
    let daemon = sandbox.start();
    let held = || {
        sandbox.status()["accounts"][0]["until"]
            .as_str()
            .map(str::to_owned)
    };
    let until = sandbox.wait_for("the account to be held", held);
    assert_eq!(until.len(), "2026-11-21T02:06:39.999Z".len(), "{until}");
    assert!(until.starts_with("20"), "{until}");
    daemon.stop();
    let daemon = sandbox.start();
    assert_eq!(held(), Some(until));
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn a_hook_that_failed_in_the_night_is_told_in_the_morning() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"hooks": {"post-merge": "echo no route to the server; exit 7"}}));
    sandbox.idea("write a.txt x; say COMPLETE");
    let ended = sandbox.swarm(&["start", "--until-idle"]);
    assert_eq!(ended.code, 0, "{ended}");
    let pages = [
        ended.stdout,
        sandbox.swarm(&["report"]).ok().to_owned(),
        sandbox.swarm(&["report", "--markdown"]).ok().to_owned(),
        sandbox.swarm(&["report", "--json"]).json()["warnings"].to_string(),
    ];
    for page in pages {
        assert!(page.contains("post-merge"), "{page}");
    }
}
