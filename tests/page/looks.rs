//! How pages are looked at: their sizes and themes, and what may be wrong with one.

use crate::axe;
use crate::browser::Browser;

/// The most elements of a page.
const ELEMENTS: u64 = 3_000;

/// Labels that are cut off on a narrow screen: of what acts or leads somewhere, headings, the heads
/// of tables, and commands to type. Rows of a list may shorten a title.
const CUT: &str = "if (innerWidth > 700) return ''; \
    const labels = 'button, a.b, .seg a, .side a, label, th, h1, h2, h3, dt, summary, .tag, .st, \
    .cmd code, dialog .cut, .palette-list .cut'; \
    const hides = (one) => getComputedStyle(one).overflowX !== 'visible'; \
    const within = (one) => { for (let box = one; box && box !== document.body; \
    box = box.parentElement) { if (hides(box)) return box; } return null; }; \
    const isCut = (one) => { const box = within(one); if (!box || box.matches('.side, .scroll')) \
    return false; const [inner, outer] = [one, box].map((it) => it.getBoundingClientRect()); \
    return box === one ? one.scrollWidth > one.clientWidth + 1 \
    : inner.width > 0 && inner.right > outer.right + 1; }; \
    return [...document.querySelectorAll(labels)].filter((one) => one.checkVisibility() \
    && !one.closest('.vh') && one.textContent.trim() && isCut(one)).slice(0, 4) \
    .map((one) => `${one.outerHTML.slice(0, 160)}`).join(' | ')";

/// A size of the window, and light or dark.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    width: u32,
    height: u32,
    is_dark: bool,
}

/// The looks that every page must have.
pub const LOOKS: [Look; 6] = [
    Look::new(1440, 900, false),
    Look::new(1440, 900, true),
    Look::new(1024, 768, false),
    Look::new(1024, 768, true),
    Look::new(390, 844, false),
    Look::new(390, 844, true),
];

impl Look {
    const fn new(width: u32, height: u32, is_dark: bool) -> Self {
        Self {
            width,
            height,
            is_dark,
        }
    }

    /// `1440-light`.
    pub fn name(self) -> String {
        let theme = if self.is_dark { "dark" } else { "light" };
        format!("{}-{theme}", self.width)
    }

    /// Gives the browser this look.
    pub fn put_on(self, browser: &Browser<'_>) {
        browser.look(self.width, self.height, self.is_dark);
    }
}

/// What is wrong with the page that is shown: barriers, overflow, its size, and what the console or
/// the security policy complains of.
pub fn faults(browser: &Browser<'_>) -> Vec<String> {
    let mut faults = axe::violations(browser);
    let wide = browser.run(
        "const all = document.documentElement; \
        const right = (one) => one.getBoundingClientRect().right; \
        if (all.scrollWidth <= all.clientWidth) return null; \
        const out = [...document.querySelectorAll('body *')].filter((one) => \
        right(one) > all.clientWidth && !one.closest('.side, .scroll')); \
        return `${all.scrollWidth} px wide: ${out.slice(0, 4).map((one) => \
        `${one.outerHTML.slice(0, 120)} to ${right(one)}`).join(' | ')}`",
    );
    if let Some(wide) = wide.as_str() {
        faults.push(format!("overflows: {wide}"));
    }
    let cut = browser.run(CUT);
    if let Some(cut) = cut.as_str().filter(|cut| !cut.is_empty()) {
        faults.push(format!("cut off: {cut}"));
    }
    let elements = browser.run("return document.getElementsByTagName('*').length");
    let elements = elements.as_u64().unwrap();
    if elements > ELEMENTS {
        faults.push(format!("{elements} elements"));
    }
    faults.extend(browser.complaints());
    faults
}

/// Opens a page; behind `>` stands the dialog that is opened over it, as a click on its link does.
pub fn visit(browser: &Browser<'_>, page: &str) {
    let (page, dialog) = page.split_once('>').unwrap_or((page, ""));
    browser.go(page);
    if dialog.is_empty() {
        return;
    }
    browser.run(&format!(
        "document.querySelector('a[data-dialog][href$=\"/{dialog}\"]').click()"
    ));
    let is_open = "document.querySelector('dialog[open] [data-sheet]')";
    browser.wait(&format!("the dialog {dialog}"), is_open);
}

/// What is wrong with these pages in these looks.
pub fn faults_of<'p>(
    browser: &Browser<'_>,
    visits: impl IntoIterator<Item = (&'p str, Look)>,
) -> Vec<String> {
    let mut broken = Vec::new();
    for (page, look) in visits {
        look.put_on(browser);
        visit(browser, page);
        let found = faults(browser);
        if !found.is_empty() {
            broken.push(format!(
                "/{page} at {}:\n  {}",
                look.name(),
                found.join("\n  ")
            ));
        }
    }
    broken
}

/// What is wrong with pages that do not exist, but that the address is answered with 404.
pub fn faults_of_missing<'p>(
    browser: &Browser<'_>,
    visits: impl IntoIterator<Item = (&'p str, Look)>,
) -> Vec<String> {
    let mut broken = Vec::new();
    for (page, look) in visits {
        look.put_on(browser);
        visit(browser, page);
        let is_answer = |fault: &String| fault.contains("with a status of 404");
        let (answer, found): (Vec<_>, Vec<_>) = faults(browser).into_iter().partition(is_answer);
        if answer.len() != 1 || !found.is_empty() {
            broken.push(format!("/{page} at {}: {answer:?} {found:?}", look.name()));
        }
    }
    broken
}

/// Each page in one look, the looks in turn.
pub fn in_turn<'p>(pages: &'p [&'p str]) -> impl Iterator<Item = (&'p str, Look)> {
    pages.iter().copied().zip(LOOKS.into_iter().cycle())
}
