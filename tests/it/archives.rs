//! Archives: `swarm snapshot export`, `verify`, and `show` and `diff` with a file.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::harness::Sandbox;

/// One idea that landed, and one that waits.
fn with_work() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_idea("idea-001", "done");
    daemon.stop();
    drop(daemon);
    sandbox.idea("write b.txt y; say COMPLETE");
    sandbox
}

fn export(sandbox: &Sandbox, args: &[&str]) -> Value {
    let mut words = vec!["snapshot", "export", "--json"];
    words.extend(args);
    sandbox.swarm(&words).json()
}

fn last_seq(sandbox: &Sandbox) -> u64 {
    sandbox.swarm(&["replay", "--json"]).json()["seq"]
        .as_u64()
        .unwrap()
}

#[test]
fn an_archive_has_the_state_at_its_checkpoint_and_is_verified() {
    let sandbox = with_work();
    let made = export(&sandbox, &["night.swarm.tar.zst"]);
    let path = sandbox.repo().join("night.swarm.tar.zst");
    let permissions = fs::metadata(&path).unwrap().permissions();
    assert_eq!(permissions.mode() & 0o777, 0o600);
    assert_eq!(made["purpose"], "copy");
    assert_eq!(made["checkpoints"], 1, "{made}");
    assert!(made["refs"].as_u64().unwrap() >= 2, "{made}");
    assert!(!sandbox.repo().join("night.swarm.tar.zst.part").exists());
    assert!(!sandbox.dot_swarm("state/export").exists());
    let checked = sandbox.swarm(&["snapshot", "verify", "night.swarm.tar.zst", "--json"]);
    assert_eq!(checked.json(), made);
    let seq = made["seq"].as_u64().unwrap().to_string();
    let words = [
        "snapshot",
        "diff",
        "night.swarm.tar.zst",
        &seq,
        "--exit-code",
    ];
    assert!(sandbox.swarm(&words).ok().contains("no differences"));
    let shown = sandbox.swarm(&["snapshot", "show", "night.swarm.tar.zst", "--json"]);
    let ideas = &shown.json()["sections"]["ideas"];
    assert_eq!(ideas.as_object().unwrap().len(), 2, "{ideas}");
}

#[test]
fn the_same_state_gives_the_same_bytes_and_no_file_is_replaced() {
    let sandbox = with_work();
    let seq = last_seq(&sandbox).to_string();
    for name in ["one.tar.zst", "two.tar.zst"] {
        export(&sandbox, &[name, "--at", &seq]);
    }
    let [one, two] = ["one.tar.zst", "two.tar.zst"].map(|name| fs::read(sandbox.repo().join(name)));
    let one = one.unwrap();
    assert_eq!(one, two.unwrap());
    assert_eq!(last_seq(&sandbox).to_string(), seq, "--at changes nothing");
    let again = sandbox.swarm(&["snapshot", "export", "one.tar.zst", "--at", &seq]);
    again.refused(1, &["already there", "choose another name"]);
    assert_eq!(fs::read(sandbox.repo().join("one.tar.zst")).unwrap(), one);
}

#[test]
fn an_archive_never_has_the_environment_of_agents() {
    let sandbox = with_work();
    export(&sandbox, &["night.tar.zst"]);
    let file = fs::File::open(sandbox.repo().join("night.tar.zst")).unwrap();
    let into = sandbox.path("unpacked");
    let staged = swarm::archive::stage(file, &into, swarm::archive::Limits::default()).unwrap();
    for entry in &staged.manifest.files {
        assert!(!entry.path.ends_with("env.json"), "{}", entry.path);
        assert!(!entry.path.contains("config"), "{}", entry.path);
        assert!(!entry.path.contains("token"), "{}", entry.path);
    }
    let log = fs::read(into.join("events/events.jsonl")).unwrap();
    let whole = fs::read(sandbox.dot_swarm("state/events.jsonl")).unwrap();
    assert!(whole.starts_with(&log), "byte for byte");
    let bundle = into.join("git/work.bundle");
    let heads = sandbox.git(&["bundle", "list-heads", bundle.to_str().unwrap()]);
    let listed = staged.manifest.git.unwrap();
    assert_eq!(heads.lines().count(), listed.refs.len(), "{heads}");
    for (name, commit) in &listed.refs {
        assert!(heads.contains(&format!("{commit} {name}")), "{name}");
    }
    assert_eq!(listed.refs["refs/heads/main"], sandbox.head("main"));
    assert_eq!(listed.roots.len(), 1);
    sandbox.git(&["bundle", "verify", "-q", bundle.to_str().unwrap()]);
}

#[test]
fn an_archive_to_share_has_no_secrets_and_can_be_compared() {
    let sandbox = with_work();
    let token = format!("ghp_{}", "aB3dE6gH9jK2".repeat(3));
    let key = format!("AKIA{}", "ABCDEFGH".repeat(2));
    sandbox.idea(&format!("write c.txt {token} {token}; say COMPLETE"));
    sandbox.idea(&format!("write d.txt {key} {key}; say COMPLETE"));
    let made = export(&sandbox, &["report.tar.zst", "--share"]);
    assert_eq!(made["purpose"], "share");
    assert_eq!(made["refs"], 0);
    let found = made["redactions"].as_array().unwrap();
    for rule in ["github-token", "aws-access-key"] {
        let of_rule = found.iter().filter(|one| one["rule"] == rule);
        assert!(of_rule.count() > 0, "{rule}: {made}");
    }
    let file = fs::File::open(sandbox.repo().join("report.tar.zst")).unwrap();
    let into = sandbox.path("unpacked");
    swarm::archive::stage(file, &into, swarm::archive::Limits::default()).unwrap();
    for name in ["snapshot.json", "events/events.jsonl", "manifest.json"] {
        let text = fs::read_to_string(into.join(name)).unwrap();
        assert!(!text.contains(&token) && !text.contains(&key), "{name}");
    }
    assert!(!into.join("git").exists() && !into.join("runs").exists());
    sandbox
        .swarm(&["snapshot", "verify", "report.tar.zst"])
        .ok();
    let words = ["snapshot", "diff", "report.tar.zst", "now", "--json"];
    let differs = sandbox.swarm(&words).json();
    assert_eq!(
        differs["sections"]["ideas"]["changed"]
            .as_object()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn a_shallow_clone_is_not_exported_and_no_checkpoint_is_left() {
    let sandbox = with_work();
    let first = sandbox.git(&["rev-list", "--max-parents=0", "main"]);
    let shallow = sandbox.repo().join(".git/shallow");
    fs::write(&shallow, first).unwrap();
    sandbox
        .swarm(&["snapshot", "export", "night.swarm.tar.zst"])
        .refused(1, &["git fetch --unshallow"]);
    let list = sandbox.swarm(&["checkpoint", "list", "--json"]).json();
    assert!(!list.to_string().contains("\"export-"), "{list}");
    fs::remove_file(shallow).unwrap();
    export(&sandbox, &["night.swarm.tar.zst"]);
}

#[test]
fn a_damaged_archive_is_refused_with_the_next_command() {
    let sandbox = with_work();
    export(&sandbox, &["night.tar.zst"]);
    let path = sandbox.repo().join("night.tar.zst");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let refused = sandbox.swarm(&["snapshot", "verify", "night.tar.zst"]);
    refused.refused(1, &["archive", "swarm snapshot export FILE.swarm.tar.zst"]);
    fs::write(&path, &bytes[..middle]).unwrap();
    let refused = sandbox.swarm(&["snapshot", "verify", "night.tar.zst"]);
    refused.refused(1, &["the archive is not complete"]);
}

#[test]
fn a_killed_export_leaves_no_archive_and_the_next_one_works() {
    for label in ["export.part", "export.before-rename"] {
        let sandbox = with_work();
        let seq = last_seq(&sandbox).to_string();
        let words = ["snapshot", "export", "night.tar.zst", "--at", &seq];
        let mut command = sandbox.swarm_command(&words);
        let killed = command.env("SWARM_CRASH_POINT", label).output().unwrap();
        assert!(!killed.status.success(), "{label}");
        assert!(!sandbox.repo().join("night.tar.zst").exists(), "{label}");
        assert!(
            sandbox.repo().join("night.tar.zst.part").exists(),
            "{label}"
        );
        sandbox.swarm(&words).ok();
        sandbox.swarm(&["snapshot", "verify", "night.tar.zst"]).ok();
        assert!(
            !sandbox.repo().join("night.tar.zst.part").exists(),
            "{label}"
        );
        assert!(!sandbox.dot_swarm("state/export").exists(), "{label}");
    }
}
