//! Draws the full-screen view.
//!
//! Invariant: nothing is drawn wider than the terminal. The header, the notices of a stopping
//! daemon and the list's commands are wrapped; the list and the pages scroll.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;

use super::app::{App, Mode, Role};
use super::text::{cut, plain, styled, width, wrap};
use crate::cli::event_log;
use crate::cli::json::text;
use crate::cli::output::terminal::{Tone, safe};
use crate::cli::render::{self, usage};
use crate::domain::time::Timestamp;

/// Columns left of the list, for the mark of what is selected.
const MARGIN: u16 = 2;
/// The most rows of the log below the list.
const MAX_LOG: u16 = 10;
/// The most notices shown.
const MAX_NOTICES: usize = 4;

/// Where things go, from top to bottom.
struct Areas {
    header: Rect,
    body: Rect,
    log: Rect,
    notices: Rect,
    footer: Rect,
}

/// Draws a frame.
pub fn draw(app: &mut App, frame: &mut Frame<'_>, now: Timestamp) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    app.output.width = Some(area.width);
    let header = header(app, area.width, now);
    let notices = notices(app, area.width);
    let areas = divide(area, header.len(), notices.len(), app.page.is_none());
    put(buffer, areas.header, &header);
    if app.page.is_some() {
        page(app, buffer, areas.body);
    } else {
        list(app, buffer, areas.body);
        log(app, buffer, areas.log, now);
    }
    put(buffer, areas.notices, &notices);
    put(buffer, areas.footer, &[footer(app, area.width)]);
}

fn divide(area: Rect, header: usize, notices: usize, with_log: bool) -> Areas {
    let rows = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    let mut rest = area.height;
    let mut take = |wanted: u16| {
        let got = wanted.min(rest);
        rest -= got;
        got
    };
    let footer = take(1);
    let notices = take(rows(notices));
    let header = take(rows(header));
    let log = if with_log && area.height >= 12 {
        take((area.height / 4).min(MAX_LOG))
    } else {
        0
    };
    let mut top = area.y;
    let mut next = |height: u16| {
        let part = Rect {
            y: top,
            height,
            ..area
        };
        top += height;
        part
    };
    Areas {
        header: next(header),
        body: next(rest),
        log: next(log),
        notices: next(notices),
        footer: next(footer),
    }
}

fn put(buffer: &mut Buffer, area: Rect, lines: &[Line<'_>]) {
    for (y, line) in (area.top()..area.bottom()).zip(lines) {
        buffer.set_line(area.x, y, line, area.width);
    }
}

fn wrapped(lines: &[String], columns: u16) -> Vec<Line<'static>> {
    let lines = lines.iter().flat_map(|text| text.lines());
    lines
        .flat_map(|line| wrap(&styled(line), usize::from(columns), 2))
        .collect()
}

fn header(app: &App, columns: u16, now: Timestamp) -> Vec<Line<'static>> {
    if app.status.is_null() {
        return vec![Line::from("reading the daemon's state ...")];
    }
    let mut counts = render::counts(&app.output, &app.status);
    if let Some(used) = app.status.get("usedToday") {
        let cost = usage::cost(used);
        if !cost.is_empty() {
            let day = safe(text(used, "day"));
            counts = format!("{counts} · spent {} on {day} (UTC)", safe(&cost));
        }
    }
    let mut lines = vec![render::head(&app.output, &app.status), counts];
    lines.extend(render::target_check(&app.status, now));
    lines.extend(render::synthesis(&app.status));
    wrapped(&lines, columns)
}

fn notices(app: &App, columns: u16) -> Vec<Line<'static>> {
    let from = app.notices.len().saturating_sub(MAX_NOTICES);
    let shown: Vec<String> = app.notices[from..]
        .iter()
        .map(|notice| app.output.paint(Tone::Warn, &safe(notice)).into_owned())
        .collect();
    wrapped(&shown, columns)
}

fn list(app: &mut App, buffer: &mut Buffer, area: Rect) {
    let columns = area.width.saturating_sub(MARGIN);
    let colors = app.output.colors;
    app.columns = usize::from(columns);
    app.lay_out();
    let (rows, selected) = app.listing.visible(usize::from(area.height));
    let mut before = None;
    for (y, row) in (area.top()..area.bottom()).zip(rows) {
        let x = match row.item {
            Some(_) => area.x + MARGIN.min(area.width),
            None => area.x,
        };
        buffer.set_line(x, y, &row.line, area.right() - x);
        let whole = Rect {
            y,
            height: 1,
            ..area
        };
        if row.item.is_none() && colors {
            buffer.set_style(whole, Style::new().add_modifier(Modifier::BOLD));
        }
        if row.item == Some(selected) && before != row.item {
            buffer.set_line(area.x, y, &Line::from(">"), area.width);
            if colors {
                buffer.set_style(whole, Style::new().add_modifier(Modifier::REVERSED));
            }
        }
        before = row.item;
    }
    if app.sections.is_empty() && !app.status.is_null() {
        let nothing = Line::from("nothing to do: add an idea with swarm idea add \"...\"");
        put(buffer, area, &wrap(&nothing, usize::from(area.width), 2));
    }
}

fn log(app: &mut App, buffer: &mut Buffer, area: Rect, now: Timestamp) {
    if area.height == 0 {
        return;
    }
    let heading = Rect { height: 1, ..area };
    let title = app.output.paint(Tone::Strong, "Log").into_owned();
    put(buffer, heading, &[styled(&title)]);
    let hidden = match app.listing.hidden() {
        (0, 0) => String::new(),
        // The list is above this heading.
        (above, 0) => format!("list: {above} rows above"),
        (0, below) => format!("list: {below} more rows"),
        (above, below) => format!("list: {above} rows above, {below} more"),
    };
    let hidden = app.output.paint(Tone::Dim, &hidden).into_owned();
    put_right(buffer, heading, &hidden);
    let rest = Rect {
        y: area.y + 1,
        height: area.height - 1,
        ..area
    };
    let recent = app.entries.make_contiguous();
    let from = recent.len().saturating_sub(usize::from(rest.height));
    let lines = event_log::lines(&app.output, &recent[from..], now);
    let rows: Vec<Line<'static>> = lines
        .iter()
        .flat_map(|line| wrap(&styled(line), usize::from(area.width), 4))
        .collect();
    let from = rows.len().saturating_sub(usize::from(rest.height));
    put(buffer, rest, &rows[from..]);
}

fn put_right(buffer: &mut Buffer, area: Rect, painted: &str) {
    let line = styled(painted);
    let width = u16::try_from(line.width())
        .unwrap_or(u16::MAX)
        .min(area.width);
    buffer.set_line(area.right() - width, area.y, &line, width);
}

fn page(app: &mut App, buffer: &mut Buffer, area: Rect) {
    let Some(page) = &mut app.page else {
        return;
    };
    let heading = Rect {
        height: area.height.min(1),
        ..area
    };
    let rest = Rect {
        y: area.y + heading.height,
        height: area.height - heading.height,
        ..area
    };
    let (rows, below) = page.visible(usize::from(rest.width), usize::from(rest.height));
    put(buffer, rest, &rows);
    let title = app.output.paint(Tone::Strong, &page.title).into_owned();
    put(buffer, heading, &[styled(&title)]);
    if below > 0 && heading.height > 0 {
        let more = format!("{below} more rows below");
        put_right(buffer, heading, &app.output.paint(Tone::Dim, &more));
    }
}

/// The keys of the moment, as many as fit.
fn footer(app: &App, columns: u16) -> Line<'static> {
    let filter = app.page.as_ref().map_or(&app.filter, |page| &page.filter);
    let words = match app.mode {
        Mode::Filter => format!("filter: {}_  Enter keep · Esc clear", safe(filter)),
        Mode::ConfirmStop if app.interrupts == 0 => {
            "stop the daemon gracefully?  y yes · any other key no".to_owned()
        }
        Mode::ConfirmStop => "stop at once? agents keep running  y yes · other no".to_owned(),
        Mode::Browse => keys(app, filter, usize::from(columns)),
    };
    let words = cut(&words, usize::from(columns));
    if app.mode == Mode::Browse {
        styled(&app.output.paint(Tone::Dim, &words))
    } else {
        styled(&app.output.paint(Tone::Strong, &plain(&words)))
    }
}

fn keys(app: &App, filter: &str, columns: usize) -> String {
    let mut parts = Vec::new();
    if !filter.is_empty() {
        parts.push(format!("only \"{}\" (Esc: all)", safe(filter)));
    }
    if app.page.is_some() {
        parts.extend(["q back", "j k scroll", "/ filter"].map(str::to_owned));
        return parts.join(" · ");
    }
    let leave = match (app.role, app.interrupts) {
        (Role::Attached, _) => "q leave",
        (Role::Hosting, 0) => "q Ctrl+C stop",
        (Role::Hosting, _) => "Ctrl+C stop at once",
    };
    let others = ["j k select", "Enter open", "/ filter", "? keys"];
    parts.push(leave.to_owned());
    parts.extend(others.map(str::to_owned));
    // `?` shows those that are left out.
    for left_out in ["j k select", "/ filter", "Enter open"] {
        if width(&parts.join(" · ")) > columns {
            parts.retain(|part| part != left_out);
        }
    }
    parts.join(" · ")
}
