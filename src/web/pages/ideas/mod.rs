//! The list of ideas: open ones first, or those that the address asks for.

mod diff;
mod diff_rows;
pub mod edit;
pub mod graph;
pub mod idea;
mod look;
mod provenance;
mod rail;
mod tabs;
#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
pub(super) mod testkit;
#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests;

pub use rail::audit;

use maud::{Markup, html};

use crate::domain::ids::{IdeaId, ProfileName};
use crate::domain::state::{IdeaStatus, State};
use crate::view::{self, IdeaFilter, IdeaPage, IdeaView};
use crate::web::document::{Drawing, Page, Place, encoded};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Query, Ready};
use crate::web::parts::{clock, dollars, icon, label, many, status, title};
use crate::web::touches::Touched;

/// Ideas on one page.
const ROWS: usize = 100;

/// What the page shows.
pub struct View {
    filter: IdeaFilter,
    page: usize,
    list: IdeaPage,
    profiles: Vec<ProfileName>,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    let (filter, page) = (filter(asked.query), asked.query.page());
    Ok(asked.read(|state| View::of(state, filter, page)))
}

/// From the query of an address; what it does not know, it leaves out.
fn filter(query: &Query) -> IdeaFilter {
    let word = |name: &str| query.get(name).map(|text| text.trim().to_owned());
    let status = word("status");
    IdeaFilter {
        status: IdeaStatus::ALL
            .into_iter()
            .find(|one| Some(one.as_str()) == status.as_deref()),
        tag: word("tag"),
        text: word("q"),
        profile: word("profile").and_then(|name| name.parse().ok()),
        held: query.get("held").is_some(),
        review: query.get("review").is_some(),
    }
}

/// The address of a page of the list.
fn address(filter: &IdeaFilter, page: usize) -> String {
    let page = (page > 0).then(|| page.to_string());
    let flag = |is: bool| is.then(|| "1".to_owned());
    let parts = [
        (
            "status",
            filter.status.map(|status| status.as_str().to_owned()),
        ),
        ("tag", filter.tag.clone()),
        ("q", filter.text.clone()),
        ("profile", filter.profile.as_ref().map(ToString::to_string)),
        ("held", flag(filter.held)),
        ("review", flag(filter.review)),
        ("page", page),
    ];
    let parts = parts
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let parts: Vec<String> = parts
        .map(|(name, value)| format!("{name}={}", encoded(&value)))
        .collect();
    match parts.as_slice() {
        [] => "ideas".to_owned(),
        parts => format!("ideas?{}", parts.join("&")),
    }
}

impl View {
    fn of(state: &State, filter: IdeaFilter, page: usize) -> Self {
        let settings = state.settings.as_deref();
        Self {
            list: view::idea_page(state, &filter, page.saturating_mul(ROWS), ROWS),
            profiles: settings.map_or_else(Vec::new, |settings| settings.profiles.clone()),
            filter,
            page,
        }
    }

    fn is_filtered(&self) -> bool {
        self.filter != IdeaFilter::default()
    }
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        page(drawing, self)
    }
}

fn page(drawing: &Drawing<'_>, view: &View) -> Page {
    let found = html! { h1 { (many(view.list.found, "idea")) } };
    let list = html! { (table(drawing, view)) (pager(drawing, view)) };
    let list = drawing.fragment("f-ideas", Touched::IDEAS | Touched::COST, &list);
    let statuses = drawing.fragment("f-ideas-status", Touched::IDEAS, &statuses(drawing, view));
    let main = html! {
        div .head {
            div { (drawing.fragment("f-ideas-found", Touched::IDEAS, &found)) }
            div .acts {
                a .b href=(drawing.link("ideas/graph")) { (icon("fork")) "Dependencies" }
                @if !drawing.moment.is_past() {
                    a .b href=(drawing.live_link("ideas/add")) { (icon("plus")) "Add idea" }
                }
            }
        }
        (statuses)
        (fields(drawing, view))
        @if drawing.moment.is_past() {
            (list)
        } @else {
            (drawing.form("do/bulk", &html! { (list) (bulk(drawing, view)) }))
        }
    };
    Page {
        title: "Ideas".into(),
        place: Place::Ideas,
        main,
    }
}

/// The statuses, with the number of ideas that the rest of the filter finds.
fn statuses(drawing: &Drawing<'_>, view: &View) -> Markup {
    let to = |status| {
        let filter = IdeaFilter {
            status,
            ..view.filter.clone()
        };
        drawing.link(&address(&filter, 0))
    };
    let current = |is: bool| is.then_some("true");
    let all: usize = view.list.counts.values().sum();
    html! {
        nav .seg aria-label="Status" {
            a href=(to(None)) aria-current=[current(view.filter.status.is_none())] {
                "All" span .dim { (all) }
            }
            @for (status, count) in &view.list.counts {
                @let is_chosen = view.filter.status == Some(*status);
                a href=(to(Some(*status))) aria-current=[current(is_chosen)] {
                    (label(*status)) span .dim { (count) }
                }
            }
        }
    }
}

/// The fields of the filter: no fragment, so that no update changes what is typed.
fn fields(drawing: &Drawing<'_>, view: &View) -> Markup {
    let filter = &view.filter;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    html! {
        form .filters method="get" action=(drawing.live_link("ideas")) role="search" {
            @if let Some(status) = filter.status {
                input type="hidden" name="status" value=(status.as_str());
            }
            @if let Some(at) = &drawing.moment.at { input type="hidden" name="at" value=(at); }
            label { span { "Text" } input type="search" name="q" value=(text(&filter.text)); }
            label { span { "Tag" } input name="tag" value=(text(&filter.tag)); }
            @if view.profiles.len() > 1 {
                label { span { "Profile" } select name="profile" {
                    option value="" { "Any" }
                    @for profile in &view.profiles {
                        option value=(profile) selected[filter.profile.as_ref() == Some(profile)] {
                            (profile)
                        }
                    }
                } }
            }
            label .row { input type="checkbox" name="held" value="1" checked[filter.held]; "Held" }
            label .row {
                input type="checkbox" name="review" value="1" checked[filter.review]; "To review"
            }
            button .b { (icon("find")) "Filter" }
            @if view.is_filtered() { a .b.quiet href=(drawing.link("ideas")) { "Clear" } }
        }
    }
}

fn table(drawing: &Drawing<'_>, view: &View) -> Markup {
    let is_past = drawing.moment.is_past();
    html! {
        @if view.list.ideas.is_empty() {
            p .sub.sec2 {
                @if view.is_filtered() { "No idea fits this filter." } @else { "No ideas yet." }
            }
        } @else {
            div .card.clip.sec2 { table .fix.stackable.picks {
                colgroup {
                    @if !is_past { col width="40"; }
                    col width="96"; col; col width="130"; col width="90" .hide-s;
                    col width="72" .hide-s; col width="84" .hide-s; col width="84" .hide-s;
                }
                thead { tr {
                    @if !is_past { th { span .vh { "Choose" } } }
                    th { "Idea" } th { "What" } th { "Status" } th .hide-s { "Agent" }
                    th .num.hide-s { "Priority" } th .num.hide-s { "Cost" }
                    th .num.hide-s { "Changed" }
                } }
                tbody { @for idea in &view.list.ideas { (row(drawing, view, idea)) } }
            } }
        }
    }
}

fn row(drawing: &Drawing<'_>, view: &View, idea: &IdeaView) -> Markup {
    let id: &IdeaId = &idea.id;
    let agent = view.list.agents.get(id);
    html! {
        tr #{ "row-" (id) } {
            @if !drawing.moment.is_past() {
                td { input #{ "pick-" (id) } type="checkbox" name="id" value=(id)
                    aria-label={ "Choose " (id) }; }
            }
            td .nw { span .id { (id) } }
            td .full {
                a .t.two href=(drawing.link(&format!("ideas/{id}"))) { (title(&idea.content)) }
                @if let Some(error) = &idea.last_error { span .two.dim { (error) } }
            }
            td { (status(idea.status)) @if idea.held { div .dim { "held by you" } } }
            td .nw.hide-s {
                @if let Some(agent) = agent {
                    a href=(drawing.link(&format!("agents/{agent}"))) { (agent) }
                }
            }
            td .num.hide-s { (idea.priority) }
            td .num.hide-s { (idea.used.as_ref().and_then(dollars).unwrap_or_default()) }
            td .num.hide-s.dim { (clock(idea.updated_at)) }
        }
    }
}

/// What to do with the chosen ideas.
fn bulk(drawing: &Drawing<'_>, view: &View) -> Markup {
    let verb = |verb: &str, words: &str| {
        html! { button .b.quiet name="verb" value=(verb) { (words) } }
    };
    html! {
        @if !view.list.ideas.is_empty() {
            div .bulk.row.wrap role="group" aria-label="With the chosen ideas" {
                label .row #pick-all hidden { input type="checkbox"; "All on this page" }
                span .dim { "With the chosen ones:" }
                (verb("retry", "Retry")) (verb("hold", "Hold")) (verb("unhold", "Let them start"))
                button .b.quiet formmethod="get" data-dialog
                    formaction=(drawing.live_link("do/cancel-chosen")) { "Cancel…" }
                output #picked .dim {}
            }
        }
    }
}

fn pager(drawing: &Drawing<'_>, view: &View) -> Markup {
    let page = view.page;
    let last = view.list.found.saturating_sub(1) / ROWS;
    let to = |page| drawing.link(&address(&view.filter, page));
    html! {
        @if last > 0 {
            nav .row.sec2 aria-label="Pages of the list" {
                @if page > 0 { a .b href=(to(page - 1)) { "Before" } }
                span .dim { "Page " (page + 1) " of " (last + 1) }
                @if page < last { a .b href=(to(page + 1)) { "Next" } }
            }
        }
    }
}
