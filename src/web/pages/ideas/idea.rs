//! One idea: what it is, what waits for a person, and what happened.

use maud::{Markup, html};

use crate::domain::ids::IdeaId;
use crate::domain::state::{Audit, IdeaStatus, State};
use crate::view::{self, IdeaDetail};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::parts::{clock, commands, commit, dollars, icon, status, title};
use crate::web::touches::Touched;

/// What the page shows.
pub struct View {
    idea: IdeaDetail,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>, id: &IdeaId) -> Result<View, WebError> {
    asked.read(|state| View::of(state, id))
}

impl View {
    fn of(state: &State, id: &IdeaId) -> Result<Self, WebError> {
        let idea = view::idea_detail(state, id);
        let idea = idea.ok_or_else(|| WebError::not_found(format!("there is no idea `{id}`")))?;
        Ok(Self { idea })
    }

    fn waits_for_review(&self) -> bool {
        self.idea.merge.as_ref().is_some_and(|merge| merge.held)
    }
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        page(drawing, self)
    }
}

fn page(drawing: &Drawing<'_>, view: &View) -> Page {
    let idea = &view.idea.idea;
    let touched = Touched::IDEAS | Touched::NEEDS;
    let main = html! {
        (drawing.fragment("f-idea-head", touched, &head(drawing, view)))
        @if view.waits_for_review() && !drawing.moment.is_past() { (review(drawing, view)) }
        div .cols {
            div {
                (drawing.fragment("f-idea-needs", touched, &needs(view)))
                section .sec { h2 { "Idea" } pre .text { (idea.content) } }
            }
            aside .rail {
                (drawing.fragment("f-idea-history", touched, &history(&view.idea.history)))
                (drawing.fragment("f-idea-facts", touched | Touched::COST, &facts(drawing, view)))
            }
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
    html! {
        div .head {
            div {
                div .crumb { (status(idea.status)) " · " span .id { (idea.id) } }
                h1 { (title(&idea.content)) }
            }
            @if !drawing.moment.is_past() { div .acts { (acts(drawing, view)) } }
        }
    }
}

fn acts(drawing: &Drawing<'_>, view: &View) -> Markup {
    let idea = &view.idea.idea;
    let action = |verb: &str| format!("do/{verb}/{}", idea.id);
    let is_over = matches!(idea.status, IdeaStatus::Done | IdeaStatus::Cancelled);
    let may_retry = matches!(
        idea.status,
        IdeaStatus::Failed | IdeaStatus::Timeout | IdeaStatus::Blocked | IdeaStatus::Cancelled
    );
    html! {
        @if may_retry {
            (drawing.form(&action("retry"), &html! { button .b { (icon("back")) " Retry" } }))
        }
        @if idea.status == IdeaStatus::Pending {
            @if idea.held {
                (drawing.form(&action("unhold"), &html! { button .b { "Let it start" } }))
            } @else {
                (drawing.form(&action("hold"), &html! { button .b { "Hold" } }))
            }
        }
        @if !is_over { (drawing.ask(&action("cancel"), "b", &html! { "Cancel idea…" })) }
    }
}

fn review(drawing: &Drawing<'_>, view: &View) -> Markup {
    let Some(merge) = &view.idea.merge else {
        return html! {};
    };
    let id = &view.idea.idea.id;
    html! {
        div .review {
            span { "Waits for your review: " (commit(&merge.source)) " on " code { (merge.branch) } }
            span .grow {}
            div .acts {
                (drawing.ask(&format!("do/reject/{id}"), "b", &html! {
                    (icon("back")) " Send back…"
                }))
                (drawing.form(&format!("do/approve/{id}"), &html! {
                    input type="hidden" name="commit" value=(merge.source.as_str());
                    button .b.pri { "Approve and land" }
                }))
            }
        }
    }
}

fn needs(view: &View) -> Markup {
    html! {
        @if !view.idea.needs_you.is_empty() {
            ul .card.needs { @for need in &view.idea.needs_you {
                li {
                    (icon("ask")) h3 { "Needs you" }
                    div .what { (need.message) } (commands(&need.commands))
                }
            } }
        }
    }
}

fn history(history: &[Audit]) -> Markup {
    html! {
        section {
            h2 { "So far" }
            ol .bumps { @for entry in history {
                li {
                    (clock(entry.at))
                    (icon("ok"))
                    div { (entry.what.replace('_', " ")) " " (entry.detail) }
                }
            } }
        }
    }
}

fn facts(drawing: &Drawing<'_>, view: &View) -> Markup {
    let idea = &view.idea.idea;
    let link = |id: &IdeaId| html! { a href=(drawing.link(&format!("ideas/{id}"))) { (id) } " " };
    html! {
        section {
            h2 { "Facts" }
            dl .facts {
                @if let Some(agent) = &view.idea.agent_id { dt { "Agent" } dd { (agent) } }
                @if !idea.after.is_empty() {
                    dt { "After" } dd { @for id in &idea.after { (link(id)) } }
                }
                @if !view.idea.dependents.is_empty() {
                    dt { "Needed by" } dd { @for id in &view.idea.dependents { (link(id)) } }
                }
                @if !idea.tags.is_empty() {
                    dt { "Tags" } dd { @for tag in &idea.tags { span .tag { (tag) } " " } }
                }
                dt { "Priority" } dd { (idea.priority) }
                dt { "Attempts" } dd { (idea.attempts) }
                @if let Some(cost) = idea.used.as_ref().and_then(dollars) {
                    dt { "Cost" } dd { (cost) }
                }
                @if let Some(oid) = &idea.commit { dt { "Landed as" } dd { (commit(oid)) } }
                dt { "Added" } dd { (clock(idea.created_at)) }
            }
        }
    }
}
