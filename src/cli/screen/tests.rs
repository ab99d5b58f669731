//! The view as people see it, on a terminal that is only a buffer.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};
use serde_json::{Value, json};

use super::app::{Action, App, Mode, Role};
use super::draw::draw;
use super::feed::{Data, Request};
use super::keys::Key;
use super::text::width;
use crate::cli::error::CliError;
use crate::cli::json::to_value;
use crate::cli::output::Output;
use crate::cli::testkit;
use crate::domain::time::Timestamp;
use crate::view::{self, Outside};

fn now() -> Timestamp {
    Timestamp::from_millis(61_000)
}

/// A view of the state of the other tests, with one more thing that needs a person.
fn data() -> Data {
    let state = testkit::state();
    let outside = Outside {
        pid: Some(4242),
        ..Outside::default()
    };
    let mut status = to_value(&view::status(&state, outside)).unwrap();
    let conflict = json!({"kind": "conflict", "ideaId": "idea-001", "message": "the merge of \
        idea-001 has a conflict in a.txt", "commands": [LONG]});
    let needs = status["needsYou"].as_array_mut().unwrap();
    needs.push(conflict);
    let ideas = to_value(&view::ideas_open_first(&state, None)).unwrap();
    Data {
        status,
        ideas: ideas.as_array().cloned(),
        entries: vec![],
    }
}

const LONG: &str = "git -C .swarm/worktrees/ed-001-idea-001 commit -m 'Resolve the conflict of \
    idea-001'";

fn app(role: Role, colors: bool) -> App {
    let mut app = App::new(Output::for_pages(colors), role);
    app.take(data(), now());
    app
}

fn terminal(app: &mut App, columns: u16, rows: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(app, frame, now())).unwrap();
    terminal
}

/// What is on a screen of this size, without spaces at the ends of rows.
fn shown(app: &mut App, columns: u16, rows: u16) -> Vec<String> {
    let terminal = terminal(app, columns, rows);
    let buffer = terminal.backend().buffer();
    let row = |y| {
        let mut row = String::new();
        let mut x = 0;
        while x < columns {
            let symbol = buffer[(x, y)].symbol();
            row.push_str(symbol);
            x += u16::try_from(width(symbol).max(1)).unwrap();
        }
        row.trim_end().to_owned()
    };
    (0..rows).map(row).collect()
}

/// The same as one line: text that was wrapped at spaces is whole again.
fn flat(app: &mut App, columns: u16, rows: u16) -> String {
    let text = shown(app, columns, rows).join(" ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn press(app: &mut App, keys: &[Key]) -> Action {
    let mut last = Action::Nothing;
    for key in keys {
        last = app.key(*key, now());
    }
    last
}

#[test]
fn a_small_terminal_shows_what_needs_a_person_first() {
    let rows = shown(&mut app(Role::Attached, false), 60, 20);
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn a_wide_terminal_shows_everything() {
    let rows = shown(&mut app(Role::Hosting, false), 100, 30);
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn every_size_is_drawn_and_commands_are_whole_where_they_fit() {
    for columns in [1, 2, 5, 10, 20, 40, 60, 99, 200] {
        for rows in [1, 2, 3, 5, 8, 12, 20, 50] {
            shown(&mut app(Role::Attached, false), columns, rows);
        }
        let flat = flat(&mut app(Role::Attached, false), columns, 300);
        if columns >= 60 {
            assert!(flat.contains(LONG), "{columns}: {flat}");
            assert!(flat.contains("swarm idea retry idea-002"), "{flat}");
        }
        let no_spaces = |text: &str| text.replace([' ', '>'], "");
        if columns >= 5 {
            assert!(
                no_spaces(&flat).contains(&no_spaces(LONG)),
                "{columns}: {flat}"
            );
        }
    }
}

#[test]
fn every_row_can_be_reached_on_a_low_terminal() {
    let mut app = app(Role::Attached, false);
    let all = shown(&mut app, 60, 300);
    let wanted = all.iter().filter(|row| row.starts_with("   "));
    let wanted: Vec<String> = wanted.cloned().collect();
    let mut seen = Vec::new();
    for _ in 0..60 {
        seen.extend(shown(&mut app, 60, 9));
        press(&mut app, &[Key::Char('j')]);
    }
    for row in wanted {
        assert!(seen.contains(&row), "{row:?} was never shown");
    }
}

#[test]
fn colours_are_the_terminals_own_and_only_if_wanted() {
    let mut plain = app(Role::Attached, false);
    for cell in terminal(&mut plain, 60, 20).backend().buffer().content() {
        assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
        assert_eq!(cell.modifier, Modifier::empty());
    }
    let mut painted = app(Role::Attached, true);
    let painted = terminal(&mut painted, 60, 20);
    let cells = painted.backend().buffer().content();
    assert!(cells.iter().all(|cell| cell.bg == Color::Reset));
    for wanted in [Color::Green, Color::Yellow, Color::Cyan] {
        assert!(cells.iter().any(|cell| cell.fg == wanted), "{wanted}");
    }
}

#[test]
fn the_selection_stays_on_its_thing_when_others_come() {
    let mut app = app(Role::Attached, false);
    shown(&mut app, 60, 40);
    press(&mut app, &[Key::Down]);
    shown(&mut app, 60, 40);
    let selected = app.listing.selected().map(str::to_owned);
    let mut data = data();
    let first = json!({"kind": "paused", "message": "paused: lunch", "commands": ["swarm resume"]});
    let needs = data.status["needsYou"].as_array_mut().unwrap();
    needs.insert(0, first);
    app.take(data, now());
    shown(&mut app, 60, 40);
    assert_eq!(app.listing.selected().map(str::to_owned), selected);
}

#[test]
fn enter_opens_the_full_message_with_its_commands() {
    let mut app = app(Role::Attached, false);
    let long = "no room ".repeat(200);
    app.status["needsYou"][0]["message"] = long.clone().into();
    app.refresh(now());
    let list = flat(&mut app, 60, 40);
    assert!(list.contains("… Enter shows all of it"), "{list}");
    press(&mut app, &[Key::Enter]);
    let page = flat(&mut app, 60, 60);
    assert!(page.contains(long.trim()), "{page}");
    assert!(page.contains("swarm idea retry"), "{page}");
    press(&mut app, &[Key::Esc]);
    assert!(app.page.is_none());
}

#[test]
fn enter_asks_for_an_idea_and_for_an_agents_output() {
    let mut app = app(Role::Attached, false);
    let mut asked = Vec::new();
    for _ in 0..9 {
        shown(&mut app, 80, 40);
        if let Action::Ask(request) = press(&mut app, &[Key::Enter]) {
            asked.push(request);
        }
        press(&mut app, &[Key::Char('q'), Key::Char('j')]);
    }
    assert!(
        asked.contains(&Request::Output("ed-001".into())),
        "{asked:?}"
    );

    press(&mut app, &[Key::End]);
    app.filter = "ed-001".into();
    shown(&mut app, 80, 40);
    press(&mut app, &[Key::End, Key::Enter]);
    app.take_output("ed-001", "a line\n\u{1b}[2Jhostile");
    app.take_output("ed-002", "of another agent");
    let page = flat(&mut app, 80, 24);
    assert!(page.contains("a line ␛[2Jhostile"), "{page}");
    assert!(!page.contains("another"), "{page}");
    let action = press(&mut app, &[Key::Char('q')]);
    assert_eq!(action, Action::Ask(Request::NoOutput));
}

#[test]
fn an_idea_that_is_gone_says_so() {
    let mut app = app(Role::Attached, false);
    app.filter = "idea-002".into();
    app.status["needsYou"] = Value::Array(vec![]);
    app.refresh(now());
    app.page = Some(super::page::Page::new(
        super::page::Shows::Idea("idea-002".into()),
        "Idea",
        vec![],
    ));
    app.take_idea("idea-002", Err(CliError::refused("no such idea")), now());
    assert!(flat(&mut app, 80, 24).contains("no such idea"));
}

#[test]
fn a_filter_is_typed_kept_and_cleared() {
    let mut app = app(Role::Attached, false);
    let keys = [
        Key::Char('/'),
        Key::Char('A'),
        Key::Char('.'),
        Key::Char('t'),
    ];
    press(&mut app, &keys);
    assert_eq!(app.mode, Mode::Filter);
    assert!(flat(&mut app, 60, 30).contains("filter: a.t_"));
    press(&mut app, &[Key::Enter]);
    let kept = flat(&mut app, 60, 30);
    assert!(kept.contains("conflict in a.txt"), "{kept}");
    assert!(!kept.contains("idea-002 failed"), "{kept}");
    assert!(kept.contains("only \"a.t\" (Esc: all)"), "{kept}");
    press(&mut app, &[Key::Esc]);
    assert!(flat(&mut app, 60, 30).contains("idea-002 failed"));
    // Keys may be typed faster than frames are drawn.
    let fast = [
        Key::Char('/'),
        Key::Char('.'),
        Key::Enter,
        Key::End,
        Key::Enter,
    ];
    press(&mut app, &fast);
    assert!(flat(&mut app, 60, 30).contains("conflict in a.txt Type in the root"));
}

#[test]
fn q_leaves_an_attached_view_and_asks_before_it_stops_a_daemon() {
    let leave = press(&mut app(Role::Attached, false), &[Key::Char('q')]);
    assert_eq!(leave, Action::Leave);
    let leave = press(&mut app(Role::Attached, false), &[Key::Ctrl('c')]);
    assert_eq!(leave, Action::Leave);
    let mut hosting = app(Role::Hosting, false);
    assert_eq!(press(&mut hosting, &[Key::Char('q')]), Action::Nothing);
    assert!(flat(&mut hosting, 60, 20).contains("stop the daemon gracefully?"));
    assert_eq!(press(&mut hosting, &[Key::Char('x')]), Action::Nothing);
    let stop = press(&mut hosting, &[Key::Char('q'), Key::Char('y')]);
    assert_eq!(stop, Action::Interrupt);
    assert_eq!(press(&mut hosting, &[Key::Ctrl('c')]), Action::Interrupt);
    hosting.interrupts = 1;
    let notice = "stopping: waiting up to 30 s for ed-001 (iteration 1 of idea-001); whatever is \
        still running then is stopped without a penalty, and the next start continues it";
    hosting.notices.push(notice.into());
    let stopping = flat(&mut hosting, 60, 20);
    assert!(stopping.contains(notice), "{stopping}");
    assert!(stopping.contains("Ctrl+C stop at once"), "{stopping}");
    assert!(
        stopping.contains("Enter open · / filter · ? keys"),
        "{stopping}"
    );
}
