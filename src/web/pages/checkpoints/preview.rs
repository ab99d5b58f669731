//! What a rollback would change, drawn for the checkpoint's page and for the dialogs.
//!
//! Invariant: every figure is of one [`Preview`], the same that `swarm rollback --dry-run` prints.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use maud::{Markup, html};

use crate::daemon::checkpoints::list::{Lost, Preview};
use crate::domain::ids::CheckpointName;
use crate::web::Site;
use crate::web::parts::{commands, commit, many};

/// An open page asks git no more often than this.
const FRESH: Duration = Duration::from_secs(2);
/// Entries of a kind that are open at once.
const OPEN: usize = 5;
/// Entries of a kind at all; `swarm rollback --dry-run --json` has the others.
const SHOWN: usize = 200;

/// The previews of open pages.
#[derive(Default)]
pub struct Previews(Mutex<Option<(CheckpointName, Instant, Arc<Preview>)>>);

impl Previews {
    /// The preview for an open page. An update may be [`FRESH`] old.
    ///
    /// # Errors
    /// Git cannot be asked.
    pub async fn get(
        &self,
        site: &Site,
        name: &CheckpointName,
        is_update: bool,
    ) -> Result<Arc<Preview>, String> {
        if is_update && let Some(preview) = self.kept(name) {
            return Ok(preview);
        }
        let preview = Arc::new(site.api.control.preview(name).await?);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some((name.clone(), Instant::now(), Arc::clone(&preview)));
        Ok(preview)
    }

    fn kept(&self, name: &CheckpointName) -> Option<Arc<Preview>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (its, made, preview) = kept.as_ref()?;
        (its == name && made.elapsed() < FRESH).then(|| Arc::clone(preview))
    }
}

/// The words of the button: `Roll back 5 commits, 2 ideas`.
pub fn button(preview: &Preview) -> String {
    let (lost, regained) = (preview.commits_lost.len(), preview.commits_regained.len());
    let mut parts = Vec::new();
    if lost > 0 {
        parts.push(many(lost, "commit"));
    }
    if regained > 0 && lost > 0 {
        parts.push(format!("bring back {}", many(regained, "commit")));
    } else if regained > 0 {
        parts.push(many(regained, "commit"));
    }
    if !preview.ideas_reverted.is_empty() {
        parts.push(many(preview.ideas_reverted.len(), "idea"));
    }
    let verb = if regained > 0 && lost == 0 {
        "Bring back"
    } else {
        "Roll back"
    };
    if parts.is_empty() {
        return verb.to_owned();
    }
    format!("{verb} {}", parts.join(", "))
}

/// Whether it can be done as things are.
pub fn is_possible(preview: &Preview) -> bool {
    preview.problem.is_none() && preview.dirty_files.is_empty()
}

/// All that would change. `afterwards` is what follows: a checkbox, or words.
pub fn changes(preview: &Preview, branch: &str, afterwards: &Markup) -> Markup {
    html! {
        dl .pv {
            @if let Some(problem) = &preview.problem {
                dt { "Not possible" } dd .c-bad { (problem) }
            }
            dt { (branch) } dd { (target(preview)) }
            dt { "Ideas" } dd { (ideas(preview)) }
            dt { "Agents" } dd { (agents(preview)) }
            dt { "Messages" } dd { (messages(preview)) }
            dt { "Your files" } dd { (files(preview)) }
            dt { "Afterwards" } dd { (afterwards) }
            dt { "Undo" } dd {
                "The checkpoint " code { "before-rollback-…" } " is made first. Rolling back to it \
                undoes this: " code { "swarm undo" }
            }
        }
    }
}

/// What follows if nobody says otherwise.
pub fn stays_paused(preview: &Preview) -> Markup {
    html! {
        "swarm stays paused until you resume it."
        (starting(preview, "Then"))
    }
}

/// The ideas that go on, by their names; `when` begins the sentence.
pub fn starting(preview: &Preview, when: &str) -> Markup {
    let all = &preview.ideas_starting;
    html! { @if !all.is_empty() {
        p { (when) " " (many(all.len(), "idea"))
            @if all.len() == 1 { " starts:" } @else { " start:" } }
        (folded(all, |id| html! { span .id { (id) } }))
    } }
}

fn target(preview: &Preview) -> Markup {
    let (lost, regained) = (&preview.commits_lost, &preview.commits_regained);
    html! {
        @match &preview.from {
            Some(from) if *from == preview.commit => { "stays at " (commit(from)) },
            Some(from) => { "goes from " (commit(from)) " to " (commit(&preview.commit)) },
            None => { "goes to " (commit(&preview.commit)) },
        }
        @if !lost.is_empty() { "; " (leave(lost.len())) (own(lost)) (commits(lost)) }
        @if !regained.is_empty() {
            p { (many(regained.len(), "commit"))
                @if regained.len() == 1 { " comes back" } @else { " come back" } }
            (commits(regained))
        }
    }
}

fn leave(count: usize) -> String {
    match count {
        1 => "1 commit leaves it".to_owned(),
        count => format!("{count} commits leave it"),
    }
}

fn own(commits: &[Lost]) -> Markup {
    let own = commits.iter().filter(|one| one.own).count();
    html! { @if own > 0 {
        ", " b { (own) } @if own == 1 { " of them is" } @else { " of them are" }
        " not from a landing of swarm"
    } }
}

/// Newest first, but before all those that no landing brought: no idea brings them again.
fn commits(all: &[Lost]) -> Markup {
    let (own, landed): (Vec<&Lost>, Vec<&Lost>) = all.iter().partition(|one| one.own);
    let ordered: Vec<&Lost> = own.into_iter().chain(landed).collect();
    folded(&ordered, |one| {
        html! {
            (commit(&one.commit)) span .cut { (one.subject) }
            @if one.own { span .tag.wait { "not from swarm" } }
        }
    })
}

/// The first entries, and the others behind a fold.
fn folded<T>(all: &[T], one: impl Fn(&T) -> Markup) -> Markup {
    let (open, rest) = all.split_at(all.len().min(OPEN));
    let (rest, unshown) = rest.split_at(rest.len().min(SHOWN));
    html! {
        ul { @for entry in open { li { (one(entry)) } } }
        @if !rest.is_empty() {
            details {
                summary .dim { (all.len() - OPEN) " more" }
                ul { @for entry in rest { li { (one(entry)) } } }
                @if !unshown.is_empty() { p .dim { "and " (unshown.len()) " more" } }
            }
        }
    }
}

fn ideas(preview: &Preview) -> Markup {
    let all = &preview.ideas_reverted;
    html! {
        @if all.is_empty() { "None changes; " } @else {
            b { (all.len()) } @if all.len() == 1 { " changes; " } @else { " change; " }
        }
        "work in progress starts again from what the checkpoint holds"
        (folded(all, |one| html! {
            span .id { (one.id) }
            span .cut { (one.from.as_str()) " → " (one.to.as_str()) }
        }))
    }
}

fn agents(preview: &Preview) -> Markup {
    let all = &preview.agents_stopped;
    html! {
        @if all.is_empty() { "None works." } @else {
            (many(all.len(), "agent"))
            @if all.len() == 1 { " is stopped; its work is kept" }
            @else { " are stopped; their work is kept" }
            (folded(all, |one| html! {
                span .id { (one.id) }
                span .cut { "on " (one.idea_id) ", iteration " (one.iteration) }
            }))
        }
    }
}

fn messages(preview: &Preview) -> Markup {
    let all = &preview.messages_dropped;
    html! {
        @if all.is_empty() { "None is lost." } @else {
            (all.len()) " will reach nobody"
            (folded(all, |one| html! {
                span .id { (one.idea_id) } span .cut { "“" (one.message) "”" }
            }))
        }
    }
}

fn files(preview: &Preview) -> Markup {
    let all = &preview.dirty_files;
    html! {
        @if all.is_empty() { "None is in the way." } @else {
            span .c-wait { (many(all.len(), "file")) " with uncommitted changes in the way" }
            (folded(all, |one| html! { code .cut { (one) } }))
            @if !preview.commands.is_empty() {
                p { "Put them aside; after the rollback, " code { "git stash pop" }
                    " brings them back:" }
                (commands(&preview.commands))
            }
        }
    }
}
