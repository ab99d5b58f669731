//! Odd names: what people and agents may write lands as it was written.

use serde_json::json;

use crate::harness::Sandbox;

#[test]
fn an_idea_keeps_its_text_byte_for_byte() {
    let sandbox = Sandbox::ready();
    for text in [
        "plain",
        "with \"quotes\" and 'others' and `ticks` and $(not run)",
        "two\nlines\n\n\ttabbed",
        "grüße, 日本語, \u{1f41d}, a\u{0301}",
        "back\\slash \\n not a line end",
    ] {
        let id = sandbox.swarm(&["idea", "add", text]).ok().trim().to_owned();
        assert_eq!(sandbox.show(&id)["content"], text);
        let fed = sandbox.swarm_fed(&["idea", "add", "-"], text.as_bytes());
        assert_eq!(sandbox.show(fed.ok().trim())["content"], text);
    }
    let dashed = sandbox.swarm(&["idea", "add", "--", "--tag is part of the text"]);
    assert_eq!(
        sandbox.show(dashed.ok().trim())["content"],
        "--tag is part of the text"
    );
    sandbox.swarm(&["idea", "list"]).ok();
    sandbox.assert_nothing_runs();
}

#[test]
fn terminal_control_sequences_of_an_idea_do_not_reach_the_terminal() {
    let sandbox = Sandbox::ready();
    let text = "red \u{1b}[31m alert \u{7} \u{202e}gnihtemos";
    let id = sandbox.swarm(&["idea", "add", text]).ok().trim().to_owned();
    for args in [
        &["idea", "list"][..],
        &["idea", "show", &id],
        &["status"],
        &["events"],
    ] {
        let shown = sandbox.swarm(args);
        for bad in ['\u{1b}', '\u{7}', '\u{202e}'] {
            assert!(!shown.ok().contains(bad), "{bad:?} in {shown}");
        }
    }
}

#[test]
fn a_target_branch_may_have_an_unusual_name() {
    let branch = "feature/ünï+x@y-1.0";
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", branch]);
    sandbox
        .swarm(&["init", "--yes", "--agent", "command", "--target", branch])
        .ok();
    let config: serde_json::Value =
        serde_json::from_str(&sandbox.read(".swarm/config.json")).unwrap();
    assert_eq!(config["target"], branch);
    sandbox.configure(&json!({"target": branch}));
    let main = sandbox.head("main");
    sandbox.idea("write a.txt hello; commit; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.landings(&main, branch).len(), 1);
    assert_eq!(sandbox.head("main"), main, "main is not the target");
    assert_eq!(sandbox.file_at(branch, "a.txt"), "hello");
    sandbox.assert_repository_clean();
}

#[test]
fn odd_file_names_of_agents_land_intact() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"qualityCommands": ["true"]}));
    // One agent commits its files, the other leaves them to swarm.
    let files = |dir: &str| {
        format!(
            "mkdir {dir}; cd {dir}; printf 1 >'a b'; printf 2 >\"$(printf 'new\\nline')\"; printf \
            3 >\"$(printf 'bad\\377utf8')\"; printf 4 >./-dash; printf 5 >'quo\"te'; printf 6 \
            >'grün'; cd .."
        )
    };
    sandbox.idea(&format!("{}; commit; say COMPLETE", files("committed")));
    sandbox.idea(&format!("{}; say COMPLETE", files("left")));
    assert_eq!(sandbox.run_until_idle(), 0);
    for dir in ["committed", "left"] {
        for (name, content) in [
            ("a b".into(), "1"),
            ("new\nline".into(), "2"),
            (raw_name(b"bad\xffutf8"), "3"),
            ("-dash".into(), "4"),
            ("quo\"te".into(), "5"),
            ("grün".into(), "6"),
        ] {
            let path = sandbox.repo().join(dir).join(&name);
            let found = std::fs::read(&path).unwrap_or_else(|e| panic!("{dir}/{name:?}: {e}"));
            assert_eq!(found, content.as_bytes(), "{dir}/{name:?}");
        }
    }
    sandbox.assert_repository_clean();
}

/// A name that is not UTF-8.
fn raw_name(bytes: &[u8]) -> std::ffi::OsString {
    use std::os::unix::ffi::OsStrExt as _;
    std::ffi::OsStr::from_bytes(bytes).to_owned()
}
