//! The prompt of a replay: the recorded one or, where a conversation went on, all prompts of the
//! attempt up to it.
//!
//! Invariant: word for word as recorded, or none: a prompt that is shortened or has secrets
//! replaced is not what the agent was told.

use std::io;

use super::load;
use crate::daemon::Paths;
use crate::daemon::provenance::log;
use crate::domain::ids::RunId;
use crate::view::provenance::{Record, RecordView};

/// What the agent is told, or why that is unknown.
pub(super) fn of(paths: &Paths, record: &Record) -> io::Result<Result<String, String>> {
    let resumed = record.inputs.conversation.as_ref();
    if !resumed.is_some_and(|it| it.resumed) {
        return Ok(words(record).map(str::to_owned));
    }
    let log = log::records(paths, u64::MAX).map_err(io::Error::other)?;
    let is_earlier = |line: &&RecordView| {
        line.agent.as_str() == record.agent && line.iteration < record.iteration
    };
    let mut prompts = Vec::new();
    let earlier: Vec<&RecordView> = log.lines.iter().filter(is_earlier).collect();
    for line in earlier {
        match earlier_prompt(paths, &line.run, line.sha256.as_deref())? {
            Ok(prompt) => prompts.push(prompt),
            Err(why) => return Ok(Err(why)),
        }
    }
    if prompts.len() + 1 != record.iteration as usize {
        let why = "not every earlier iteration of its attempt has a record";
        return Ok(Err(why.to_owned()));
    }
    Ok(words(record).map(|last| restated(&prompts, last)))
}

fn earlier_prompt(
    paths: &Paths,
    run: &RunId,
    sha256: Option<&str>,
) -> io::Result<Result<String, String>> {
    let Some(sha256) = sha256 else {
        let why = format!("the iteration {run}, which it continues, has no record");
        return Ok(Err(why));
    };
    let record = load(paths, run, sha256)?;
    Ok(record.and_then(|record| words(&record).map(str::to_owned)))
}

fn words(record: &Record) -> Result<&str, String> {
    let run = &record.run;
    let prompt = record.inputs.prompt.as_ref();
    let prompt = prompt.ok_or_else(|| format!("the prompt of {run} is unknown"))?;
    if prompt.redacted > 0 {
        return Err(format!(
            "the prompt of {run} had secrets, which no record keeps"
        ));
    }
    let text = prompt.text.as_deref();
    text.ok_or_else(|| format!("the prompt of {run} is too long for a record"))
}

/// The earlier prompts, each marked as restated, and the last one.
fn restated(earlier: &[String], last: &str) -> String {
    let count = earlier.len() + 1;
    let mut text = format!(
        "You have had {count} prompts in this conversation. The earlier ones are restated.\nYour \
        answers are not, but your work up to the last prompt is in the worktree.\n"
    );
    for (number, prompt) in (1..).zip(earlier) {
        let heading = format!("\n## Prompt {number} of {count} (restated)\n\n");
        text.extend([heading.as_str(), prompt.trim_end(), "\n"]);
    }
    text.extend([format!("\n## Prompt {count} of {count}\n\n").as_str(), last]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_prompts_are_marked_as_restated_and_the_last_one_is_not() {
        let text = restated(
            &["Say hello.\n".to_owned(), "Go on.".to_owned()],
            "Finish.\n",
        );
        insta::assert_snapshot!(text, @r"
        You have had 3 prompts in this conversation. The earlier ones are restated.
        Your answers are not, but your work up to the last prompt is in the worktree.

        ## Prompt 1 of 3 (restated)

        Say hello.

        ## Prompt 2 of 3 (restated)

        Go on.

        ## Prompt 3 of 3

        Finish.
        ");
    }
}
