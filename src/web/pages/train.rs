//! The merge train: what lands next, what waits at the side for a person, and what has landed.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::domain::attention::NoticeKind;
use crate::domain::ids::{IdeaId, Oid};
use crate::domain::lifecycle::MergePhase;
use crate::domain::state::{IdeaStatus, State};
use crate::domain::time::Timestamp;
use crate::view::{self, MergeView, NeedsYou};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::parts::{clock, commands, commit, icon, span, tinted, title};
use crate::web::touches::Touched;

/// Landings on the page.
const LANDED: usize = 50;

/// What the page shows.
pub struct View {
    branch: String,
    commit: Option<Oid>,
    line: Vec<MergeView>,
    needs: Vec<NeedsYou>,
    landed: Vec<Landed>,
    all_landed: usize,
    titles: BTreeMap<IdeaId, String>,
    auto_merge: bool,
    verify: bool,
}

struct Landed {
    id: IdeaId,
    text: String,
    commit: Oid,
    at: Timestamp,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    Ok(asked.read(View::of))
}

impl View {
    fn of(state: &State) -> Self {
        let settings = state.settings.as_deref();
        let line = view::merges(state);
        let done = state
            .ideas
            .iter()
            .filter(|(_, idea)| idea.status == IdeaStatus::Done);
        let mut landed: Vec<Landed> = done
            .filter_map(|(id, idea)| {
                Some(Landed {
                    id: id.clone(),
                    text: title(&idea.text).to_owned(),
                    commit: idea.commit.clone()?,
                    at: idea.updated_at,
                })
            })
            .collect();
        landed.sort_by_key(|one| std::cmp::Reverse(one.at));
        let all_landed = landed.len();
        landed.truncate(LANDED);
        let merges = [
            NoticeKind::Conflict,
            NoticeKind::Merge,
            NoticeKind::Checkout,
        ];
        let of_merges = |need: &NeedsYou| merges.iter().any(|kind| kind.as_str() == need.kind);
        let titles = line.iter().filter_map(|entry| {
            let text = &state.ideas.get(&entry.idea_id)?.text;
            Some((entry.idea_id.clone(), title(text).to_owned()))
        });
        Self {
            branch: settings.map_or_else(|| "the target".into(), |one| one.target.clone()),
            commit: state
                .swarm
                .target
                .as_ref()
                .map(|target| target.commit.clone()),
            needs: view::needs_you(state)
                .into_iter()
                .filter(of_merges)
                .collect(),
            titles: titles.collect(),
            line,
            landed,
            all_landed,
            auto_merge: settings.is_none_or(|settings| settings.auto_merge),
            verify: settings.is_none_or(|settings| settings.verify),
        }
    }
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        page(drawing, self)
    }
}

fn page(drawing: &Drawing<'_>, view: &View) -> Page {
    let touched = Touched::TRAIN;
    let main = html! {
        div .head { div {
            h1 { "Merge train" }
            p {
                "One at a time onto " b { (view.branch) }
                @if let Some(oid) = &view.commit { ", which stands at " (commit(oid)) }
                ". Each merged tree is built aside and checked; only then does " (view.branch)
                " move."
            }
        } }
        div .cols {
            div {
                (drawing.fragment("f-line", touched, &line(drawing, view)))
                (drawing.fragment("f-siding", touched | Touched::NEEDS, &siding(drawing, view)))
                (drawing.fragment("f-landed", touched, &landed(drawing, view)))
            }
            aside .rail {
                section {
                    h2 { "Rules in force" }
                    dl .facts {
                        dt { "autoMerge" } dd { @if view.auto_merge { "on" } @else { "off" } }
                        dt { "verify" } dd { @if view.verify { "on" } @else { "off" } }
                    }
                }
            }
        }
    };
    Page {
        title: "Merge train".into(),
        place: Place::Train,
        main,
    }
}

fn line(drawing: &Drawing<'_>, view: &View) -> Markup {
    let time = drawing.moment.time();
    let on_line = view
        .line
        .iter()
        .filter(|entry| entry.state != MergePhase::Person);
    html! {
        section {
            @if view.line.is_empty() { p .sub { "Nothing waits to land." } }
            ol .card.train { @for (index, entry) in on_line.enumerate() {
                li #{ "train-" (entry.idea_id) } {
                    span .stop.held[entry.held].now[!entry.held] { (index + 1) }
                    div {
                        div .row.wrap {
                            a .t href=(drawing.link(&format!("ideas/{}", entry.idea_id))) {
                                b { (view.titles.get(&entry.idea_id).map_or("", String::as_str)) }
                            }
                            span .id { (entry.idea_id) }
                        }
                        div .sub2 { (steps(entry)) }
                        @if let Some(reason) = &entry.reason { div .sub2 { (reason) } }
                    }
                    div .acts {
                        span .dim { (span(time.since(entry.queued_at))) }
                        @if entry.held {
                            a .b href=(drawing.link(&format!("ideas/{}", entry.idea_id))) {
                                "Review"
                            }
                        }
                    }
                }
            } }
        }
    }
}

/// How far a merge is: build, check, land.
fn steps(entry: &MergeView) -> Markup {
    let at = match entry.state {
        MergePhase::Queued => 0,
        MergePhase::Building | MergePhase::Resolver | MergePhase::Person => 1,
        MergePhase::Verifying => 2,
        MergePhase::Landing => 3,
    };
    let names = ["Build", "Check", "Land"];
    html! {
        ol .steps {
            @for (step, name) in (1..).zip(names) {
                li .is-done[step < at] .is-now[step == at] {
                    @if step < at { (icon("ok")) } @else if step == at { (icon("half")) }
                    (name)
                }
            }
            @if entry.held { li .is-bad { (icon("eye")) "Your review" } }
            @if entry.state == MergePhase::Resolver { li { "An agent settles its conflict" } }
        }
    }
}

fn siding(drawing: &Drawing<'_>, view: &View) -> Markup {
    if view.needs.is_empty() {
        return html! {};
    }
    html! {
        section .sec {
            header { h2 { "Siding" } span { "waits for you and holds nobody up" } }
            ul .card.needs { @for need in &view.needs {
                li {
                    (tinted("fork", "wait"))
                    h3 { @if let Some(id) = &need.idea_id {
                        a href=(drawing.link(&format!("ideas/{id}"))) { (id) }
                    } @else { "The target" } }
                    div .what { (need.message) }
                    (commands(&need.commands))
                    @if let Some(id) = &need.idea_id && !drawing.moment.is_past() {
                        div .do {
                            (drawing.form(&format!("do/resolve/{id}"), &html! {
                                button .b.pri { "I settled it" }
                            }))
                            (drawing.form(&format!("do/merge-retry/{id}"), &html! {
                                button .b { "Try again" }
                            }))
                        }
                    }
                }
            } }
        }
    }
}

fn landed(drawing: &Drawing<'_>, view: &View) -> Markup {
    html! {
        section .sec {
            header { h2 { "Landed" } span { (view.all_landed) } }
            @if view.landed.is_empty() { p .sub { "Nothing yet." } } @else {
                div .card.clip { table .fix.stackable {
                    colgroup { col width="66"; col; col width="96"; col width="96"; }
                    thead { tr { th .num { "At" } th { "Idea" } th { "Id" } th { "Commit" } } }
                    tbody { @for one in &view.landed { tr #{ "landed-" (one.id) } {
                        td .num.dim { (clock(one.at)) }
                        td .full {
                            a .t.two href=(drawing.link(&format!("ideas/{}", one.id))) { (one.text) }
                        }
                        td .nw { span .id { (one.id) } }
                        td { (commit(&one.commit)) }
                    } } }
                } }
            }
        }
    }
}
