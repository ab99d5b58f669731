//! The launchd agent.
//!
//! Invariant: the property list is well-formed XML, and launchd reads back exactly our paths.

use std::path::{Path, PathBuf};

use super::{Plan, home, utf8};
use crate::cli::error::CliError;

/// The folder of the user's agents.
pub(super) fn folder() -> Result<PathBuf, CliError> {
    Ok(home()?.join("Library/LaunchAgents"))
}

/// The property list, without its first line.
pub(super) fn agent(plan: &Plan) -> Result<String, CliError> {
    let label = text(&plan.service())?;
    let program = text(utf8(&plan.program, "the path of this program")?)?;
    let root = text(utf8(&plan.root, "the path of the repository")?)?;
    let search_path = text(utf8(plan.search_path.as_ref(), "the value of PATH")?)?;
    let log = plan.root.join(".swarm/logs/service.log");
    let log = text(utf8(&log, "the path of the repository")?)?;
    Ok(format!(
        r#"<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>{label}</string>
	<key>ProgramArguments</key>
	<array>
		<string>{program}</string>
		<string>-C</string>
		<string>{root}</string>
		<string>start</string>
	</array>
	<key>EnvironmentVariables</key>
	<dict>
		<key>PATH</key>
		<string>{search_path}</string>
	</dict>
	<key>RunAtLoad</key>
	<true/>
	<!-- Restart after a crash, but not too soon: launchd cannot tell final exit codes apart. -->
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ThrottleInterval</key>
	<integer>60</integer>
	<key>ExitTimeOut</key>
	<integer>120</integer>
	<!-- Agents outlive a daemon that dies; the next start adopts them. -->
	<key>AbandonProcessGroup</key>
	<true/>
	<key>StandardErrorPath</key>
	<string>{log}</string>
</dict>
</plist>
"#
    ))
}

/// Escapes a text for XML.
fn text(plain: &str) -> Result<String, CliError> {
    if plain.contains(|c: char| c.is_control() || ['\u{fffe}', '\u{ffff}'].contains(&c)) {
        return Err(CliError::refused(format!(
            "a property list cannot hold control characters: {}",
            plain.escape_debug()
        ))
        .hint("move the repository to a path without them"));
    }
    let escaped = plain.replace('&', "&amp;");
    Ok(escaped.replace('<', "&lt;").replace('>', "&gt;"))
}

fn domain() -> String {
    format!("gui/{}", nix::unistd::getuid())
}

pub(super) fn commands_to_start(file: &Path) -> Vec<Vec<String>> {
    let words = ["launchctl", "bootstrap", &domain()].map(str::to_owned);
    let file = file.to_string_lossy().into_owned();
    vec![words.into_iter().chain([file]).collect()]
}

pub(super) fn commands_to_stop(label: &str) -> Vec<Vec<String>> {
    let service = format!("{}/{label}", domain());
    vec![["launchctl", "bootout", &service].map(str::to_owned).into()]
}
