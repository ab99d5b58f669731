//! Builds the complete environment of an agent's process.
//!
//! Invariant: an allow-list. A variable of the daemon passes only if it is listed here, in
//! `agents.passEnv` or by the adapter. Variables that point git at a repository (such as `GIT_DIR`)
//! and inherited `SWARM_*` never pass.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Names and values; values need not be UTF-8.
pub type Environment = BTreeMap<OsString, OsString>;

/// The value of a variable that is set and not empty.
pub fn set<'a>(environment: &'a Environment, name: &str) -> Option<&'a OsStr> {
    let value = environment.get(OsStr::new(name))?;
    (!value.is_empty()).then_some(value)
}

/// The sources of an agent's environment. Later fields override earlier ones.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The daemon's environment, filtered by the allow-list.
    pub inherited: Environment,
    /// Names that `agents.passEnv` adds to the allow-list.
    pub pass: Vec<String>,
    /// Identity for git if none is configured. Variables of the daemon take precedence.
    pub identity: Option<Identity>,
    /// The profile's own variables.
    pub profile: BTreeMap<String, String>,
}

/// Author of an agent's commits if git has none configured.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Identity {
    pub name: String,
    pub email: String,
}

/// Facts about the work that the process gets as `SWARM_*` variables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkVariables {
    /// `SWARM_PROMPT_FILE`
    pub prompt_file: PathBuf,
    /// `SWARM_IDEA_ID`
    pub idea_id: String,
    /// `SWARM_AGENT`
    pub agent: String,
    /// `SWARM_RUN_ID`
    pub run_id: String,
    /// `SWARM_ATTEMPT`, from 1
    pub attempt: u32,
    /// `SWARM_ITERATION`, from 1
    pub iteration: u32,
    /// `SWARM_WORKTREE`
    pub worktree: PathBuf,
    /// `SWARM_BRANCH`
    pub branch: String,
    /// `SWARM_REPO`
    pub repository: PathBuf,
    /// `SWARM_BIN`, the path of this program
    pub own_program: PathBuf,
    /// `SWARM_SLOT` and `SWARM_PORT_BASE`; unset without a slot or without ports.
    pub slot: Option<(u16, u16)>,
    /// Variables of `worktree.env`. The profile's own override them.
    pub of_worktree: BTreeMap<String, String>,
}

impl Default for Identity {
    fn default() -> Self {
        Self {
            name: "swarm".to_owned(),
            email: "swarm@localhost".to_owned(),
        }
    }
}

impl Sources {
    /// The complete environment for `work`.
    pub fn environment(&self, work: &WorkVariables) -> Environment {
        self.environment_with(work, &[])
    }

    /// The complete environment for `work`, in which the names in `known` pass too. A name that
    /// ends in `*` is a prefix.
    pub fn environment_with(&self, work: &WorkVariables, known: &[&str]) -> Environment {
        let mut environment = self.of_inherited(known);
        if let Some(identity) = &self.identity {
            environment.extend(self.of_identity(identity));
        }
        let configured = work.of_worktree.iter().chain(&self.profile);
        environment.extend(configured.map(|(name, value)| (name.into(), value.into())));
        environment.extend(work.variables());
        environment
    }

    fn of_inherited(&self, known: &[&str]) -> Environment {
        let allowed = |name: &OsStr| {
            name.to_str().is_some_and(|name| {
                let named = || self.pass.iter().any(|pass| pass == name) || is_among(known, name);
                is_allowed(name) || (may_pass(name) && named())
            })
        };
        let inherited = self.inherited.iter();
        inherited
            .filter(|(name, _)| allowed(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    fn of_identity(&self, identity: &Identity) -> Environment {
        let defaults = [
            ("GIT_AUTHOR_NAME", &identity.name),
            ("GIT_AUTHOR_EMAIL", &identity.email),
            ("GIT_COMMITTER_NAME", &identity.name),
            ("GIT_COMMITTER_EMAIL", &identity.email),
        ];
        let value = |name: &str, default: &String| {
            let own = self.inherited.get(OsStr::new(name)).cloned();
            own.unwrap_or_else(|| default.into())
        };
        defaults
            .into_iter()
            .map(|(name, default)| (name.into(), value(name, default)))
            .collect()
    }
}

impl WorkVariables {
    fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        let of_slot = self.slot.into_iter().flat_map(|(slot, port_base)| {
            [
                ("SWARM_SLOT".into(), slot.to_string().into()),
                ("SWARM_PORT_BASE".into(), port_base.to_string().into()),
            ]
        });
        let all = [
            ("SWARM_PROMPT_FILE".into(), self.prompt_file.clone().into()),
            ("SWARM_IDEA_ID".into(), self.idea_id.clone().into()),
            ("SWARM_AGENT".into(), self.agent.clone().into()),
            ("SWARM_RUN_ID".into(), self.run_id.clone().into()),
            ("SWARM_ATTEMPT".into(), self.attempt.to_string().into()),
            ("SWARM_ITERATION".into(), self.iteration.to_string().into()),
            ("SWARM_WORKTREE".into(), self.worktree.clone().into()),
            ("SWARM_BRANCH".into(), self.branch.clone().into()),
            ("SWARM_REPO".into(), self.repository.clone().into()),
            ("SWARM_BIN".into(), self.own_program.clone().into()),
        ];
        all.into_iter().chain(of_slot)
    }
}

/// User and locale, network settings, and locations of toolchains. No keys or tokens: those come
/// from the profile's `env`, `agents.passEnv`, or the adapter of the program they belong to.
const ALLOWED: &[&str] = &[
    // The person and the system.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "TMPDIR",
    // Where git's settings are, with the name and address that go into commits.
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    // Large files stay pointers for agents, too.
    "GIT_LFS_SKIP_SMUDGE",
    // The network.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "NIX_SSL_CERT_FILE",
    // Toolchains.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "SDKMAN_DIR",
    "ANDROID_HOME",
    "NVM_DIR",
    "FNM_DIR",
    "VOLTA_HOME",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "COREPACK_HOME",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "POETRY_HOME",
    "UV_CACHE_DIR",
    "PIPX_HOME",
    "RBENV_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "DOTNET_ROOT",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "NIX_PATH",
    "NIX_PROFILES",
];

const ALLOWED_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Variables that would point git at another repository, or carry another process's git settings.
const NEVER_PASSED_GIT: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
];

fn is_allowed(name: &str) -> bool {
    ALLOWED.contains(&name)
        || ALLOWED_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Whether one of these names or prefixes matches `name`.
fn is_among(names: &[&str], name: &str) -> bool {
    names.iter().any(|one| match one.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => *one == name,
    })
}

/// Whether `agents.passEnv` or an adapter may pass `name` at all.
fn may_pass(name: &str) -> bool {
    !name.starts_with("SWARM_") && !NEVER_PASSED_GIT.contains(&name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn work() -> WorkVariables {
        WorkVariables {
            prompt_file: "/r/.git/swarm/runs/r-1/prompt.md".into(),
            idea_id: "idea-001".into(),
            agent: "ed-001".into(),
            run_id: "r-1".into(),
            attempt: 2,
            iteration: 3,
            worktree: "/r/.swarm/worktrees/ed-001-idea-001".into(),
            branch: "agent/ed-001/idea-001".into(),
            repository: "/r".into(),
            own_program: "/usr/bin/swarm".into(),
            slot: Some((3, 20_060)),
            of_worktree: [("PORT", "20060"), ("KEY", "of the worktree")]
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
        }
    }

    fn inherited(names: &[(&str, &str)]) -> Environment {
        let names = names.iter();
        names
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    fn get<'a>(environment: &'a Environment, name: &str) -> Option<&'a str> {
        environment
            .get(OsStr::new(name))
            .and_then(|value| value.to_str())
    }

    #[test]
    fn only_allowed_variables_pass() {
        let sources = Sources {
            inherited: inherited(&[
                ("PATH", "/bin"),
                ("LC_ALL", "C"),
                ("XDG_RUNTIME_DIR", "/run"),
                ("CARGO_HOME", "/c"),
                ("AWS_SECRET_ACCESS_KEY", "s"),
                ("MY_KEY", "k"),
                ("GIT_DIR", "/elsewhere"),
                ("GIT_INDEX_FILE", "/i"),
                ("GIT_AUTHOR_NAME", "n"),
                ("GIT_CONFIG_GLOBAL", "/git"),
                ("SWARM_MODE", "autopilot"),
                ("NODE_OPTIONS", "--inspect"),
            ]),
            pass: ["MY_KEY", "GIT_DIR", "GIT_INDEX_FILE", "SWARM_MODE"]
                .map(String::from)
                .to_vec(),
            ..Sources::default()
        };
        let environment = sources.environment(&work());
        let names: Vec<&str> = environment
            .keys()
            .filter_map(|name| name.to_str())
            .collect();
        assert_eq!(
            names,
            [
                "CARGO_HOME",
                "GIT_CONFIG_GLOBAL",
                "KEY",
                "LC_ALL",
                "MY_KEY",
                "PATH",
                "PORT",
                "SWARM_AGENT",
                "SWARM_ATTEMPT",
                "SWARM_BIN",
                "SWARM_BRANCH",
                "SWARM_IDEA_ID",
                "SWARM_ITERATION",
                "SWARM_PORT_BASE",
                "SWARM_PROMPT_FILE",
                "SWARM_REPO",
                "SWARM_RUN_ID",
                "SWARM_SLOT",
                "SWARM_WORKTREE",
                "XDG_RUNTIME_DIR",
            ]
        );
        assert_eq!(get(&environment, "SWARM_ATTEMPT"), Some("2"));
        assert_eq!(get(&environment, "SWARM_ITERATION"), Some("3"));
        assert_eq!(get(&environment, "SWARM_BIN"), Some("/usr/bin/swarm"));
        assert_eq!(get(&environment, "SWARM_SLOT"), Some("3"));
        assert_eq!(get(&environment, "SWARM_PORT_BASE"), Some("20060"));
    }

    #[test]
    fn a_known_program_gets_only_its_own_login() {
        let sources = Sources {
            inherited: inherited(&[
                ("ANTHROPIC_API_KEY", "k"),
                ("ANTHROPIC_BASE_URL", "u"),
                ("OPENAI_API_KEY", "o"),
                ("CODEX_HOME", "c"),
                ("SWARM_X", "s"),
            ]),
            ..Sources::default()
        };
        let known = ["ANTHROPIC_*", "CODEX_HOME", "SWARM_*"];
        let environment = sources.environment_with(&work(), &known);
        assert_eq!(get(&environment, "ANTHROPIC_API_KEY"), Some("k"));
        assert_eq!(get(&environment, "ANTHROPIC_BASE_URL"), Some("u"));
        assert_eq!(get(&environment, "CODEX_HOME"), Some("c"));
        assert_eq!(get(&environment, "OPENAI_API_KEY"), None);
        assert_eq!(get(&environment, "SWARM_X"), None);
    }

    #[test]
    fn the_worktree_overrides_inherited_variables_the_profile_both_and_the_work_all() {
        let profile = [("PATH", "/own"), ("SWARM_REPO", "/lie"), ("KEY", "v")];
        let sources = Sources {
            inherited: inherited(&[("PATH", "/bin"), ("PORT", "3000")]),
            pass: vec!["PORT".into()],
            profile: profile
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            ..Sources::default()
        };
        let environment = sources.environment(&work());
        assert_eq!(get(&environment, "PATH"), Some("/own"));
        assert_eq!(get(&environment, "KEY"), Some("v"));
        assert_eq!(get(&environment, "PORT"), Some("20060"));
        assert_eq!(get(&environment, "SWARM_REPO"), Some("/r"));
    }

    #[test]
    fn git_gets_an_identity_if_it_has_none() {
        let sources = Sources {
            inherited: inherited(&[("GIT_AUTHOR_NAME", "Ann")]),
            identity: Some(Identity::default()),
            ..Sources::default()
        };
        let environment = sources.environment(&work());
        assert_eq!(get(&environment, "GIT_AUTHOR_NAME"), Some("Ann"));
        assert_eq!(get(&environment, "GIT_COMMITTER_NAME"), Some("swarm"));
        assert_eq!(
            get(&environment, "GIT_COMMITTER_EMAIL"),
            Some("swarm@localhost")
        );
    }

    #[test]
    fn values_need_not_be_utf8() {
        let value = OsString::from_vec(vec![b'/', 0xff]);
        let sources = Sources {
            inherited: [("HOME".into(), value.clone())].into(),
            ..Sources::default()
        };
        assert_eq!(sources.environment(&work())[OsStr::new("HOME")], value);
    }
}
