//! Beside an idea: what happened last, what stands around it, and its facts.

use maud::{Markup, html};

use super::graph::{Size, picture};
use crate::domain::ids::{IdeaId, Oid};
use crate::domain::settings::Mode;
use crate::domain::state::{Audit, IdeaStatus, State};
use crate::view::{self, AgentView, GraphView, IdeaDetail};
use crate::web::document::Drawing;
use crate::web::parts::{MOST, and_more, clock, commit, doing, dollars, tinted, tokens};
use crate::web::touches::Touched;

/// Lines of what happened last.
const LAST: usize = 8;
/// Ideas in the small picture.
const AROUND: usize = 9;

/// What the rail shows besides the idea.
pub struct Rail {
    around: GraphView,
    agent: Option<AgentView>,
    branch: Option<String>,
    may_assign: bool,
}

impl Rail {
    /// From the state of the moment.
    pub fn of(state: &State, id: &IdeaId, idea: &IdeaDetail) -> Self {
        let agent = idea.agent_id.as_ref().and_then(|id| view::agent(state, id));
        let this = state.ideas.get(id);
        let is_free = this.is_some_and(|it| it.status == IdeaStatus::Pending && !it.assigned);
        Self {
            around: view::graph_around(state, id, 1, AROUND),
            branch: agent.as_ref().map(|agent| agent.branch.clone()),
            agent,
            may_assign: is_free && state.mode() == Mode::SemiAuto && !idea.idea.held,
        }
    }

    /// Whether a person may have it start although the swarm does not.
    pub fn may_assign(&self) -> bool {
        self.may_assign
    }
}

/// The whole rail.
pub fn rail(drawing: &Drawing<'_>, rail: &Rail, idea: &IdeaDetail) -> Markup {
    let touched = Touched::IDEAS | Touched::AGENTS;
    let id = &idea.idea.id;
    let around = html! {
        @if !rail.around.edges.is_empty() {
            section {
                h2 { "Around it" }
                div .scroll tabindex="0" role="region" aria-label="Around it" {
                    (picture(drawing, &rail.around, Some(id), Size::SMALL))
                }
                p .sub {
                    a href=(drawing.link(&format!("ideas/graph?of={id}"))) { "All dependencies" }
                }
            }
        }
    };
    html! {
        (drawing.fragment("f-idea-so-far", touched, &so_far(&idea.history)))
        (drawing.fragment("f-idea-around", touched, &around))
        (drawing.fragment("f-idea-facts", touched | Touched::COST, &facts(drawing, rail, idea)))
    }
}

fn so_far(history: &[Audit]) -> Markup {
    html! {
        section {
            h2 { "So far" }
            @if history.is_empty() { p .sub { "Nothing has happened yet." } }
            ol .bumps { @for line in history.iter().skip(history.len().saturating_sub(LAST)) {
                li { (audit(line)) }
            } }
        }
    }
}

/// A line of what happened, with its time and its sign.
pub fn audit(line: &Audit) -> Markup {
    let (shape, tone, words) = words(&line.what);
    html! {
        (clock(line.at))
        (tinted(shape, tone))
        div .any { (words) @if !line.detail.is_empty() { " " (detail(&line.detail)) } }
    }
}

/// A commit, shortened, or any other text.
fn detail(text: &str) -> Markup {
    let oid = text.parse::<Oid>();
    let other = |_| html! { span .dim { (text) } };
    oid.map_or_else(other, |oid| commit(&oid))
}

/// The sign and the words of an audit line. Other lines, of later versions, keep their own.
fn words(what: &str) -> (&'static str, &'static str, String) {
    let (shape, tone, words) = match what {
        "claimed" => ("ok", "ok", "Taken by"),
        "retried" => ("back", "idle", "Retried by you"),
        "cancelled" => ("stopped", "idle", "Cancelled by you"),
        "held" => ("pause", "wait", "Held by you"),
        "released from its hold" => ("play", "idle", "Released from its hold"),
        "landed" => ("okc", "ok", "Landed as"),
        "redirected_to" => ("fork", "idle", "You redirected here"),
        "redirect_undone" => ("back", "idle", "Redirect undone:"),
        "dropped_by_rewrite" => ("warn", "wait", "Missing on the rewritten target:"),
        "found_as" => ("ok", "ok", "On the rewritten target as"),
        "cancel_undone" => ("back", "idle", "Cancelling undone"),
        "approved" => ("ok", "ok", "You approved"),
        "approval_withdrawn" => ("back", "idle", "Approval withdrawn"),
        "rejected" => ("back", "wait", "You sent it back:"),
        "returned" => ("x", "bad", "Returned by the merge train, failed:"),
        "rolled_back" => ("back", "idle", "Rolled back to"),
        "merged" => ("okc", "ok", "Its work landed"),
        "nothing_to_merge" => ("okc", "ok", "Done: there was nothing to land"),
        "blocked" => ("stopped", "wait", "Blocked:"),
        "failed" => ("x", "bad", "Failed:"),
        "timeout" => ("clock", "bad", "Hit its limit:"),
        "crash_recovery" => ("x", "bad", "Its agent crashed:"),
        "stopped" => ("pause", "idle", "Its agent was stopped"),
        "interrupted" => ("pause", "idle", "Interrupted:"),
        "released" => ("back", "wait", "Could not start:"),
        "redirected" => ("fork", "idle", "Its agent was redirected"),
        other => return ("ring", "idle", other.replace('_', " ")),
    };
    (shape, tone, words.to_owned())
}

fn facts(drawing: &Drawing<'_>, rail: &Rail, detail: &IdeaDetail) -> Markup {
    let idea = &detail.idea;
    let link = |id: &IdeaId| html! { a href=(drawing.link(&format!("ideas/{id}"))) { (id) } " " };
    let used = idea.used.as_ref();
    html! {
        section {
            h2 { "Facts" }
            dl .facts {
                @if let Some(agent) = &rail.agent {
                    dt { "Agent" }
                    dd {
                        a href=(drawing.link(&format!("agents/{}", agent.id))) { (agent.id) }
                        ", attempt " (agent.attempt) ", iteration " (agent.iteration)
                    }
                    dt { "Doing" } dd { (doing(agent.phase)) }
                }
                @if !idea.after.is_empty() {
                    dt { "After" } dd { @for id in &idea.after { (link(id)) } }
                }
                @if !detail.dependents.is_empty() {
                    dt { "Needed by" } dd {
                        @for id in detail.dependents.iter().take(MOST) { (link(id)) }
                        (and_more(detail.dependents.len()))
                    }
                }
                @if !idea.tags.is_empty() {
                    dt { "Tags" } dd { @for tag in &idea.tags { span .tag { (tag) } " " } }
                }
                @if let Some(profile) = &idea.profile { dt { "Profile" } dd { (profile) } }
                dt { "Priority" } dd { (idea.priority) }
                @if idea.review { dt { "Review" } dd { "you approve its work" } }
                dt { "Attempts" } dd { (idea.attempts) }
                dt { "Cost" } dd {
                    @match used.and_then(dollars) {
                        Some(cost) => (cost),
                        None if used.is_some() => "not known",
                        None => "none yet",
                    }
                }
                @if let Some(tokens) = used.and_then(tokens) { dt { "Tokens" } dd { (tokens) } }
                @if let Some(branch) = &rail.branch { dt { "Branch" } dd { code { (branch) } } }
                @if let Some(kept) = &detail.kept_worktree {
                    dt { "Kept in" } dd { code { (kept) } }
                }
                @if let Some(oid) = &idea.commit { dt { "Landed as" } dd { (commit(oid)) } }
                dt { "Added" } dd { (clock(idea.created_at)) }
            }
        }
    }
}
