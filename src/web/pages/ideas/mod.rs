//! The list of ideas: open ones first, or those of one status.

pub mod edit;
pub mod graph;
pub mod idea;

use maud::{Markup, html};

use crate::domain::state::{IdeaStatus, State};
use crate::view::{self, IdeaView};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Query, Ready};
use crate::web::parts::{dollars, label, many, span, status, title};
use crate::web::touches::Touched;

/// Ideas on one page.
const ROWS: usize = 100;

/// What the address asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Filter {
    /// Only ideas of this status.
    status: Option<IdeaStatus>,
    /// The page, from 0.
    page: usize,
}

impl Filter {
    /// From the query of an address; what it does not know, it leaves out.
    fn of(query: &Query) -> Self {
        let status = query.get("status");
        Self {
            status: status
                .and_then(|word| IdeaStatus::ALL.into_iter().find(|one| one.as_str() == word)),
            page: query.page(),
        }
    }

    fn address(&self, page: usize) -> String {
        match self.status {
            Some(status) => format!("ideas?status={}&page={page}", status.as_str()),
            None => format!("ideas?page={page}"),
        }
    }
}

/// What the page shows.
pub struct View {
    asked: Filter,
    ideas: Vec<IdeaView>,
    found: usize,
    counts: Vec<(IdeaStatus, usize)>,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    let wanted = Filter::of(asked.query);
    Ok(asked.read(|state| View::of(state, &wanted)))
}

impl View {
    fn of(state: &State, asked: &Filter) -> Self {
        let all = view::ideas_open_first(state, asked.status);
        let counts = IdeaStatus::ALL.map(|status| (status, state.ideas.count(status)));
        Self {
            found: all.len(),
            ideas: all.into_iter().skip(asked.page * ROWS).take(ROWS).collect(),
            counts: counts.into_iter().filter(|(_, count)| *count > 0).collect(),
            asked: asked.clone(),
        }
    }
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        page(drawing, self)
    }
}

fn page(drawing: &Drawing<'_>, view: &View) -> Page {
    let list = html! {
        div .head { div {
            h1 { (many(view.found, "idea")) }
        } }
        (filters(drawing, view))
        (table(drawing, view))
        (pager(drawing, view))
    };
    Page {
        title: "Ideas".into(),
        place: Place::Ideas,
        main: drawing.fragment("f-ideas", Touched::IDEAS, &list),
    }
}

fn filters(drawing: &Drawing<'_>, view: &View) -> Markup {
    let current = |is: bool| is.then_some("true");
    html! {
        div .seg aria-label="Status" {
            a href=(drawing.link("ideas")) aria-current=[current(view.asked.status.is_none())] {
                "All"
            }
            @for (status, count) in &view.counts {
                a href=(drawing.link(&format!("ideas?status={}", status.as_str())))
                    aria-current=[current(view.asked.status == Some(*status))] {
                    (label(*status)) " " span .dim { (count) }
                }
            }
        }
    }
}

fn table(drawing: &Drawing<'_>, view: &View) -> Markup {
    let time = drawing.moment.time();
    html! {
        @if view.ideas.is_empty() {
            p .sub.sec2 { "None." }
        } @else {
            div .card.clip.sec2 { table .fix.stackable {
                colgroup {
                    col width="96"; col; col width="150"; col width="72" .hide-s;
                    col width="84" .hide-s; col width="92" .hide-s;
                }
                thead { tr {
                    th { "Idea" } th { "What" } th { "Status" } th .num.hide-s { "Priority" }
                    th .num.hide-s { "Cost" } th .num.hide-s { "Changed" }
                } }
                tbody { @for idea in &view.ideas {
                    tr #{ "row-" (idea.id) } {
                        td .nw { span .id { (idea.id) } }
                        td .full {
                            a .t.two href=(drawing.link(&format!("ideas/{}", idea.id))) {
                                (title(&idea.content))
                            }
                            @if let Some(error) = &idea.last_error {
                                span .two.dim { (error) }
                            }
                        }
                        td { (status(idea.status)) @if idea.held { " " span .tag { "held" } } }
                        td .num.hide-s { (idea.priority) }
                        td .num.hide-s { (idea.used.as_ref().and_then(dollars).unwrap_or_default()) }
                        td .num.hide-s.dim { (span(time.since(idea.updated_at))) }
                    }
                } }
            } }
        }
    }
}

fn pager(drawing: &Drawing<'_>, view: &View) -> Markup {
    let page = view.asked.page;
    let last = view.found.saturating_sub(1) / ROWS;
    html! {
        @if last > 0 {
            nav .row.sec2 aria-label="Pages of the list" {
                @if page > 0 {
                    a .b href=(drawing.link(&view.asked.address(page - 1))) { "Before" }
                }
                span .dim { "Page " (page + 1) " of " (last + 1) }
                @if page < last {
                    a .b href=(drawing.link(&view.asked.address(page + 1))) { "Next" }
                }
            }
        }
    }
}
