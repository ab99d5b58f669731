//! Folds the positions in a failed command's output: the same failure one line further down is the
//! same failure.
//!
//! Invariant: pure. Only a number that a file, a word such as `line`, a diff or a compiler's margin
//! marks as a position is folded. Counts stay, because fewer failures are progress. Called by
//! `failure_fingerprint`.

use super::failure_fingerprint::separates;

/// Stands for a position.
const POSITION: &str = "<line>";

/// Extensions of files that tools report positions in.
const EXTENSIONS: &[&str] = &[
    "adoc", "astro", "bash", "bat", "c", "cc", "cfg", "cjs", "clj", "cljs", "cmake", "conf", "cpp",
    "cs", "css", "csv", "cts", "cxx", "dart", "edn", "el", "erb", "erl", "ex", "exs", "f90",
    "feature", "fish", "fs", "go", "gradle", "graphql", "groovy", "h", "hh", "hpp", "hrl", "hs",
    "htm", "html", "hxx", "ini", "ipynb", "java", "jl", "js", "json", "jsonc", "jsx", "kt", "kts",
    "less", "lua", "m", "md", "mdx", "mjs", "mk", "ml", "mli", "mm", "mts", "nim", "nix", "php",
    "pl", "pm", "proto", "ps1", "py", "pyi", "pyx", "r", "rake", "rb", "rs", "rst", "sass",
    "scala", "scss", "sh", "sol", "sql", "sv", "svelte", "swift", "t", "tex", "tf", "toml", "ts",
    "tsx", "txt", "v", "vb", "vue", "xml", "yaml", "yml", "zig", "zsh",
];
/// Words before the number of a line or a column.
const LINE_WORDS: &[&str] = &["line", "column", "col", "char", "character"];
/// Endings of test classes, whose methods Maven reports as `AddTest.adds:12`.
const TEST_CLASSES: &[&str] = &["Test", "Tests", "TestCase", "IT"];

/// The line with each position replaced by the same text.
pub(super) fn fold_positions(line: &str) -> String {
    if let Some(hunk) = fold_hunk(line) {
        return hunk;
    }
    if is_plain_hunk(line) {
        return POSITION.to_owned();
    }
    let (mut folded, mut at) = match margin(line) {
        Some(end) => (POSITION.to_owned(), end),
        None => (String::with_capacity(line.len()), 0),
    };
    while let Some(next) = line[at..].chars().next() {
        let before = &line[..at];
        let starts = next.is_ascii_digit() && !before.ends_with(char::is_alphanumeric);
        if let Some(length) = starts.then(|| position(before, &line[at..])).flatten() {
            folded.push_str(POSITION);
            at += length;
        } else {
            folded.push(next);
            at += next.len_utf8();
        }
    }
    folded
}

/// `@@ -12,7 +12,8 @@ fn add`: the lengths stay.
fn fold_hunk(line: &str) -> Option<String> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, rest) = rest.split_once(" @@")?;
    let length = |range: &str| {
        range
            .find(',')
            .map_or(String::new(), |at| range[at..].to_owned())
    };
    let (old, new) = (length(old), length(new));
    Some(format!("@@ -{POSITION}{old} +{POSITION}{new} @@{rest}"))
}

/// `12c12`, `12,13d11`, as in the output of `diff` without options.
fn is_plain_hunk(line: &str) -> bool {
    let is_range = |text: &str| {
        let mut numbers = text.split(',');
        numbers.all(|number| !number.is_empty() && digits(number) == number.len())
    };
    line.split_once(['a', 'c', 'd'])
        .is_some_and(|(old, new)| is_range(old) && is_range(new))
}

/// End of the line number in the margin of quoted source: `12 |`, `> 12 |`, `12 │`. What stands
/// before it only aligns it.
fn margin(line: &str) -> Option<usize> {
    let number = line.trim_start_matches(|c: char| c.is_whitespace() || ">→❯".contains(c));
    let start = line.len() - number.len();
    let end = start + digits(number);
    let is_margin = end > start && line[end..].trim_start().starts_with(['|', '│']);
    is_margin.then_some(end)
}

/// Length of the position that `text` starts with, if what stands before it and after it says that
/// it is one.
fn position(before: &str, text: &str) -> Option<usize> {
    after_file(before, text)
        .or_else(|| in_parentheses(before, text))
        .or_else(|| in_brackets(before, text))
        .or_else(|| after_word(before, text))
        .or_else(|| in_table(before, text))
        .or_else(|| program_offset(before, text))
}

/// `a.rs:12`, `a.rs:12:5`, `a.sh: 12: not found`
fn after_file(before: &str, text: &str) -> Option<usize> {
    if let Some(file) = before.strip_suffix(':') {
        return ends_with_file(file).then(|| coordinates(text)).flatten();
    }
    let length = digits(text);
    let is_shell = before.strip_suffix(": ").is_some_and(ends_with_file);
    (is_shell && text[length..].starts_with(": ")).then_some(length)
}

/// `a.ts(12,5)`, `a.cpp(12)`, `a.hs:(12,5)`
fn in_parentheses(before: &str, text: &str) -> Option<usize> {
    let file = before.strip_suffix('(')?;
    let length = pair(text, ',').unwrap_or_else(|| digits(text));
    let is_closed = text[length..].starts_with(')');
    (is_closed && ends_with_file(file.strip_suffix(':').unwrap_or(file))).then_some(length)
}

/// `A.java:[12,5]` and `[12:5]`. `a_spec.rb[1:2]` is the id of an example, `[12,5]` a list.
fn in_brackets(before: &str, text: &str) -> Option<usize> {
    let outer = before.strip_suffix('[')?;
    let file = outer.strip_suffix(':').unwrap_or(outer);
    let of_file = || pair(text, ',').filter(|_| ends_with_file(file));
    let alone = || pair(text, ':').filter(|_| !outer.ends_with(char::is_alphanumeric));
    let length = of_file().or_else(alone)?;
    text[length..].starts_with(']').then_some(length)
}

/// `line 12`, `line: 12`, `"column":5`, `lines 3-5`
fn after_word(before: &str, text: &str) -> Option<usize> {
    let gap = before.trim_end_matches([' ', ':', '=', '"', '#']);
    if gap.len() == before.len() {
        return None;
    }
    let start = gap
        .rfind(|c: char| !c.is_alphanumeric() && c != '_')
        .map_or(0, |at| {
            at + gap[at..].chars().next().map_or(0, char::len_utf8)
        });
    let word = gap[start..].to_lowercase();
    let length = coordinates(text)?;
    // `lines 3` may be a count.
    let is_range = word == "lines" && text[..length].contains('-');
    (is_range || LINE_WORDS.contains(&word.as_str())).then_some(length)
}

/// `  12:5  error  ...`, a row of a linter's table.
fn in_table(before: &str, text: &str) -> Option<usize> {
    let length = pair(text, ':')?;
    let starts = before.trim_start().is_empty() || before.ends_with("  ");
    (starts && text[length..].starts_with("  ")).then_some(length)
}

/// `a.go:12 +0x1d`, the place in the compiled function.
fn program_offset(before: &str, text: &str) -> Option<usize> {
    let hex = text.strip_prefix("0x")?;
    let length = hex
        .find(|c: char| !c.is_ascii_hexdigit())
        .unwrap_or(hex.len());
    let in_go = before.strip_suffix(" +")?.contains(".go:");
    (in_go && length > 0).then_some(2 + length)
}

/// Length of `12`, `12:5`, `12-14` or `12:5-14:2`; `None` for a measurement such as `12.5` or
/// `12%`.
fn coordinates(text: &str) -> Option<usize> {
    let mut length = pair(text, ':').unwrap_or_else(|| digits(text));
    if let Some(to) = text[length..].strip_prefix('-') {
        match pair(to, ':').unwrap_or_else(|| digits(to)) {
            0 => {}
            end => length += 1 + end,
        }
    }
    let after = &text[length..];
    let is_measured = after.starts_with(|c: char| c.is_alphanumeric() || c == '%')
        || after.strip_prefix('.').is_some_and(|rest| digits(rest) > 0);
    (length > 0 && !is_measured).then_some(length)
}

/// Length of two numbers with this character, and perhaps a space, between them.
fn pair(text: &str, between: char) -> Option<usize> {
    let first = digits(text);
    let after = text[first..].strip_prefix(between)?;
    let second = after.trim_start_matches(' ');
    let gap = after.len() - second.len();
    let is_pair = first > 0 && gap <= usize::from(between == ',') && digits(second) > 0;
    is_pair.then(|| first + between.len_utf8() + gap + digits(second))
}

fn digits(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len())
}

fn ends_with_file(text: &str) -> bool {
    let text = text.trim_end_matches(['"', '\'', '`']);
    if let Some(inner) = text.strip_suffix('>') {
        // `<stdin>`, `<anonymous>`
        let name = inner.rsplit('<').next().unwrap_or_default();
        return name.len() < inner.len() && name.chars().all(char::is_alphabetic);
    }
    is_file(text.rsplit(separates).next().unwrap_or(text))
}

fn is_file(word: &str) -> bool {
    let (folder, name) = word
        .rfind(['/', '\\'])
        .map_or(("", word), |at| word.split_at(at + 1));
    // `http://host.rs:80` has a port.
    if folder.ends_with("://") {
        return false;
    }
    if matches!(
        name,
        "Makefile" | "makefile" | "GNUmakefile" | "Dockerfile" | "Rakefile"
    ) {
        return true;
    }
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return folder.starts_with("node:");
    };
    let class = stem.rsplit('.').next().unwrap_or(stem);
    let is_test = |end: &&str| class.len() > end.len() && class.ends_with(*end);
    EXTENSIONS.contains(&extension.to_lowercase().as_str()) || TEST_CLASSES.iter().any(is_test)
}
