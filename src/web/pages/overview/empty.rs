//! The overview of a swarm without ideas: one form, and what the swarm is ready with.

use maud::{Markup, html};

use crate::domain::ids::Oid;
use crate::domain::state::State;
use crate::web::document::Drawing;
use crate::web::parts::{commands, commit, icon, tinted};
use crate::web::touches::Touched;

/// What the page shows.
pub struct Empty {
    branch: Option<String>,
    commit: Option<Oid>,
    profile: Option<String>,
    quality_commands: Vec<String>,
    is_red: bool,
    has_budget: bool,
}

impl Empty {
    /// From the state of the moment.
    pub fn of(state: &State) -> Self {
        let settings = state.settings.as_deref();
        let target = state.swarm.target.as_ref();
        Self {
            branch: settings.map(|settings| settings.target.clone()),
            commit: target.map(|target| target.commit.clone()),
            profile: settings.map(|settings| settings.default_profile.to_string()),
            quality_commands: settings.map_or_else(Vec::new, |it| it.quality_commands.clone()),
            is_red: state.red_baseline().is_some(),
            has_budget: settings.is_some_and(|settings| {
                let budget = &settings.budget;
                budget.usd_per_day.is_some() || budget.tokens_per_day.is_some()
            }),
        }
    }
}

/// The page.
pub fn draw(drawing: &Drawing<'_>, empty: &Empty) -> Markup {
    let branch = empty.branch.as_deref().unwrap_or("the target");
    let ready = ready(empty, branch);
    let ready = drawing.fragment("f-ready", Touched::EVERYTHING, &ready);
    html! {
        div .empty {
            h1 { "Nothing to do yet" }
            p .lead {
                "The swarm waits for ideas. An idea is a small, well-described piece of work: one \
                thing, said as you would to a colleague. An agent takes it in a worktree of its \
                own, "
                @if empty.quality_commands.is_empty() { "finishes it, " } @else {
                    code { (empty.quality_commands.join(", ")) } " decides, "
                }
                "and it lands on " b { (branch) } "."
            }
            (first(drawing))
            div .ways {
                section {
                    h2 { "From the command line" }
                    (commands(&["swarm idea add \"Add a contact page\"".to_owned()]))
                }
                section {
                    h2 { "Many at once" }
                    p {
                        "Drop Markdown files into " code { ".swarm/inbox/" }
                        ". Each becomes an idea."
                    }
                }
            }
            (ready)
        }
    }
}

fn first(drawing: &Drawing<'_>) -> Markup {
    let fields = html! {
        label for="first-idea" { b { "Your first idea" } }
        textarea #first-idea name="text" rows="4" required
            placeholder="Add a contact page\n\nStreet, telephone and how to order a cake." {}
        div .row.wrap {
            button .b.pri { (icon("plus")) " Add idea" }
            a .b.quiet href=(drawing.live_link("ideas/add")) { "After, tags, profile…" }
        }
    };
    html! {
        @if !drawing.moment.is_past() {
            div .card.first { (drawing.form("do/add", &fields)) }
        }
    }
}

fn ready(empty: &Empty, branch: &str) -> Markup {
    let check = |is_good: bool| {
        if is_good {
            ("okc", "ok")
        } else {
            ("warn", "wait")
        }
    };
    let line = |(shape, tone): (&str, &str), words: Markup| {
        html! { li { (tinted(shape, tone)) div { (words) } } }
    };
    html! {
        section .sec {
            header { h2 { "Ready" } }
            ul .card.checks {
                @if let Some(oid) = &empty.commit {
                    (line(check(!empty.is_red), html! {
                        b { (branch) } " at " (commit(oid))
                        @if empty.is_red { " does not pass its own checks" }
                    }))
                }
                @if let Some(profile) = &empty.profile {
                    (line(check(true), html! { "Profile " b { (profile) } }))
                }
                (line(check(!empty.quality_commands.is_empty()), html! {
                    @if empty.quality_commands.is_empty() {
                        "No quality command is set: whatever an agent finishes would land."
                    } @else { code { (empty.quality_commands.join(", ")) } " decides what lands" }
                }))
                @if !empty.has_budget {
                    (line(check(false), html! {
                        "No budget is set. " code { "budget.usdPerDay" }
                        " would stop a night that goes wrong."
                    }))
                }
            }
        }
    }
}
