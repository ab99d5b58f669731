//! The arguments of the bridge.
//!
//! Invariant: an argument that is not understood is an error; what stands after `--` is the agent's.

use std::ffi::OsString;

/// What the bridge is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    /// The model to ask for.
    pub(super) model: Option<String>,
    /// The conversation to take up.
    pub(super) resume: Option<String>,
    /// The agent's program.
    pub(super) program: OsString,
    /// Its arguments.
    pub(super) args: Vec<OsString>,
}

/// Arguments that make no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0}; usage: [--model MODEL] [--resume SESSION] -- COMMAND [ARGUMENT...], the prompt on standard input"
)]
pub(super) struct BadOptions(String);

impl Options {
    pub(super) fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Self, BadOptions> {
        let (mut model, mut resume) = (None, None);
        loop {
            let Some(name) = args.next() else {
                return Err(BadOptions("there is no command after `--`".to_owned()));
            };
            match name.to_str() {
                Some("--model") => model = Some(text(&name, args.next())?),
                Some("--resume") => resume = Some(text(&name, args.next())?),
                Some("--") => break,
                _ => return Err(BadOptions(format!("`{}` is no option", name.display()))),
            }
        }
        let Some(program) = args.next() else {
            return Err(BadOptions("there is no command after `--`".to_owned()));
        };
        Ok(Self {
            model,
            resume,
            program,
            args: args.collect(),
        })
    }
}

fn text(name: &OsString, value: Option<OsString>) -> Result<String, BadOptions> {
    let value = value.and_then(|value| value.into_string().ok());
    value.ok_or_else(|| BadOptions(format!("there is no text after `{}`", name.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Options, BadOptions> {
        Options::parse(args.iter().map(Into::into))
    }

    #[test]
    fn what_stands_after_the_dashes_is_the_agents() {
        let options = parse(&["--model", "m", "--resume", "s", "--", "a", "--model", "--"]);
        let expected = Options {
            model: Some("m".into()),
            resume: Some("s".into()),
            program: "a".into(),
            args: vec!["--model".into(), "--".into()],
        };
        assert_eq!(options, Ok(expected));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for args in [
            &[][..],
            &["--"],
            &["a"],
            &["--model"],
            &["--what", "--", "a"],
        ] {
            assert!(parse(args).is_err(), "{args:?}");
        }
    }
}
