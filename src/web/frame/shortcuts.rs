//! The list of keys.

use maud::{Markup, html};

use crate::web::document::Drawing;
use crate::web::palette;

/// The shortcuts, for the dialog and the settings.
pub fn shortcuts(drawing: &Drawing<'_>) -> Markup {
    let keys: [(&str, &str); 10] = [
        ("Ctrl K", "find a page, idea, agent, commit or action"),
        ("?", "this list"),
        ("j k", "next and previous row"),
        ("Enter", "open the row"),
        ("x", "select the row"),
        ("/", "search on this page"),
        ("a", "add an idea"),
        ("i", "intervene: the agent or idea of the row or page"),
        ("l", "back to now"),
        ("[ ]", "event before and after"),
    ];
    html! {
        table .keys { tbody {
            @for (key, what) in keys {
                tr { th scope="row" { kbd { (key) } } td { (what) } }
            }
            @for page in palette::PAGES.iter() {
                @if let Some(key) = page.key {
                    tr { th scope="row" { kbd { "g " (key) } }
                        td { a href=(drawing.link(page.path)) data-letter=(key) { (page.name) } } }
                }
            }
        } }
    }
}
