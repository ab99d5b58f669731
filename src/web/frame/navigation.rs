//! The list of pages beside every page, with their counts.

use maud::{Markup, html};

use super::FrameView;
use crate::web::document::{Drawing, Place};
use crate::web::touches::Touched;

/// Draws it; `here` is the page that is shown.
pub(super) fn navigation(drawing: &Drawing<'_>, here: Place, view: &FrameView) -> Markup {
    let groups = [
        vec![
            (Place::Overview, "", "Overview", view.needs),
            (Place::Ideas, "ideas", "Ideas", view.ideas),
            (Place::Agents, "agents", "Agents", view.agents),
            (Place::Train, "train", "Merge train", view.train),
        ],
        vec![
            (Place::Timeline, "timeline", "Timeline", 0),
            (
                Place::Checkpoints,
                "checkpoints",
                "Checkpoints",
                view.checkpoints,
            ),
            (Place::Report, "report", "Night report", 0),
            (Place::Cost, "cost", "Cost", 0),
        ],
        vec![
            (Place::Learnings, "learnings", "Learnings", view.learnings),
            (Place::Memory, "memory", "Memory", view.facts),
            (Place::Hooks, "hooks", "Hooks", 0),
            (Place::Settings, "settings", "Settings", 0),
        ],
    ];
    let lists = html! {
        @for group in &groups {
            ul { @for (place, path, name, count) in group {
                li { a href=(drawing.link(path)) aria-current=[(*place == here).then_some("page")] {
                    (name)
                    @if *count > 0 {
                        i class=[(*place == Place::Overview).then_some("c-wait")] { (count) }
                    }
                } }
            } }
        }
    };
    let touched = Touched::NEEDS
        | Touched::IDEAS
        | Touched::AGENTS
        | Touched::TRAIN
        | Touched::CHECKPOINTS
        | Touched::LEARNINGS
        | Touched::MEMORY;
    html! {
        nav .side aria-label="Pages" { (drawing.fragment("f-nav", touched, &lists)) }
    }
}
