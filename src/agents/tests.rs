//! Tests of how known programs are started, and of how their logins are detected.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use super::adapter::{AdapterError, Conversation, Launch, LaunchContext, Login};
use super::environment::{Environment, WorkVariables};
use super::memory_server::MemoryServer;
use super::read_guard::GuardHook;
use super::{AdapterKind, Profile, adapter};

fn profile(kind: AdapterKind, args: &[&str]) -> Profile {
    Profile {
        name: "ed".into(),
        adapter: kind,
        model: Some("a/model".into()),
        account: None,
        command: vec![],
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: [].into(),
    }
}

fn launch(
    profile: &Profile,
    talk: Conversation,
    inherited: &Environment,
) -> Result<Launch, AdapterError> {
    let work = WorkVariables {
        idea_id: "idea-007".into(),
        worktree: "/r/w".into(),
        repository: "/r".into(),
        ..WorkVariables::default()
    };
    adapter(profile.adapter).launch(&LaunchContext {
        profile,
        work: &work,
        inherited,
        pass: &[],
        identity: None,
        own_program: "/bin/swarm".into(),
        talk,
        memory: None,
        guard: None,
    })
}

/// The same launch with the server of the memory's tools.
fn launch_with_memory(kind: AdapterKind, inherited: &Environment) -> Launch {
    let (program, repository) = (Path::new("/bin/swarm"), Path::new("/r"));
    let work = WorkVariables::default();
    let mut profile = profile(kind, &["-x"]);
    profile.command = vec!["agent".into()];
    adapter(kind)
        .launch(&LaunchContext {
            profile: &profile,
            work: &work,
            inherited,
            pass: &[],
            identity: None,
            own_program: program.into(),
            talk: Conversation::New("s-1".parse().unwrap()),
            memory: MemoryServer::new(
                program,
                repository,
                ("ed-001", "ed"),
                "r-1",
                "/runs/r-1".into(),
            ),
            guard: None,
        })
        .unwrap()
}

/// The launch of an agent that was told of a file that changed.
fn launch_guarded(profile: &Profile) -> Launch {
    let work = WorkVariables::default();
    let paths = vec!["src/a.rs".to_owned()];
    adapter(profile.adapter)
        .launch(&LaunchContext {
            profile,
            work: &work,
            inherited: &Environment::new(),
            pass: &[],
            identity: None,
            own_program: "/bin/swarm".into(),
            talk: Conversation::Resume("s-1".parse().unwrap()),
            memory: None,
            guard: GuardHook::new(
                Path::new("/a b/swarm"),
                Path::new("/runs/r-1"),
                Path::new("/r/w"),
                paths,
            ),
        })
        .unwrap()
}

/// What follows each `--settings` in the arguments.
fn settings_of(launch: &Launch) -> Vec<&str> {
    let args: Vec<&str> = launch
        .args
        .iter()
        .map(|arg| arg.to_str().unwrap())
        .collect();
    let pairs = args.windows(2).filter(|pair| pair[0] == "--settings");
    pairs.map(|pair| pair[1]).collect()
}

#[test]
fn claude_gets_the_hook_that_has_told_files_read_again() {
    let guarded = launch_guarded(&profile(AdapterKind::Claude, &["-x"]));
    assert_eq!(settings_of(&guarded), ["/runs/r-1/guard-settings.json"]);
    assert!(guarded.has_read_guard);
    let file = |name: &str| {
        let mut files = guarded.files.iter();
        let (_, content) = files.find(|(file, _)| *file == name).unwrap();
        serde_json::from_slice::<serde_json::Value>(content).unwrap()
    };
    let command = "'/a b/swarm' __guard '/runs/r-1'";
    let hooks = &file("guard-settings.json")["hooks"];
    for (moment, tools) in [
        ("PreToolUse", "Edit|MultiEdit|Write|NotebookEdit"),
        ("PostToolUse", "Read"),
    ] {
        assert_eq!(hooks[moment][0]["matcher"], tools);
        assert_eq!(hooks[moment][0]["hooks"][0]["command"], command);
    }
    let told = file("changed-files.json");
    assert_eq!(told["worktree"], "/r/w");
    assert_eq!(told["paths"][0], "src/a.rs");
    // Nothing changed, or nobody wants it.
    let old = Conversation::Resume("s-1".parse().unwrap());
    let plain = launch(&profile(AdapterKind::Claude, &[]), old, &Environment::new()).unwrap();
    assert!(settings_of(&plain).is_empty() && plain.files.is_empty());
    for kind in [
        AdapterKind::Codex,
        AdapterKind::Gemini,
        AdapterKind::Opencode,
    ] {
        let other = launch_guarded(&profile(kind, &[]));
        assert!(
            settings_of(&other).is_empty() && !other.has_read_guard,
            "{kind:?}"
        );
        assert!(other.files.is_empty(), "{kind:?}");
    }
}

#[test]
fn settings_of_a_profile_stay_and_keep_the_hook_out() {
    for args in [
        &["--settings", "/own.json"][..],
        &["--settings=/own.json"],
        &["--bare"],
    ] {
        let mut profile = profile(AdapterKind::Claude, args);
        let own = launch_guarded(&profile);
        assert!(!own.has_read_guard && own.files.is_empty(), "{args:?}");
        let line: Vec<&str> = own.args.iter().map(|arg| arg.to_str().unwrap()).collect();
        assert!(line.ends_with(args), "{line:?}");
        // They may be part of the program's command, too.
        profile.args = vec![];
        let command = ["claude"].iter().chain(args);
        profile.command = command.map(|word| (*word).to_owned()).collect();
        let own = launch_guarded(&profile);
        assert!(!own.has_read_guard && own.files.is_empty(), "{args:?}");
    }
}

#[test]
fn each_program_is_told_of_the_memory_in_its_own_way() {
    let none = Environment::new();
    let args = |launch: &Launch| {
        let args = launch.args.iter().map(|arg| arg.to_str().unwrap());
        args.collect::<Vec<_>>().join(" ")
    };
    let claude = launch_with_memory(AdapterKind::Claude, &none);
    let line = args(&claude);
    // The option takes several values, so another option must follow it.
    assert!(
        line.contains("--mcp-config /runs/r-1/mcp.json -x"),
        "{line}"
    );
    assert!(!line.contains("strict"), "{line}");
    assert_eq!(claude.files[0].0, "mcp.json");
    let codex = launch_with_memory(AdapterKind::Codex, &none);
    let line = args(&codex);
    assert!(
        line.contains(r#"-c mcp_servers.swarm.command="/bin/swarm" -c"#),
        "{line}"
    );
    // A profile's own settings come later, so they win.
    assert!(line.ends_with(r#"approval_mode="approve" -x -"#), "{line}");
    let opencode = launch_with_memory(AdapterKind::Opencode, &none);
    let config = &opencode.env[OsStr::new("OPENCODE_CONFIG_CONTENT")];
    assert!(config.to_str().unwrap().contains("/bin/swarm"));
    let acp = launch_with_memory(AdapterKind::Acp, &none);
    assert!(args(&acp).starts_with("__acp --model a/model --mcp-server {"));
    for (launch, has) in [
        (claude, true),
        (codex, true),
        (opencode, true),
        (acp, true),
        (launch_with_memory(AdapterKind::Gemini, &none), false),
        (launch_with_memory(AdapterKind::Command, &none), false),
    ] {
        assert_eq!(launch.has_memory_tools, has, "{:?}", launch.started.adapter);
    }
}

#[test]
fn what_a_machine_configured_for_its_programs_is_not_replaced() {
    let own = |name: &str, value: &str| [(name.into(), value.into())].into();
    let variable = "OPENCODE_CONFIG_CONTENT";
    let opencode = launch_with_memory(AdapterKind::Opencode, &own(variable, "{} // mine"));
    assert_eq!(opencode.env[OsStr::new(variable)], "{} // mine");
    assert!(!opencode.has_memory_tools);
}

fn line(kind: AdapterKind, args: &[&str], talk: &Conversation) -> String {
    let launch = launch(&profile(kind, args), talk.clone(), &Environment::new()).unwrap();
    let args = launch.args.iter().map(|arg| arg.to_str().unwrap());
    let words: Vec<&str> = [launch.program.to_str().unwrap()]
        .into_iter()
        .chain(args)
        .collect();
    words.join(" ")
}

#[test]
fn a_conversation_starts_and_resumes() {
    let new = Conversation::New("s-1".parse().unwrap());
    let old = Conversation::Resume("s-1".parse().unwrap());
    let gemini = "gemini -o stream-json --skip-trust --yolo -m a/model";
    let opencode =
        "opencode run --format json --thinking --print-logs --log-level ERROR --auto -m a/model";
    for (kind, talk, expected) in [
        (
            AdapterKind::Gemini,
            &new,
            format!("{gemini} --session-id s-1 -e x"),
        ),
        (
            AdapterKind::Gemini,
            &old,
            format!("{gemini} --resume s-1 -e x"),
        ),
        (
            AdapterKind::Opencode,
            &new,
            format!("{opencode} --title swarm idea-007 -e x"),
        ),
        (
            AdapterKind::Opencode,
            &old,
            format!("{opencode} --session s-1 -e x"),
        ),
    ] {
        assert_eq!(line(kind, &["-e", "x"], talk), expected);
    }
    // A permission option in `args` replaces the default one.
    let careful = line(AdapterKind::Gemini, &["--approval-mode=plan"], &new);
    assert!(!careful.contains("--yolo"), "{careful}");
}

#[test]
fn arguments_of_the_adapter_are_refused() {
    let new = || Conversation::New("s-1".parse().unwrap());
    for (kind, arg) in [
        (AdapterKind::Gemini, "--output-format=text"),
        (AdapterKind::Gemini, "-otext"),
        (AdapterKind::Gemini, "--prompt"),
        (AdapterKind::Gemini, "--resume=latest"),
        (AdapterKind::Opencode, "--format"),
        (AdapterKind::Opencode, "--continue"),
        (AdapterKind::Opencode, "-sses_1"),
        (AdapterKind::Opencode, "--dir=/"),
    ] {
        let refused = launch(&profile(kind, &[arg]), new(), &Environment::new());
        assert!(
            matches!(refused, Err(AdapterError::Owned { .. })),
            "{arg}: {refused:?}"
        );
    }
}

#[test]
fn each_program_gets_only_its_own_variables() {
    let names = ["GEMINI_API_KEY", "OPENCODE_CONFIG", "CODEX_API_KEY"];
    let inherited = names.map(|name| (name.into(), "x".into())).into();
    let new = || Conversation::New("s-1".parse().unwrap());
    let env = |kind| launch(&profile(kind, &[]), new(), &inherited).unwrap().env;
    let has = |env: &Environment, name: &str| env.contains_key(OsStr::new(name));
    let gemini = env(AdapterKind::Gemini);
    assert!(has(&gemini, "GEMINI_API_KEY") && has(&gemini, "GEMINI_CLI_NO_RELAUNCH"));
    assert!(!has(&gemini, "OPENCODE_CONFIG") && !has(&gemini, "CODEX_API_KEY"));
    let opencode = env(AdapterKind::Opencode);
    assert!(has(&opencode, "OPENCODE_CONFIG") && has(&opencode, "OPENCODE_DISABLE_AUTOUPDATE"));
    assert!(!has(&opencode, "CODEX_API_KEY"));
}

/// The detected login with this home and these variables.
fn login(kind: AdapterKind, home: &Path, variables: &[(&str, &str)]) -> Login {
    let mut environment: Environment = variables
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    environment.insert("HOME".into(), home.into());
    let repository = home.join("code/repo");
    environment.insert("SWARM_REPO".into(), repository.into());
    adapter(kind)
        .login(&profile(kind, &[]), &environment)
        .unwrap()
}

#[test]
fn a_login_is_detected_by_its_location() {
    let gemini = AdapterKind::Gemini;
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let missing = login(gemini, home, &[("GEMINI_API_KEY", "")]);
    assert!(matches!(missing, Login::Missing(_)), "{missing:?}");
    let by = login(gemini, home, &[("GEMINI_API_KEY", "secret")]);
    assert_eq!(by, Login::By("GEMINI_API_KEY".into()));
    // Gemini reads such a file in every parent directory.
    fs::create_dir_all(home.join("code/repo")).unwrap();
    fs::write(home.join("code/.env"), "").unwrap();
    assert_eq!(login(gemini, home, &[]), Login::Unknown);
    let own = home.join("own/.gemini");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("oauth_creds.json"), "").unwrap();
    let place = home.join("own").display().to_string();
    let by = login(gemini, home, &[("GEMINI_CLI_HOME", &place)]);
    assert_eq!(
        by,
        Login::By(own.join("oauth_creds.json").display().to_string())
    );

    let opencode = AdapterKind::Opencode;
    assert_eq!(login(opencode, home, &[]), Login::Unknown);
    let data = home.join(".local/share/opencode");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("auth.json"), "{}").unwrap();
    let by = Login::By(data.join("auth.json").display().to_string());
    assert_eq!(login(opencode, home, &[]), by);
}
