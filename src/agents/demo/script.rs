//! What the scripted agent does in one iteration, as data.
//!
//! Invariant: every script can be restarted from the beginning in a worktree where it ran in part.

use super::scenario::titles;

/// Everything the script depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Situation<'a> {
    pub(super) idea_id: &'a str,
    pub(super) title: Option<&'a str>,
    pub(super) attempt: u32,
    pub(super) iteration: u32,
    /// The prompt contains the output of a failed check.
    pub(super) has_feedback: bool,
    /// The prompt contains a recovery context.
    pub(super) recovers: bool,
}

/// One action of the scripted agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Prints a line.
    Say(String),
    /// Prints a signal, given here without its tags.
    Signal(&'static str),
    /// Pauses briefly.
    Pause,
    /// Writes a whole file.
    Write(String, String),
    /// Changes one line of a file. If the line is gone, adds the new line below the first line that
    /// starts with the old line's first word.
    ChangeLine {
        path: &'static str,
        old: &'static str,
        new: &'static str,
    },
    /// Appends a line to a file that does not contain it.
    AddLine(&'static str, &'static str),
    /// Commits everything with this subject.
    Commit(String),
    /// Repeats a line of the prompt that explains a signal, as agents do.
    QuotePrompt,
    /// Announces that it can be killed now, and waits for it.
    WaitToBeKilled,
}

/// The title of the demo idea in a prompt, if it is one of those made for the demo.
pub(super) fn title_in(prompt: &str) -> Option<&'static str> {
    const TITLES: [&str; 8] = [
        titles::CONTACT,
        titles::HOURS,
        titles::READY_AT_SIX,
        titles::CAKES,
        titles::PRICES,
        titles::MOTTO,
        titles::LINK_CONTACT,
        titles::SITE_MAP,
    ];
    let of_line = |line: &str| TITLES.into_iter().find(|title| *title == line.trim());
    prompt.lines().find_map(of_line)
}

/// The steps of this iteration.
pub(super) fn steps(situation: &Situation<'_>) -> Vec<Step> {
    match situation.title {
        Some(titles::CONTACT) => contact(situation),
        Some(titles::HOURS) => hours(situation),
        Some(titles::READY_AT_SIX) => home_line("Fresh bread every day, ready at six."),
        Some(titles::CAKES) => home_line("Fresh bread and cakes every day."),
        Some(titles::PRICES) => prices(situation),
        Some(titles::MOTTO) => motto(),
        Some(titles::LINK_CONTACT) => link_contact(),
        Some(titles::SITE_MAP) => site_map(),
        _ => plain_page(situation.idea_id),
    }
}

fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

fn write(path: &str, content: &str) -> Step {
    Step::Write(path.to_owned(), content.to_owned())
}

fn commit(subject: &str) -> Step {
    Step::Commit(subject.to_owned())
}

const SHORT_LINES: &str = "LEARNING_GLOBAL:check.sh rejects lines longer than 60 characters";

/// Two iterations, each with its own commit.
fn contact(situation: &Situation<'_>) -> Vec<Step> {
    const ADDRESS: &str = "title: Contact\n\nMill Street 7, between the river and the school.\n";
    if situation.iteration == 1 {
        return vec![
            say("I start with the address."),
            Step::Pause,
            write("pages/contact.txt", ADDRESS),
            commit("Add a contact page with the address"),
            Step::Signal(SHORT_LINES),
            Step::Signal("PROGRESS:50"),
            Step::Pause,
        ];
    }
    vec![
        say("The telephone number is still missing."),
        Step::Pause,
        Step::Write(
            "pages/contact.txt".to_owned(),
            format!("{ADDRESS}\nTelephone: 555 0199. Ask for the cake book.\n\nlink: home\n"),
        ),
        commit("Say how to call the bakery"),
        Step::Signal("PROGRESS:100"),
        Step::Signal("COMPLETE"),
    ]
}

/// Fails the check until the prompt contains its output.
fn hours(situation: &Situation<'_>) -> Vec<Step> {
    const HOURS: &str = "title: Opening hours\n\nTuesday to Saturday, six to two.\n";
    if situation.has_feedback {
        return vec![
            say("The check says that the link leads nowhere. I use one that works."),
            Step::Pause,
            Step::Write(
                "pages/hours.txt".to_owned(),
                format!("{HOURS}\nlink: home\n"),
            ),
            commit("Fix the link on the page with the opening hours"),
            Step::Signal("LEARNING_LOCAL:run check.sh before finishing"),
            Step::Signal("COMPLETE"),
        ];
    }
    vec![
        say("I write the page and link the directions."),
        Step::Pause,
        Step::Write(
            "pages/hours.txt".to_owned(),
            format!("{HOURS}\nlink: directions\n"),
        ),
        commit("Add a page with the opening hours"),
        Step::Signal("PROGRESS:90"),
        Step::Pause,
        Step::Signal("COMPLETE"),
    ]
}

fn home_line(new: &'static str) -> Vec<Step> {
    vec![
        say("I change the line about the bread on the home page."),
        Step::Pause,
        Step::ChangeLine {
            path: "pages/home.txt",
            old: "Fresh bread every day.",
            new,
        },
        Step::Signal("PROGRESS:80"),
        Step::Pause,
        Step::Commit(format!("Home page: {new}")),
        Step::Signal("COMPLETE"),
    ]
}

/// Waits to be killed in its first attempt, with uncommitted work.
fn prices(situation: &Situation<'_>) -> Vec<Step> {
    const BREAD: &str = "title: Prices\n\nBread: 4\n";
    let mut steps = Vec::new();
    if situation.attempt == 1 && !situation.recovers {
        steps.extend([
            say("Bread comes first."),
            Step::Pause,
            write("pages/prices.txt", BREAD),
            Step::Signal("PROGRESS:30"),
            Step::WaitToBeKilled,
        ]);
    } else if situation.recovers {
        steps.push(say(
            "An earlier agent got as far as the bread, and its work is still here. I continue from \
            there.",
        ));
        steps.push(Step::Signal("PROGRESS:60"));
    }
    steps.extend([
        Step::Pause,
        Step::Write(
            "pages/prices.txt".to_owned(),
            format!("{BREAD}Rolls: 1\nCakes: 20\n\nlink: home\n"),
        ),
        commit("Add a price list"),
        Step::Signal("COMPLETE"),
    ]);
    steps
}

/// Leaves its work uncommitted, so that swarm commits it.
fn motto() -> Vec<Step> {
    vec![
        say("I ask the oven for a motto."),
        Step::Pause,
        Step::Signal(SHORT_LINES),
        Step::Signal("PROGRESS:50"),
        Step::Pause,
        write("motto.txt", "Slow dough, quick hands.\n"),
        Step::Signal("COMPLETE"),
    ]
}

fn link_contact() -> Vec<Step> {
    vec![
        Step::QuotePrompt,
        Step::Pause,
        Step::AddLine("pages/about.txt", "link: contact"),
        commit("Link the contact page from the about page"),
        Step::Signal("COMPLETE"),
    ]
}

fn site_map() -> Vec<Step> {
    vec![
        say("All pages exist. I list them."),
        Step::Pause,
        write(
            "pages/sitemap.txt",
            "title: Site map\n\nlink: home\nlink: about\nlink: contact\nlink: hours\nlink: \
            prices\n",
        ),
        Step::Signal("PROGRESS:90"),
        Step::Pause,
        Step::Signal("COMPLETE"),
    ]
}

/// Any other idea gets its own page.
fn plain_page(idea_id: &str) -> Vec<Step> {
    vec![
        say("I write a page for this idea."),
        Step::Pause,
        Step::Write(
            format!("pages/{idea_id}.txt"),
            format!("title: {idea_id}\n\nWritten by the demo's agent.\n"),
        ),
        Step::Pause,
        Step::Commit(format!("Add a page for {idea_id}")),
        Step::Signal("COMPLETE"),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::scenario::ideas;
    use super::*;

    fn situation(title: Option<&str>) -> Situation<'_> {
        Situation {
            idea_id: "idea-009",
            title,
            attempt: 1,
            iteration: 1,
            has_feedback: false,
            recovers: false,
        }
    }

    #[test]
    fn every_demo_idea_has_its_own_script() {
        for (number, idea) in (1..).zip(ideas(9)) {
            let prompt = format!("## The idea\n\n{}\n", idea.text);
            let title = title_in(&prompt);
            assert_eq!(title.is_some(), number <= 8, "{number}");
            let plain = steps(&situation(title)) == plain_page("idea-009");
            assert_eq!(plain, number == 9, "{number}");
        }
    }

    #[test]
    fn the_price_list_waits_to_be_killed_only_once() {
        let mut now = situation(Some(titles::PRICES));
        assert!(steps(&now).contains(&Step::WaitToBeKilled));
        now.attempt = 2;
        assert!(!steps(&now).contains(&Step::WaitToBeKilled));
        now.recovers = true;
        assert!(!steps(&now).contains(&Step::WaitToBeKilled));
    }

    #[test]
    fn only_feedback_fixes_the_opening_hours() {
        let broken = |now: &Situation<'_>| {
            steps(now).iter().any(
                |step| matches!(step, Step::Write(_, content) if content.contains("directions")),
            )
        };
        let mut now = situation(Some(titles::HOURS));
        assert!(broken(&now));
        now.iteration = 2;
        assert!(broken(&now));
        now.has_feedback = true;
        assert!(!broken(&now));
    }
}
