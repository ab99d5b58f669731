//! One idea: what it waits for, what its work changes, and what happened.
//!
//! Invariant: the changes and the review bar stay as they were drawn: approving is for the commit
//! that somebody looked at. A live update only says that there is newer work.

use maud::{Markup, html};

use super::diff::Changes;
use super::look::Look;
use super::provenance::{self, Records};
use super::rail::{self, Rail};
use super::tabs::{self, History};
use crate::domain::ids::{IdeaId, Oid};
use crate::domain::state::{IdeaStatus, State};
use crate::view::{self, IdeaDetail};
use crate::web::actions::shown;
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Query, Ready};
use crate::web::pages::needs::{self, Item};
use crate::web::parts::{commit, icon, status, tinted, title};
use crate::web::touches::Touched;

/// A longer text of an idea is folded.
const LONG: usize = 400;

/// Parts of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// What its work changes.
    Changes,
    /// The runs with their output.
    Output,
    /// What happened.
    History,
    /// What the agent was told.
    Prompt,
    /// What is recorded of each iteration.
    Provenance,
}

impl Tab {
    const ALL: [Self; 5] = [
        Self::Changes,
        Self::Output,
        Self::History,
        Self::Prompt,
        Self::Provenance,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Changes => "changes",
            Self::Output => "output",
            Self::History => "history",
            Self::Prompt => "prompt",
            Self::Provenance => "provenance",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Changes => "Changes",
            Self::Output => "Output",
            Self::History => "History",
            Self::Prompt => "Prompt",
            Self::Provenance => "Provenance",
        }
    }
}

/// What the page shows.
pub struct View {
    idea: IdeaDetail,
    needs: Vec<Item>,
    /// Ideas that must be done first and are not.
    waits_for: Vec<(IdeaId, IdeaStatus)>,
    /// Its place in the merge train, from 1.
    place: Option<usize>,
    /// The commit that waits for review.
    in_review: Option<Oid>,
    /// The quality commands that passed, and whether on the merged tree.
    passed: Option<(String, bool)>,
    tab: Tab,
    look: Look,
    changes: Option<Changes>,
    prompt: Option<Result<String, String>>,
    records: Option<Result<Records, String>>,
    history: History,
    rail: Rail,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>, id: &IdeaId) -> Result<View, WebError> {
    let mut view = asked.read(|state| View::of(state, id, asked.query))?;
    // No fragment shows these.
    if !asked.is_update {
        match view.tab {
            Tab::Changes => view.changes = Changes::load(asked, id).await,
            Tab::Prompt => view.prompt = tabs::prompt(asked, &view.history).await,
            Tab::Provenance => view.records = Some(provenance::load(asked, id).await),
            Tab::Output | Tab::History => {}
        }
    }
    Ok(view)
}

impl View {
    fn of(state: &State, id: &IdeaId, query: &Query) -> Result<Self, WebError> {
        let idea = view::idea_detail(state, id);
        let idea = idea.ok_or_else(|| WebError::not_found(format!("there is no idea `{id}`")))?;
        let entry = state.entry(id);
        let in_review = entry.filter(|entry| entry.is_in_review());
        let asked = query.get("tab");
        let tab = Tab::ALL.into_iter().find(|tab| Some(tab.name()) == asked);
        let default = if entry.is_some() || idea.idea.commit.is_some() {
            Tab::Changes
        } else {
            Tab::History
        };
        let not_done = |before: &IdeaId| {
            let status = state.ideas.get(before)?.status;
            (status != IdeaStatus::Done).then(|| (before.clone(), status))
        };
        let settings = state.settings.as_deref();
        let commands = settings.map(|settings| settings.quality_commands.join(", "));
        let commands = commands.filter(|commands| !commands.is_empty());
        let waits = matches!(idea.idea.status, IdeaStatus::Pending | IdeaStatus::Merging);
        Ok(Self {
            needs: needs::items_of(state, id),
            waits_for: idea
                .idea
                .after
                .iter()
                .filter(|_| waits)
                .filter_map(not_done)
                .collect(),
            place: state
                .queue
                .iter()
                .position(|it| it.idea == *id)
                .map(|at| at + 1),
            in_review: in_review.map(|entry| entry.source.clone()),
            passed: in_review.and_then(|entry| Some((commands?, entry.verified.is_some()))),
            tab: tab.unwrap_or(default),
            look: Look::of(query),
            changes: None,
            prompt: None,
            records: None,
            history: History::of(state, id, &idea),
            rail: Rail::of(state, id, &idea),
            idea,
        })
    }
}

impl View {
    /// Whether its work waits to land, or landed.
    fn has_changes(&self) -> bool {
        self.place.is_some() || self.idea.idea.commit.is_some()
    }
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        page(drawing, self)
    }
}

fn page(drawing: &Drawing<'_>, view: &View) -> Page {
    let idea = &view.idea.idea;
    let touched = Touched::IDEAS | Touched::NEEDS | Touched::TRAIN;
    let main = html! {
        (drawing.fragment("f-idea-head", touched, &head(drawing, view)))
        (review(drawing, view))
        (drawing.fragment("f-idea-newer", touched, &newer(drawing, view)))
        (drawing.fragment("f-idea-needs", touched, &waits(drawing, view)))
        div .cols {
            div { (tab_links(drawing, view)) (tab(drawing, view)) }
            aside .rail { (rail::rail(drawing, &view.rail, &view.idea)) }
        }
    };
    Page {
        title: idea.id.to_string(),
        place: Place::Ideas,
        main,
    }
}

fn head(drawing: &Drawing<'_>, view: &View) -> Markup {
    let idea = &view.idea.idea;
    let is_review = view.in_review.is_some();
    html! {
        div .head {
            div {
                div .crumb {
                    @if is_review {
                        span .st.c-wait { (icon("eye")) " Waits for your review" }
                    } @else { (status(idea.status)) }
                    " · " span .id { (idea.id) }
                    @if idea.held { " · " span .tag { "held" } }
                    @if let Some(place) = view.place {
                        span .hide-s { "· " a href=(drawing.link("train")) {
                            "place " (place) " in the merge train"
                        } }
                    }
                }
                h1 { (title(&idea.content)) }
                (text(&idea.content))
            }
            @if !drawing.moment.is_past() { div .acts { (acts(drawing, view)) } }
        }
    }
}

/// The idea's text below its title.
fn text(content: &str) -> Markup {
    let rest = content.trim_start();
    let rest = rest.split_once('\n').map_or("", |(_, rest)| rest).trim();
    html! {
        @if rest.len() > LONG {
            details { summary { "The whole text" } p .text { (rest) } }
        } @else if !rest.is_empty() { p .text { (rest) } }
    }
}

fn acts(drawing: &Drawing<'_>, view: &View) -> Markup {
    let idea = &view.idea.idea;
    let action = |verb: &str| format!("do/{verb}/{}", idea.id);
    let form = |verb: &str, body: Markup| drawing.form(&action(verb), &body);
    let is_over = matches!(idea.status, IdeaStatus::Done | IdeaStatus::Cancelled);
    let may_retry = matches!(
        idea.status,
        IdeaStatus::Failed | IdeaStatus::Timeout | IdeaStatus::Blocked | IdeaStatus::Cancelled
    );
    html! {
        @if may_retry { (form("retry", html! {
            (shown::field("retry-shown", &idea.updated_at.millis().to_string()))
            button .b { (icon("back")) " Retry" }
        })) }
        @if idea.held {
            (form("unhold", html! { button .b { (icon("play")) " Let it start" } }))
        } @else if idea.status == IdeaStatus::Pending {
            (form("hold", html! { button .b { (icon("pause")) " Hold" } }))
        }
        @if view.rail.may_assign() { (form("assign", html! { button .b { "Assign" } })) }
        @if !is_over {
            (drawing.ask(&action("edit"), "b", &html! { "Edit" }))
            (drawing.ask(&action("cancel"), "b", &html! { "Cancel idea…" }))
        }
    }
}

/// The bar above the changes. No fragment: see the module.
fn review(drawing: &Drawing<'_>, view: &View) -> Markup {
    let Some(source) = &view.in_review else {
        return html! {};
    };
    let id = &view.idea.idea.id;
    if drawing.moment.is_past() {
        return html! {
            div .review { span { "Waited for review: " (commit(source)) } }
        };
    }
    html! {
        div #review .review data-source=(source.as_str()) {
            @if let Some((commands, merged)) = &view.passed {
                span .st { (tinted("okc", "ok")) span {
                    code { (commands) } " passed " @if *merged { "on the merged tree" }
                    @else { "in its worktree" }
                } }
            } @else { span { "No quality command is configured." } }
            span .dim { (commit(source)) }
            span .grow {}
            div .acts {
                span data-send-back {
                    (drawing.ask(&format!("do/reject/{id}"), "b", &html! {
                        (icon("back")) " Send back…"
                    }))
                }
                (drawing.form(&format!("do/approve/{id}"), &html! {
                    input type="hidden" name="commit" value=(source.as_str());
                    button .b.pri { "Approve and land" }
                }))
            }
            (comments(drawing, id))
        }
    }
}

/// Where the script gathers comments on lines; without it, the dialog has one for the whole work.
fn comments(drawing: &Drawing<'_>, id: &IdeaId) -> Markup {
    let fields = html! {
        ul #comment-list .list {}
        label for="comment-why" { "And as a whole" }
        textarea #comment-why name="why" rows="2" {}
        div .row.wrap { button .b { (icon("back")) span #comment-count { "Send back" } } }
    };
    html! {
        div #comments .comments hidden { (drawing.form(&format!("do/reject/{id}"), &fields)) }
    }
}

/// What the script compares with the changes that are drawn: see the module.
fn newer(drawing: &Drawing<'_>, view: &View) -> Markup {
    let id = &view.idea.idea.id;
    let source = view.in_review.as_ref().map(Oid::as_str);
    let show = drawing.link(&format!("ideas/{id}?tab=changes"));
    html! {
        @if !drawing.moment.is_past() {
            p #newer .note role="status" data-source=(source.unwrap_or_default()) hidden {
                @if source.is_some() {
                    (icon("eye")) " There is newer work to review. " a href=(show) { "Show it" }
                } @else {
                    (icon("okc")) " Nothing waits for your review any more. "
                    a href=(show) { "Show it as it is now" }
                }
            }
        }
    }
}

fn waits(drawing: &Drawing<'_>, view: &View) -> Markup {
    // The bar answers a review.
    let others: Vec<Item> = view
        .needs
        .iter()
        .filter(|it| !it.is_review())
        .cloned()
        .collect();
    html! {
        @if !others.is_empty() {
            h2 .vh { "Needs you" }
            (needs::list(drawing, &others))
        }
        @if !view.waits_for.is_empty() {
            p .note { (icon("clock")) " Waits for "
                @for (index, (id, its)) in view.waits_for.iter().enumerate() {
                    @if index > 0 { ", " }
                    a href=(drawing.link(&format!("ideas/{id}"))) { (id) }
                    " (" (its.predicate()) ")"
                }
            }
        }
    }
}

fn tab_links(drawing: &Drawing<'_>, view: &View) -> Markup {
    let id = &view.idea.idea.id;
    let count = |tab: Tab| match tab {
        Tab::Changes => view.changes.as_ref().and_then(Changes::count),
        Tab::Output | Tab::History | Tab::Prompt | Tab::Provenance => None,
    };
    html! {
        nav .seg aria-label="Parts" { @for tab in Tab::ALL {
            a href=(drawing.link(&format!("ideas/{id}?tab={}", tab.name())))
                aria-current=[(tab == view.tab).then_some("true")] {
                (tab.label()) @if let Some(count) = count(tab) { span .dim { (count) } }
            }
        } }
    }
}

fn tab(drawing: &Drawing<'_>, view: &View) -> Markup {
    let touched = Touched::IDEAS | Touched::AGENTS | Touched::TRAIN | Touched::COST;
    let id = &view.idea.idea.id;
    match view.tab {
        Tab::Changes => html! {
            @if let Some(changes) = &view.changes {
                (changes.draw(drawing, id, &view.look, view.in_review.is_some()))
            }
        },
        Tab::Output => drawing.fragment(
            "f-idea-output",
            touched,
            &tabs::output(drawing, &view.history),
        ),
        Tab::History => drawing.fragment(
            "f-idea-history",
            touched,
            &tabs::history(drawing, &view.history),
        ),
        Tab::Prompt => tabs::told(view.prompt.as_ref()),
        Tab::Provenance => html! {
            @if let Some(records) = &view.records {
                (provenance::draw(drawing, records, view.has_changes().then_some(id)))
            }
        },
    }
}
