//! The daemon as a service: the files for the service manager, and what it is told.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{PATIENCE, Ran, Sandbox};

/// A sandbox whose repository is set up at this path in it.
fn repository(sandbox: &Sandbox, name: &str) -> PathBuf {
    let root = sandbox.path(name);
    fs::create_dir_all(&root).unwrap();
    sandbox.git_in(&root, &["init", "-q", "-b", "main"]);
    sandbox.git_in(&root, &["commit", "-q", "--allow-empty", "-m", "Begin"]);
    let init = ["init", "--yes", "--agent", "command"];
    sandbox.swarm_in(&root, &init).ok();
    root
}

/// The only file in a folder.
fn only(folder: &Path) -> PathBuf {
    let all: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

fn units(sandbox: &Sandbox) -> PathBuf {
    sandbox.path("home/.config/systemd/user")
}

const INSTALL: &[&str] = &["service", "install", "--format", "systemd"];
const UNINSTALL: &[&str] = &["service", "uninstall", "--format", "systemd"];

/// What a path can hold that a service manager's file gives a meaning of its own.
const ODD: &str = "an odd %i \"name\" with 'quotes' $HOME & <tags> \\x41 ünï 漢字";

#[test]
fn systemd_accepts_the_unit_whatever_the_path_holds() {
    let sandbox = Sandbox::empty();
    let unverified = crate::harness::required_tools::are_missing(&["systemd-analyze"]);
    for name in ["repo", ODD] {
        let root = repository(&sandbox, name);
        sandbox.swarm_in(&root, INSTALL).ok();
        let path = only(&units(&sandbox));
        let unit = fs::read_to_string(&path).unwrap();
        for line in [
            "Type=notify",
            "KillMode=process",
            "OOMPolicy=continue",
            "Restart=on-failure",
            "RestartPreventExitStatus=1 2 4 75 130",
            "WatchdogSec=30s",
        ] {
            assert!(unit.lines().any(|it| it == line), "{line}: {unit}");
        }
        let search_path = std::env::var("PATH").unwrap();
        assert!(
            unit.contains(&format!("Environment=\"PATH={search_path}\"")),
            "{unit}"
        );
        if !unverified {
            let mut verify = sandbox.command("systemd-analyze");
            verify.env("XDG_RUNTIME_DIR", sandbox.path("tmp"));
            // So that nothing but this unit is looked at.
            verify.args(["verify", "--user", "--man=no"]).arg(&path);
            let ran = sandbox.run(&mut verify, b"", PATIENCE);
            ran.ok();
            let about = path.file_name().unwrap().to_str().unwrap();
            assert!(!ran.stderr.contains(about), "{ran}");
        }
        sandbox.swarm_in(&root, UNINSTALL).ok();
        assert_eq!(fs::read_dir(units(&sandbox)).unwrap().count(), 0);
    }
}

/// The words of the unit's command line, by the rules of systemd.syntax(7) and systemd.service(5).
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (vec![], String::new(), false);
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            '\\' => match rest.next().unwrap() {
                'x' => {
                    let hex: String = rest.by_ref().take(2).collect();
                    word.push(char::from(u8::from_str_radix(&hex, 16).unwrap()));
                }
                c => word.push(c),
            },
            '%' | '$' => {
                assert_eq!(rest.next(), Some(c), "{line}");
                word.push(c);
            }
            c => word.push(c),
        }
    }
    words.push(word);
    words
}

#[test]
fn the_unit_names_this_program_and_this_repository_exactly() {
    let sandbox = Sandbox::empty();
    let root = repository(&sandbox, &format!("{ODD}\ttab"));
    let ran = sandbox.swarm_in(&root, &[INSTALL, &["--dry-run"]].concat());
    let unit = ran.ok();
    assert!(!units(&sandbox).exists(), "a dry run wrote something");
    let value = |key: &str| {
        let line = unit.lines().find_map(|line| line.strip_prefix(key));
        words(line.unwrap_or_else(|| panic!("{key}: {unit}")))
    };
    let program = env!("CARGO_BIN_EXE_swarm");
    let root = root.to_str().unwrap();
    assert_eq!(value("ExecStart="), [program, "-C", root, "start"]);
    // `%n` is for systemd to replace.
    let unit = unit.replace(" %n\n", " %%n\n");
    let value = |key: &str| {
        words(
            unit.lines()
                .find_map(|line| line.strip_prefix(key))
                .unwrap(),
        )
    };
    let end = [program, "-C", root, "service", "end", "%n"];
    assert_eq!(value("ExecStop=-"), end);
}

#[test]
fn a_property_list_reads_back_as_it_was_meant() {
    if crate::harness::required_tools::are_missing(&["python3"]) {
        return;
    }
    let sandbox = Sandbox::empty();
    let root = repository(&sandbox, ODD);
    let install = ["service", "install", "--format", "launchd"];
    let told = sandbox.swarm_in(&root, &install);
    told.ok();
    assert!(told.stderr.contains("launchctl bootstrap gui/"), "{told}");
    let path = only(&sandbox.path("home/Library/LaunchAgents"));
    let mut python = sandbox.command("python3");
    let read =
        "import plistlib, json, sys; print(json.dumps(plistlib.load(open(sys.argv[1], 'rb'))))";
    python.args(["-c", read]).arg(&path);
    let list = sandbox.run(&mut python, b"", PATIENCE).json();
    let arguments = json!([env!("CARGO_BIN_EXE_swarm"), "-C", root, "start"]);
    assert_eq!(list["ProgramArguments"], arguments);
    assert_eq!(list["KeepAlive"], json!({"SuccessfulExit": false}));
    assert_eq!(list["AbandonProcessGroup"], json!(true));
    let search_path = std::env::var("PATH").unwrap();
    assert_eq!(list["EnvironmentVariables"]["PATH"], json!(search_path));
    let label = path.file_stem().unwrap().to_str().unwrap();
    assert_eq!(list["Label"], json!(label));
    let uninstall = ["service", "uninstall", "--format", "launchd"];
    sandbox.swarm_in(&root, &uninstall).ok();
    assert!(!path.exists());
}

#[test]
fn installing_and_removing_again_and_again_is_harmless() {
    let sandbox = Sandbox::ready();
    let nothing = sandbox.swarm(UNINSTALL);
    nothing.ok();
    assert!(nothing.stderr.contains("there is no"), "{nothing}");
    let first = sandbox.swarm(INSTALL);
    first.ok();
    let path = only(&units(&sandbox));
    let name = path.file_name().unwrap().to_str().unwrap();
    for words in [
        "systemctl --user daemon-reload",
        &format!("systemctl --user enable --now {name}"),
        "loginctl enable-linger",
    ] {
        assert!(first.stderr.contains(words), "`{words}`: {first}");
    }
    let (before, since) = (fs::read(&path).unwrap(), modified(&path));
    let again = sandbox.swarm(&[INSTALL, &["--json"]].concat()).json();
    assert_eq!(
        (&again["written"], &again["started"]),
        (&json!(false), &json!(false))
    );
    assert_eq!((fs::read(&path).unwrap(), modified(&path)), (before, since));
    // systemd's own link to it would point to nothing.
    let wants = units(&sandbox).join("default.target.wants");
    fs::create_dir(&wants).unwrap();
    std::os::unix::fs::symlink(&path, wants.join(name)).unwrap();
    fs::write(wants.join("other.service"), "").unwrap();
    let removed = sandbox.swarm(UNINSTALL);
    removed.ok();
    assert!(
        removed
            .stderr
            .contains(&format!("systemctl --user stop {name}")),
        "{removed}"
    );
    assert!(!path.exists() && fs::symlink_metadata(wants.join(name)).is_err());
    assert!(wants.join("other.service").exists());
    sandbox.swarm(UNINSTALL).ok();
}

fn modified(path: &Path) -> std::time::SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn what_somebody_else_wrote_or_edited_stays() {
    let sandbox = Sandbox::ready();
    sandbox.swarm(INSTALL).ok();
    let path = only(&units(&sandbox));
    let ours = fs::read_to_string(&path).unwrap();
    let edited = ours.replace("RestartSec=5s", "RestartSec=50s");
    fs::write(&path, &edited).unwrap();
    let name = path.file_name().unwrap().to_string_lossy();
    for verb in [INSTALL, UNINSTALL] {
        let edit = format!("systemctl --user edit {name}");
        sandbox
            .swarm(verb)
            .refused(1, &["edited", "--force", &edit]);
        assert_eq!(fs::read_to_string(&path).unwrap(), edited);
    }
    sandbox.swarm(&[INSTALL, &["--force"]].concat()).ok();
    assert_eq!(fs::read_to_string(&path).unwrap(), ours);
    fs::write(&path, &edited).unwrap();
    sandbox.swarm(&[UNINSTALL, &["--force"]].concat()).ok();
    assert!(!path.exists());
    // Somebody else's, not even with force.
    let other = "[Service]\nExecStart=/bin/true\n";
    for verb in [INSTALL, UNINSTALL] {
        fs::write(&path, other).unwrap();
        for force in [&[][..], &["--force"]] {
            let ran = sandbox.swarm(&[verb, force].concat());
            ran.refused(1, &["not written by swarm"]);
            assert_eq!(fs::read_to_string(&path).unwrap(), other);
        }
    }
    // Nor is a link followed.
    fs::remove_file(&path).unwrap();
    let precious = sandbox.path("precious");
    fs::write(&precious, "x").unwrap();
    std::os::unix::fs::symlink(&precious, &path).unwrap();
    sandbox.swarm(INSTALL).refused(1, &["not written by swarm"]);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "x");
}

/// Runs with a `systemctl` of the test's, which notes what it is asked and does as it is told.
pub fn with_systemctl(sandbox: &Sandbox, ends: &str, args: &[&str]) -> (Ran, Vec<String>) {
    let folder = sandbox.path("bin");
    fs::create_dir_all(&folder).unwrap();
    let asked = sandbox.path("out/systemctl");
    let script = format!("#!/bin/sh\necho \"$*\" >>'{}'\n{ends}\n", asked.display());
    let program = folder.join("systemctl");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let _ = fs::remove_file(&asked);
    let search = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = sandbox.swarm_command(args);
    let ran = sandbox.run(command.env("PATH", search), b"", PATIENCE);
    (ran, sandbox.notes("systemctl"))
}

#[test]
fn with_now_the_service_manager_is_asked_and_its_failure_told() {
    let sandbox = Sandbox::ready();
    let install = [INSTALL, &["--now"]].concat();
    let (ran, asked) = with_systemctl(&sandbox, "exit 0", &install);
    ran.ok();
    let path = only(&units(&sandbox));
    let name = path.file_name().unwrap().to_str().unwrap();
    assert_eq!(
        asked,
        [
            "--user daemon-reload",
            &format!("--user enable --now {name}")
        ]
    );
    let (ran, asked) = with_systemctl(&sandbox, "exit 0", &[UNINSTALL, &["--now"]].concat());
    ran.ok();
    assert_eq!(
        asked,
        [
            &format!("--user disable --now {name}"),
            "--user daemon-reload"
        ]
    );
    assert!(!path.exists());
    // Without one: nothing is asked. One that fails: told, with its words, and nothing more is
    // asked.
    let (ran, asked) = with_systemctl(&sandbox, "exit 0", INSTALL);
    ran.ok();
    assert!(asked.is_empty(), "{asked:?}");
    let (ran, asked) = with_systemctl(&sandbox, "echo 'no bus' >&2; exit 4", &install);
    ran.refused(
        1,
        &[
            "no bus",
            "daemon-reload",
            "was written",
            "service uninstall",
        ],
    );
    assert_eq!(asked.len(), 1, "{asked:?}");
    // What could not be stopped is not taken away.
    let (ran, _) = with_systemctl(&sandbox, "exit 1", &[UNINSTALL, &["--now"]].concat());
    ran.refused(1, &["disable"]);
    assert!(path.exists());
}

#[test]
fn the_folder_of_the_units_is_where_the_user_has_it() {
    let sandbox = Sandbox::ready();
    let mut command = sandbox.swarm_command(INSTALL);
    command.env("XDG_CONFIG_HOME", sandbox.path("tmp/other config"));
    sandbox.run(&mut command, b"", PATIENCE).ok();
    only(&sandbox.path("tmp/other config/systemd/user"));
    assert!(!units(&sandbox).exists());
    // A relative one does not count, as the specification says.
    let mut command = sandbox.swarm_command(INSTALL);
    command.env("XDG_CONFIG_HOME", "relative");
    sandbox.run(&mut command, b"", PATIENCE).ok();
    only(&units(&sandbox));
    let mut command = sandbox.swarm_command(INSTALL);
    command.env_remove("HOME");
    sandbox
        .run(&mut command, b"", PATIENCE)
        .refused(1, &["HOME"]);
    let odd = std::ffi::OsStr::from_bytes(b"bad \xff");
    let root = sandbox.path("tmp").join(odd);
    fs::create_dir(&root).unwrap();
    fs::create_dir(root.join(".swarm")).unwrap();
    sandbox.swarm_in(&root, INSTALL).refused(1, &["UTF-8"]);
}

/// What the service manager is told next.
fn read(manager: &UnixDatagram) -> String {
    let mut bytes = [0; 4096];
    let length = manager.recv(&mut bytes).expect("nothing was told");
    String::from_utf8(bytes[..length].to_vec()).unwrap()
}

#[test]
fn the_service_manager_is_told_when_it_is_ready_that_it_lives_and_that_it_ends() {
    let sandbox = Sandbox::ready();
    // A filter of git's is one of the programs that must not get at the service manager.
    let out = sandbox.path("out");
    let filter = format!("sh -c 'env >>{}/filter; cat'", out.display());
    sandbox.git(&["config", "filter.looks.clean", &filter]);
    sandbox.write(".gitattributes", "*.looked filter=looks\n");
    sandbox.commit("A filter");
    let _ = fs::remove_file(out.join("filter"));
    let path = sandbox.path("tmp/notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut command = sandbox.swarm_command(&["start"]);
    command.env("NOTIFY_SOCKET", &path);
    command.env("WATCHDOG_USEC", "300000");
    let begun = Instant::now();
    let daemon = sandbox.spawn(command);
    // Read as it comes, as a manager does: few messages fit into a socket, and what finds no room
    // is lost.
    let (tell, told) = mpsc::channel();
    let reader = thread::spawn(move || {
        let mut last = String::new();
        while !last.contains("STOPPING=1") {
            last = read(&manager);
            if tell.send(last.clone()).is_err() {
                return;
            }
        }
    });
    let told = || told.recv_timeout(PATIENCE).expect("nothing was told");
    let first = told();
    assert!(first.starts_with("READY=1\nSTATUS="), "{first}");
    // Ready means that the socket answers.
    let status = sandbox.status();
    assert_eq!(status["pid"], json!(daemon.pid), "{status}");
    let mut fed = 0;
    while fed < 5 {
        fed += usize::from(told() == "WATCHDOG=1");
    }
    assert!(
        begun.elapsed() > Duration::from_millis(300),
        "it is fed all too often"
    );
    let until = |words: &str| while !told().contains(words) {};
    let id = sandbox.idea("env >$OUT/agent; hold told; write a.looked x; say COMPLETE");
    until("agents running: 1");
    sandbox.release("told");
    sandbox.wait_idea(&id, "done");
    sandbox.swarm(&["stop"]).ok();
    until("STOPPING=1");
    reader.join().unwrap();
    assert_eq!(daemon.wait_exit(PATIENCE), 0);
    for name in ["agent", "filter"] {
        let environment = sandbox.notes(name);
        assert!(environment.len() > 3, "{name}: {environment:?}");
        let of_the_manager =
            |line: &&String| line.starts_with("NOTIFY_") || line.starts_with("WATCHDOG_");
        let leaked: Vec<&String> = environment.iter().filter(of_the_manager).collect();
        assert!(leaked.is_empty(), "{name}: {leaked:?}");
    }
}

/// A daemon that is stopped by a signal feeds nothing; when it goes on, it feeds again.
#[test]
fn a_daemon_that_is_stopped_starves_its_watchdog() {
    let sandbox = Sandbox::ready();
    let path = sandbox.path("tmp/notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut command = sandbox.swarm_command(&["start"]);
    command
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "150000");
    let daemon = sandbox.spawn(command);
    while read(&manager) != "WATCHDOG=1" {}
    daemon.signal(nix::sys::signal::Signal::SIGSTOP);
    manager
        .set_read_timeout(Some(Duration::from_millis(600)))
        .unwrap();
    let mut bytes = [0; 4096];
    while manager.recv(&mut bytes).is_ok() {}
    assert!(
        manager.recv(&mut bytes).is_err(),
        "a stopped daemon fed its watchdog"
    );
    daemon.signal(nix::sys::signal::Signal::SIGCONT);
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    while read(&manager) != "WATCHDOG=1" {}
    daemon.stop();
}

#[test]
fn a_login_that_the_service_will_not_have_is_told() {
    let sandbox = Sandbox::ready();
    let profile = json!({"adapter": "claude", "command": [sandbox.path("agent.sh")]});
    sandbox.configure(&json!({"agents": {"profile": "cl", "profiles": {"cl": profile}}}));
    let install = |more: &[&str], key: Option<&str>| {
        let mut command = sandbox.swarm_command(&[INSTALL, more].concat());
        command.envs(key.map(|key| ("ANTHROPIC_API_KEY", key)));
        sandbox.run(&mut command, b"", PATIENCE)
    };
    let said = install(&[], Some("sk-secret"));
    let words = [
        "`cl`",
        "ANTHROPIC_API_KEY",
        "systemctl --user edit swarm-repo-",
    ];
    assert!(
        words.iter().all(|word| said.stderr.contains(word)),
        "{said}"
    );
    let told = install(&["--json"], Some("sk-secret")).json();
    assert_eq!(told["warnings"].as_array().unwrap().len(), 1, "{told}");
    assert!(!told.to_string().contains("sk-secret") && !said.stderr.contains("sk-secret"));
    // Without one there is none to lose.
    assert_eq!(install(&["--json"], None).json()["warnings"], json!([]));
}
