//! The MCP server through which an agent reaches the memory, in the form that each program reads.
//!
//! Invariant: nothing here changes a file of the user, and servers that the user configured stay.
//! Called by the adapters.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Name of the server, which programs put in front of the names of its tools.
pub const NAME: &str = "swarm";
/// Variable that tells the server in which run it is.
const RUN: &str = "SWARM_RUN_ID";

/// How the server is started for one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryServer {
    program: String,
    args: Vec<String>,
    run: String,
    folder: PathBuf,
}

impl MemoryServer {
    /// The server for a run of an agent of this profile. The run's files are in `folder`. `None` if
    /// a path is not UTF-8, which the programs' configurations cannot express.
    pub fn new(
        program: &Path,
        repository: &Path,
        (agent, profile): (&str, &str),
        run: &str,
        folder: PathBuf,
    ) -> Option<Self> {
        folder.to_str()?;
        let repository = repository.to_str()?;
        let args = [
            "-C",
            repository,
            "mcp",
            "--profile",
            profile,
            "--agent",
            agent,
        ];
        Some(Self {
            program: program.to_str()?.to_owned(),
            args: args.map(str::to_owned).to_vec(),
            run: run.to_owned(),
            folder,
        })
    }

    /// Path of a file in the run's folder.
    pub fn file(&self, name: &str) -> OsString {
        self.folder.join(name).into()
    }

    /// A file as Claude Code reads it. It puts the tools into the first request, instead of making
    /// the model search for them.
    pub fn for_claude(&self) -> Value {
        let mut server = self.plain();
        server["type"] = "stdio".into();
        server["alwaysLoad"] = true.into();
        json!({ "mcpServers": { NAME: server } })
    }

    fn plain(&self) -> Value {
        json!({
            "command": self.program,
            "args": self.args,
            "env": { RUN: self.run },
        })
    }

    /// Settings of Codex, each `KEY=VALUE` with a TOML value.
    pub fn for_codex(&self) -> [String; 4] {
        let server = format!("mcp_servers.{NAME}");
        // A JSON text without control characters is a TOML text too.
        [
            format!("{server}.command={}", json!(self.program)),
            format!("{server}.args={}", json!(self.args)),
            format!("{server}.env.{RUN}={}", json!(self.run)),
            format!("{server}.default_tools_approval_mode=\"approve\""),
        ]
    }

    /// The configuration of opencode in its variable, with this server added; `None` if what is
    /// there is not plain JSON.
    pub fn for_opencode(&self, configured: Option<&str>) -> Option<String> {
        let mut config: Value = match configured {
            Some(text) => serde_json::from_str(text).ok()?,
            None => json!({}),
        };
        let command: Vec<&String> = [&self.program].into_iter().chain(&self.args).collect();
        let servers = config
            .as_object_mut()?
            .entry("mcp")
            .or_insert_with(|| json!({}));
        servers.as_object_mut()?.insert(
            NAME.to_owned(),
            json!({
                "type": "local",
                "command": command,
                "environment": { RUN: self.run },
                "enabled": true,
            }),
        );
        Some(config.to_string())
    }

    /// An entry of `mcpServers` in the Agent Client Protocol.
    pub fn for_acp(&self) -> Value {
        json!({
            "name": NAME,
            "command": self.program,
            "args": self.args,
            "env": [{"name": RUN, "value": self.run}],
        })
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    fn server() -> MemoryServer {
        let (program, repository) = (Path::new("/bin/swarm"), Path::new("/my repo"));
        MemoryServer::new(
            program,
            repository,
            ("ed-001", "ed"),
            "r-1",
            "/runs/r-1".into(),
        )
        .unwrap()
    }

    #[test]
    fn each_program_gets_the_same_command() {
        let server = server();
        let words = [
            "-C",
            "/my repo",
            "mcp",
            "--profile",
            "ed",
            "--agent",
            "ed-001",
        ];
        let claude = &server.for_claude()["mcpServers"]["swarm"];
        assert_eq!(claude["args"], json!(words));
        assert_eq!(claude["env"], json!({"SWARM_RUN_ID": "r-1"}));
        assert_eq!(claude["alwaysLoad"], true);
        let acp = server.for_acp();
        assert_eq!(acp["args"], json!(words));
        let expected = [
            r#"mcp_servers.swarm.command="/bin/swarm""#,
            r#"mcp_servers.swarm.args=["-C","/my repo","mcp","--profile","ed","--agent","ed-001"]"#,
            r#"mcp_servers.swarm.env.SWARM_RUN_ID="r-1""#,
            r#"mcp_servers.swarm.default_tools_approval_mode="approve""#,
        ];
        assert_eq!(server.for_codex(), expected);
    }

    #[test]
    fn what_a_user_configured_for_opencode_stays() {
        let server = server();
        let own = r#"{"mcp":{"mine":{"type":"remote"}},"share":"disabled"}"#;
        let config = server.for_opencode(Some(own)).unwrap();
        let config: Value = serde_json::from_str(&config).unwrap();
        assert_eq!(config["share"], "disabled");
        assert_eq!(config["mcp"]["mine"]["type"], "remote");
        assert_eq!(config["mcp"]["swarm"]["command"][0], "/bin/swarm");
        for unreadable in ["{ // a comment\n}", "[]", r#"{"mcp": 1}"#] {
            assert_eq!(server.for_opencode(Some(unreadable)), None, "{unreadable}");
        }
        assert!(server.for_opencode(None).is_some());
    }

    #[test]
    fn a_path_that_is_not_text_has_no_server() {
        let odd = Path::new(OsStr::from_bytes(b"/\xff"));
        let new = |program, repository| {
            MemoryServer::new(
                program,
                repository,
                ("ed-001", "ed"),
                "r-1",
                "/runs/r-1".into(),
            )
        };
        assert_eq!(new(odd, Path::new("/r")), None);
        assert_eq!(new(Path::new("/bin/swarm"), odd), None);
    }
}
