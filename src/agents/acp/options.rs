//! Arguments of the bridge.
//!
//! Invariant: an unknown argument is an error. Everything after `--` belongs to the agent.

use std::ffi::OsString;

use serde_json::Value;

/// Options of the bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    /// Model to request.
    pub(super) model: Option<String>,
    /// Conversation to resume.
    pub(super) resume: Option<String>,
    /// Server of tools that the agent is to use, as the protocol describes one.
    pub(super) mcp_server: Option<Value>,
    /// The agent's program.
    pub(super) program: OsString,
    /// Arguments of the program.
    pub(super) args: Vec<OsString>,
}

/// Invalid arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0}; usage: [--model MODEL] [--resume SESSION] [--mcp-server JSON] -- COMMAND [ARGUMENT...], \
    the prompt on standard input"
)]
pub(super) struct BadOptions(String);

impl Options {
    pub(super) fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Self, BadOptions> {
        let (mut model, mut resume, mut mcp_server) = (None, None, None);
        loop {
            let Some(name) = args.next() else {
                return Err(BadOptions("the command after `--` is missing".to_owned()));
            };
            match name.to_str() {
                Some("--model") => model = Some(text(&name, args.next())?),
                Some("--resume") => resume = Some(text(&name, args.next())?),
                Some("--mcp-server") => mcp_server = Some(json(&name, args.next())?),
                Some("--") => break,
                _ => return Err(BadOptions(format!("unknown option `{}`", name.display()))),
            }
        }
        let Some(program) = args.next() else {
            return Err(BadOptions("the command after `--` is missing".to_owned()));
        };
        Ok(Self {
            model,
            resume,
            mcp_server,
            program,
            args: args.collect(),
        })
    }
}

fn text(name: &OsString, value: Option<OsString>) -> Result<String, BadOptions> {
    let value = value.and_then(|value| value.into_string().ok());
    value.ok_or_else(|| BadOptions(format!("`{}` needs a value", name.display())))
}

fn json(name: &OsString, value: Option<OsString>) -> Result<Value, BadOptions> {
    let text = text(name, value)?;
    serde_json::from_str(&text)
        .map_err(|error| BadOptions(format!("`{}` is not JSON: {error}", name.display())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(args: &[&str]) -> Result<Options, BadOptions> {
        Options::parse(args.iter().map(Into::into))
    }

    #[test]
    fn arguments_after_the_dashes_belong_to_the_agent() {
        let options = parse(&[
            "--model",
            "m",
            "--resume",
            "s",
            "--mcp-server",
            r#"{"name":"x"}"#,
            "--",
            "a",
            "--model",
            "--",
        ]);
        let expected = Options {
            model: Some("m".into()),
            resume: Some("s".into()),
            mcp_server: Some(json!({"name": "x"})),
            program: "a".into(),
            args: vec!["--model".into(), "--".into()],
        };
        assert_eq!(options, Ok(expected));
    }

    #[test]
    fn invalid_arguments_are_refused() {
        for args in [
            &[][..],
            &["--"],
            &["a"],
            &["--model"],
            &["--mcp-server", "{", "--", "a"],
            &["--what", "--", "a"],
        ] {
            assert!(parse(args).is_err(), "{args:?}");
        }
    }
}
