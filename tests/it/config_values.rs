//! `swarm config get` and `config set`, and the person's own file for all repositories.

use std::fs;

use crate::harness::Sandbox;

const OWN: &str = "~/.config/swarm/config.json";

#[test]
fn values_are_set_in_the_file_that_is_meant() {
    let sandbox = Sandbox::ready();
    let before = sandbox.read(".swarm/config.json");
    sandbox
        .swarm(&["config", "set", "agents.timeoutMinutes", "45"])
        .ok();
    let after = sandbox.read(".swarm/config.json");
    assert!(after.contains("\"timeoutMinutes\": 45"), "{after}");
    let lines = before.lines().map(|line| line.trim_end_matches(','));
    for line in lines {
        assert!(after.contains(line), "{line}: {after}");
    }
    sandbox
        .swarm(&["config", "set", "--local", "mode", "semi-auto"])
        .ok();
    let local = sandbox.read(".swarm/config.local.json");
    assert_eq!(local, "{\n  \"mode\": \"semi-auto\"\n}\n");
    let own = sandbox.swarm(&["config", "set", "--user", "agents.failuresToPause", "7"]);
    assert!(own.ok().is_empty() && own.stderr.contains(OWN), "{own}");
    // A stronger source is named.
    let weaker = sandbox.swarm(&["config", "set", "--user", "mode", "autopilot"]);
    weaker.ok();
    assert!(
        weaker.stderr.contains("no effect here: config.local.json"),
        "{weaker}"
    );
    for (key, value, origin) in [
        ("agents.timeoutMinutes", "45", "config.json"),
        ("mode", "semi-auto", "config.local.json"),
        ("agents.failuresToPause", "7", OWN),
        ("shutdown.graceSeconds", "1", "config.json"),
        ("merge.verify", "true", "default"),
    ] {
        let got = sandbox.swarm(&["config", "get", key, "-v"]);
        assert_eq!(got.ok().trim(), value, "{got}");
        assert_eq!(got.stderr.trim(), format!("from {origin}"), "{got}");
        let got = sandbox.swarm(&["config", "get", key, "--json"]).json();
        assert_eq!(
            (&got["key"], &got["origin"]),
            (&key.into(), &origin.into()),
            "{got}"
        );
    }
    let shown = sandbox.swarm(&["config", "show"]);
    assert!(shown.ok().contains(OWN), "{shown}");
    let mode = sandbox
        .swarm_command(&["config", "get", "mode"])
        .env("SWARM_MODE", "autopilot")
        .output();
    assert_eq!(mode.unwrap().stdout, b"autopilot\n");
}

#[test]
fn a_persons_own_limits_hold_in_a_repository_that_init_set_up() {
    let sandbox = Sandbox::new();
    sandbox.swarm(&["init", "--agent", "demo", "--yes"]).ok();
    // The examples of `config set --help` and of the guide.
    for (key, value) in [
        ("budget.usdPerDay", "5.0"),
        ("agents.timeoutMinutes", "45"),
        ("agents.maxParallel", "4"),
    ] {
        let set = sandbox.swarm(&["config", "set", "--user", key, value]);
        set.ok();
        assert!(!set.stderr.contains("no effect"), "{set}");
        let got = sandbox.swarm(&["config", "get", key]);
        assert_eq!(got.ok().trim(), value, "{got}");
    }
    let profile = r#"{"adapter": "claude", "model": "opus"}"#;
    let set = sandbox.swarm(&["config", "set", "agents.profiles.big", profile]);
    set.ok();
    assert!(!set.stderr.contains("no effect"), "{set}");
}

#[test]
fn nothing_invalid_is_written() {
    let sandbox = Sandbox::ready();
    let before = sandbox.read(".swarm/config.json");
    for (key, value, words) in [
        ("agents.maxParallel", "many", "agents.maxParallel"),
        ("agents.maxParalel", "2", "maxParallel"),
        ("agents.profile", "nobody", "nobody"),
        (
            "agents.profiles.x",
            r#"{"adapter":"claude","args":["--resume"]}"#,
            "--resume",
        ),
        ("target", "gone", "`gone` does not exist"),
    ] {
        for local in [&[][..], &["--local"]] {
            let args = [&["config", "set"], local, &[key, value]].concat();
            let ran = sandbox.swarm(&args);
            ran.refused(1, &[words]);
            let says_so = ran.stderr.contains("nothing was changed");
            assert!(says_so || key == "target", "{ran}");
            assert!(!ran.stderr.contains("fix .swarm/config.json"), "{ran}");
        }
    }
    assert_eq!(sandbox.read(".swarm/config.json"), before);
    assert!(!sandbox.dot_swarm("config.local.json").exists());
    sandbox
        .swarm(&["config", "get", "agents.maxParalel"])
        .refused(1, &["agents.maxParallel"]);
}

#[test]
fn a_bad_own_file_is_named_and_stops_nothing_else() {
    let sandbox = Sandbox::ready();
    let folder = sandbox.path("xdg/swarm");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.json"), "{\"mod\": 1}").unwrap();
    let with = |args: &[&str]| {
        let mut command = sandbox.swarm_command(args);
        command.env("XDG_CONFIG_HOME", sandbox.path("xdg"));
        sandbox.run(&mut command, b"", crate::harness::PATIENCE)
    };
    let name = format!("{}:1:2: mod", folder.join("config.json").display());
    with(&["config", "check"]).refused(1, &[&name, "unknown key"]);
    with(&["start"]).refused(1, &[&name]);
    // Without that variable, it is not read.
    sandbox.swarm(&["config", "check"]).ok();
    // It can be written where no repository is.
    fs::write(folder.join("config.json"), "{}").unwrap();
    let mut command =
        sandbox.swarm_command(&["config", "set", "--user", "agents.failuresToPause", "8"]);
    command
        .env("XDG_CONFIG_HOME", sandbox.path("xdg"))
        .current_dir(sandbox.path("home"));
    sandbox
        .run(&mut command, b"", crate::harness::PATIENCE)
        .ok();
    assert_eq!(
        with(&["config", "get", "agents.failuresToPause"])
            .ok()
            .trim(),
        "8"
    );
}
