//! Small pieces of markup: icons, statuses, times, money.
//!
//! Invariant: a colour never stands alone: each comes with a shape or a word.

use maud::{Markup, html};

use crate::domain::ids::Oid;
use crate::domain::lifecycle::{AttemptPhase, SwarmPhase};
use crate::domain::state::IdeaStatus;
use crate::domain::time::Timestamp;
use crate::view::UsedView;

/// An icon of the sprite, for the eye alone: words stand beside it.
pub fn icon(name: &str) -> Markup {
    html! { svg .i aria-hidden="true" { use href={ "#" (name) } {} } }
}

/// An icon in a colour: `run`, `wait`, `ok`, `bad`, `join`, `past` or `idle`.
pub fn tinted(name: &str, tone: &str) -> Markup {
    html! { svg class={ "i c-" (tone) } aria-hidden="true" { use href={ "#" (name) } {} } }
}

/// The icon and the tone of an idea's status.
pub fn look(status: IdeaStatus) -> (&'static str, &'static str) {
    match status {
        IdeaStatus::Pending => ("ring", "idle"),
        IdeaStatus::Active => ("run", "run"),
        IdeaStatus::Merging => ("half", "join"),
        IdeaStatus::Blocked => ("stopped", "wait"),
        IdeaStatus::Done => ("ok", "ok"),
        IdeaStatus::Failed | IdeaStatus::Timeout => ("x", "bad"),
        IdeaStatus::Cancelled => ("stopped", "idle"),
    }
}

/// A status as a label: `Done`.
pub fn label(status: IdeaStatus) -> &'static str {
    match status {
        IdeaStatus::Pending => "Pending",
        IdeaStatus::Active => "Active",
        IdeaStatus::Merging => "Merging",
        IdeaStatus::Blocked => "Blocked",
        IdeaStatus::Done => "Done",
        IdeaStatus::Failed => "Failed",
        IdeaStatus::Timeout => "Hit its limit",
        IdeaStatus::Cancelled => "Cancelled",
    }
}

/// An idea's status with its icon.
pub fn status(status: IdeaStatus) -> Markup {
    let (name, tone) = look(status);
    html! { span .st { (tinted(name, tone)) " " (label(status)) } }
}

/// A swarm's phase, its icon and tone.
pub fn phase(phase: SwarmPhase) -> (&'static str, &'static str, &'static str) {
    match phase {
        SwarmPhase::Running => ("Running", "run", "run"),
        SwarmPhase::Pausing => ("Pausing", "pause", "wait"),
        SwarmPhase::Paused => ("Paused", "pause", "wait"),
        SwarmPhase::Recovering => ("Recovering", "half", "run"),
        SwarmPhase::RollingBack => ("Rolling back", "back", "wait"),
        SwarmPhase::Draining => ("Stopping", "half", "wait"),
        SwarmPhase::Stopped => ("Stopped", "ring", "idle"),
    }
}

/// What an agent does.
pub fn doing(phase: AttemptPhase) -> &'static str {
    match phase {
        AttemptPhase::Queued => "Waits to start",
        AttemptPhase::Preparing => "Preparing its worktree",
        AttemptPhase::Starting => "Starting",
        AttemptPhase::Working => "Working",
        AttemptPhase::Gating => "Being checked",
        AttemptPhase::Stopping => "Stopping",
        AttemptPhase::WaitingForHuman => "Waits for you",
        AttemptPhase::Backoff => "Waits before its next try",
        AttemptPhase::ReadyToMerge => "In the merge train",
        AttemptPhase::Merged => "Landed",
        AttemptPhase::Failed => "Failed",
        AttemptPhase::Released => "Ended",
    }
}

/// The first line of a text, as a title.
pub fn title(text: &str) -> &str {
    let line = text.trim_start().lines().next().unwrap_or_default();
    line.trim_start_matches('#').trim()
}

/// A commit, shortened; `title` has all of it.
pub fn commit(oid: &Oid) -> Markup {
    let text = oid.as_str();
    let short = text.get(..8).unwrap_or(text);
    html! { code .dim title=(text) { (short) } }
}

/// A span of time: `8 s`, `12 min`, `1 h 20`, `3 days`.
pub fn span(millis: i64) -> String {
    let seconds = millis.max(0) / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (minutes, hours, days) {
        (0, ..) => format!("{seconds} s"),
        (minutes, 0, _) => format!("{minutes} min"),
        (minutes, hours, 0 | 1) => format!("{hours} h {:02}", minutes % 60),
        (.., days) => format!("{days} days"),
    }
}

/// A time of day in the local zone; the title has the date.
pub fn clock(time: Timestamp) -> Markup {
    html! { time datetime=(time.to_string()) title=(local(time, "%Y-%m-%d %H:%M:%S")) {
        (local(time, "%H:%M"))
    } }
}

/// A time in the local zone, as `format` says.
pub fn local(time: Timestamp, format: &str) -> String {
    match jiff::Timestamp::from_millisecond(time.millis()) {
        Ok(instant) => {
            let zoned = instant.to_zoned(jiff::tz::TimeZone::system());
            zoned.strftime(format).to_string()
        }
        Err(_) => time.to_string(),
    }
}

/// What was used, in dollars; told and estimated together. `None`: nothing is known of it.
pub fn dollars(used: &UsedView) -> Option<String> {
    let known = used.usd + used.estimated_usd;
    let is_unknown = used.runs > 0 && used.runs_without_cost == used.runs && known == 0.0;
    (!is_unknown && used.runs > 0).then(|| format!("${known:.2}"))
}

/// What was used in tokens: `412 k tokens, 90 % from the cache`.
pub fn tokens(used: &UsedView) -> Option<String> {
    let tokens = &used.tokens;
    let all = tokens.input + tokens.cached + tokens.cache_written + tokens.output;
    if all == 0 {
        return None;
    }
    let read = tokens.input + tokens.cached + tokens.cache_written;
    let from_cache = (tokens.cached * 100).checked_div(read).unwrap_or(0);
    Some(format!(
        "{} tokens, {from_cache} % from the cache",
        short_count(all)
    ))
}

/// A count: `950`, `412 k`, `6.1 M`.
#[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
pub fn short_count(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{} k", count / 1_000),
        _ => format!("{:.1} M", count as f64 / 1e6),
    }
}

/// A count with a noun: `1 idea`, `3 ideas`.
pub fn many(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

/// A number up to twelve as a word, for sentences.
pub fn word(count: usize) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    WORDS
        .get(count)
        .map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

/// A text that begins with a capital letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// Entries of an open-ended list that a page shows at most.
pub const MOST: usize = 50;

/// The end of a list of which a page shows [`MOST`] entries: how many more there are.
pub fn and_more(all: usize) -> Markup {
    let more = all.saturating_sub(MOST);
    html! { @if more > 0 { p .sub.sec2 { "And " (more) " more." } } }
}

/// Commands to type, each with a button that copies it.
pub fn commands(commands: &[String]) -> Markup {
    html! { ol .do.cmds {
        @for (index, command) in commands.iter().enumerate() {
            li .cmd {
                code tabindex="0" { (command) }
                button .b.quiet.sq type="button" data-copy=(command)
                    aria-label={ "Copy command " (index + 1) } { (icon("copy")) }
            }
        }
    } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_counts_are_short() {
        let spans = [(8_900, "8 s"), (720_000, "12 min"), (4_800_000, "1 h 20")];
        for (millis, expected) in spans {
            assert_eq!(span(millis), expected);
        }
        assert_eq!(short_count(412_345), "412 k");
        assert_eq!(short_count(6_100_000), "6.1 M");
        assert_eq!(many(1, "idea"), "1 idea");
        assert_eq!(capital(&word(4)), "Four");
    }

    #[test]
    fn a_title_is_the_first_line_without_its_heading_mark() {
        assert_eq!(title("\n# Add a page\n\nwith hours"), "Add a page");
    }
}
