//! The adapter `command`: any program that reads the prompt on standard input and prints plain
//! text.
//!
//! Invariant: the agent's messages are the output, byte for byte.

use super::adapter::{
    Adapter, AdapterError, Launch, LaunchContext, StartedAs, UsageReporting, program_path,
};
use super::stream::{Conclusion, OutputReader, Said};
use crate::domain::observation::RunEndKind;

/// Starts the profile's `command`, followed by its `args`. Ignores `model`: a program with a choice
/// takes it from `args` or `env`.
#[derive(Debug)]
pub struct CommandAdapter;

/// Passes the output on as messages.
#[derive(Debug)]
pub struct PlainReader;

impl Adapter for CommandAdapter {
    fn launch(&self, context: &LaunchContext<'_>) -> Result<Launch, AdapterError> {
        let profile = context.profile;
        let Some((program, first)) = profile.command.split_first() else {
            return Err(AdapterError::NoCommand {
                profile: profile.name.clone(),
            });
        };
        let args = first.iter().chain(&profile.args).map(Into::into).collect();
        context.launch(program_path(program, &context.work.repository), args)
    }

    fn reader(&self, _started: &StartedAs) -> Box<dyn OutputReader + Send> {
        Box::new(PlainReader)
    }

    fn at_end(&self) -> UsageReporting {
        UsageReporting::Nothing
    }
}

impl OutputReader for PlainReader {
    fn push(&mut self, raw: &[u8], said: &mut Vec<Said>) {
        said.push(Said::Text(raw.to_vec()));
    }

    fn finish(&mut self, _said: &mut Vec<Said>) {}

    fn conclude(&self, _end: &RunEndKind, _stderr: &str) -> Conclusion {
        Conclusion::default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use std::ffi::OsStr;
    use std::path::Path;

    use super::*;
    use crate::agents::adapter::Conversation;
    use crate::agents::environment::{Environment, WorkVariables};
    use crate::agents::stream::text_of;
    use crate::agents::{AdapterKind, Profile};

    fn launch(
        command: &[&str],
        args: &[&str],
        env: &[(&str, &str)],
    ) -> Result<Launch, AdapterError> {
        let strings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let profile = Profile {
            name: "local".into(),
            adapter: AdapterKind::Command,
            model: None,
            account: None,
            command: strings(command),
            args: strings(args),
            env: env
                .iter()
                .map(|(k, v)| ((*k).into(), (*v).into()))
                .collect(),
        };
        let work = WorkVariables {
            prompt_file: "/r/p".into(),
            idea_id: "idea-001".into(),
            agent: "ed-001".into(),
            run_id: "r-1".into(),
            attempt: 1,
            iteration: 1,
            worktree: "/r/w".into(),
            branch: "b".into(),
            repository: "/r".into(),
            own_program: "/usr/bin/swarm".into(),
            ..WorkVariables::default()
        };
        CommandAdapter.launch(&LaunchContext {
            profile: &profile,
            work: &work,
            inherited: &Environment::new(),
            pass: &[],
            identity: None,
            own_program: "/bin/swarm".into(),
            memory: None,
            guard: None,
            talk: Conversation::New("s-1".parse().unwrap()),
        })
    }

    #[test]
    fn programs_are_found_on_path_or_in_the_repository() {
        for (program, expected) in [
            ("python3", "python3"),
            ("tools/agent", "/r/tools/agent"),
            ("./agent", "/r/./agent"),
            ("/opt/agent", "/opt/agent"),
        ] {
            let launch = launch(&[program], &[], &[]).unwrap();
            assert_eq!(launch.program, Path::new(expected));
        }
    }

    #[test]
    fn arguments_follow_the_command() {
        let launch = launch(&["python3", "a.py"], &["--fast"], &[("KEY", "v")]).unwrap();
        assert_eq!(launch.args, ["a.py", "--fast"]);
        assert_eq!(launch.env[OsStr::new("KEY")], "v");
        assert_eq!(launch.env[OsStr::new("SWARM_WORKTREE")], "/r/w");
    }

    #[test]
    fn a_profile_that_cannot_start_is_refused() {
        assert!(matches!(
            launch(&[], &[], &[]),
            Err(AdapterError::NoCommand { .. })
        ));
        for (command, env) in [
            (&["a\0"][..], &[][..]),
            (&[""], &[]),
            (&["a", "b\0"], &[]),
            (&["a"], &[("A=B", "")]),
            (&["a"], &[("A", "\0")]),
        ] {
            let refused = launch(command, &[], env);
            assert!(
                matches!(refused, Err(AdapterError::Unusable { .. })),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn the_messages_are_the_output() {
        let mut said = Vec::new();
        let mut reader = CommandAdapter.reader(&StartedAs::plain());
        reader.push(b"a\xff", &mut said);
        reader.push(b"b", &mut said);
        reader.finish(&mut said);
        assert_eq!(text_of(&said), b"a\xffb");
    }
}
