//! Arguments of the scripted agent.
//!
//! Invariant: an unknown argument is an error, never ignored.

use std::ffi::OsString;
use std::time::Duration;

/// Options of the scripted agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    /// Seed of the pause lengths.
    pub(super) seed: u64,
    /// Length of pauses, in percent of the normal length.
    pub(super) pace: u32,
    /// How long it waits to be killed before it continues.
    pub(super) patience: Duration,
}

/// Invalid arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}; usage: --seed N, --pace PERCENT, --patience-ms N")]
pub(super) struct BadOptions(String);

impl Options {
    pub(super) fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Self, BadOptions> {
        let mut options = Self {
            seed: 1,
            pace: 100,
            patience: Duration::from_secs(30),
        };
        while let Some(name) = args.next() {
            match name.to_str() {
                Some("--seed") => options.seed = number(&name, args.next())?,
                Some("--pace") => options.pace = number(&name, args.next())?,
                Some("--patience-ms") => {
                    options.patience = Duration::from_millis(number(&name, args.next())?);
                }
                _ => {
                    return Err(BadOptions(format!("unknown option `{}`", name.display())));
                }
            }
        }
        Ok(options)
    }
}

fn number<T: std::str::FromStr>(name: &OsString, value: Option<OsString>) -> Result<T, BadOptions> {
    let value = value.unwrap_or_default();
    let parsed = value.to_str().and_then(|value| value.parse().ok());
    parsed.ok_or_else(|| {
        BadOptions(format!(
            "`{}` is not a valid number for `{}`",
            value.display(),
            name.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;

    fn parse(args: &[&str]) -> Result<Options, BadOptions> {
        Options::parse(args.iter().map(OsString::from))
    }

    #[test]
    fn options_are_parsed_or_refused() {
        let options = parse(&["--seed", "7", "--patience-ms", "5", "--pace", "0"]).unwrap();
        assert_eq!((options.seed, options.pace), (7, 0));
        assert_eq!(options.patience, Duration::from_millis(5));
        for bad in [
            &["--seed"][..],
            &["--seed", "x"],
            &["--what"],
            &["--pace", "-1"],
        ] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
