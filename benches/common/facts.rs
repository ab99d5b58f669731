//! A labelled corpus: facts about a software project, each with paraphrases as other agents would
//! word it.
//!
//! Invariant: the same corpus each time. A paraphrase has other words than its fact; names, numbers
//! and paths stay, or a component is called by what it does. So paraphrases of different facts of
//! one family are closer in words than those of one fact, as in real projects.

/// What a project consists of: a name, what else people call it, a file, who looks after it.
const COMPONENTS: &[[&str; 4]] = &[
    [
        "billing",
        "the invoice code",
        "src/billing/invoice.rs",
        "mara",
    ],
    ["auth", "the login code", "src/auth/session.rs", "jonas"],
    [
        "search",
        "the query engine",
        "src/search/engine.rs",
        "priya",
    ],
    ["mailer", "outgoing mail", "src/mailer/smtp.rs", "tomasz"],
    [
        "scheduler",
        "the cron part",
        "src/scheduler/calendar.rs",
        "ines",
    ],
    ["importer", "CSV ingestion", "src/importer/csv.rs", "akira"],
    [
        "exporter",
        "the report writer",
        "src/exporter/pdf.rs",
        "lena",
    ],
    ["gateway", "the public API", "src/gateway/routes.rs", "omar"],
    ["worker", "background jobs", "src/worker/pool.rs", "sofia"],
    ["cache", "the Redis layer", "src/cache/redis.rs", "pavel"],
    ["uploads", "file storage", "src/uploads/s3.rs", "nadia"],
    [
        "webhooks",
        "callbacks to customers",
        "src/webhooks/deliver.rs",
        "bruno",
    ],
    ["admin", "the back office", "web/admin/index.tsx", "yuki"],
    [
        "checkout",
        "the shopping cart",
        "web/checkout/cart.tsx",
        "elif",
    ],
    [
        "profile",
        "the account page",
        "web/profile/page.tsx",
        "marek",
    ],
    ["metrics", "telemetry", "src/metrics/prometheus.rs", "chloe"],
    [
        "catalog",
        "the product list",
        "src/catalog/products.rs",
        "ravi",
    ],
    ["i18n", "translations", "locales/en.json", "greta"],
    ["notifier", "push messages", "src/notifier/push.rs", "diego"],
    ["ledger", "bookkeeping", "src/ledger/post.rs", "hanna"],
];

/// A fact and three paraphrases, with the first number and the step to the next component's.
/// `{n}` is the component, `{m}` another one, `{a}` what else people call it, `{p}` its file, `{o}`
/// who looks after it, `{E}` its name in capitals, `{v}` the number.
type Family = ([&'static str; 4], u32, u32);

const FAMILIES: &[Family] = &[
    (
        [
            "The {n} service listens on port {v}.",
            "Connect to localhost:{v} to reach {n}.",
            "At startup {a} binds TCP {v}.",
            "curl 127.0.0.1:{v} only answers while {n} is up",
        ],
        3000,
        117,
    ),
    (
        [
            "Requests to {n} time out after {v} seconds.",
            "{n} gives up on a call once {v}s have passed",
            "Whatever {a} does for longer than {v} sec is cut off.",
            "The deadline in {n} is {v} seconds, slower calls fail.",
        ],
        5,
        7,
    ),
    (
        [
            "{n} needs the environment variable {E}_URL.",
            "Without {E}_URL set, {n} panics at boot.",
            "Export {E}_URL before you start {a}.",
            "If {E}_URL is undefined the {n} process refuses to start",
        ],
        0,
        0,
    ),
    (
        [
            "Run the {n} tests with make test-{n}.",
            "make test-{n} is the way to check {a}.",
            "To verify {n} alone, call the target test-{n}, not the whole suite.",
            "There is a separate suite for {a}: test-{n}",
        ],
        0,
        0,
    ),
    (
        [
            "The test {n}_roundtrip is flaky.",
            "{n}_roundtrip fails now and then; just start it again.",
            "Do not trust a red {n}_roundtrip, it depends on timing.",
            "When {n}_roundtrip breaks it is usually a race, not your change.",
        ],
        0,
        0,
    ),
    (
        [
            "{p} is generated; never edit it by hand.",
            "Manual changes in {p} are overwritten by the build.",
            "Do not touch {p}: codegen writes it",
            "A generator produces {p}, so whatever you type there is lost.",
        ],
        0,
        0,
    ),
    (
        [
            "{n} stores its rows in the table {n}_entries.",
            "The data of {a} lives in {n}_entries.",
            "Look into {n}_entries to see what {n} saved.",
            "SELECT * FROM {n}_entries shows the records of {a}",
        ],
        0,
        0,
    ),
    (
        [
            "Migration {v} must run before {n} starts.",
            "{n} crashes unless the schema is at {v}.",
            "Apply database step {v} first, {a} depends on it.",
            "The start of {n} requires schema version {v}",
        ],
        20_240_101,
        13,
    ),
    (
        [
            "{n} takes a global lock, so its tests cannot run in parallel.",
            "Use --test-threads=1 for {n}; everything there shares one mutex.",
            "Two tests of {n} at the same time deadlock.",
            "The {n} suite is serial because of a process-wide mutex.",
        ],
        0,
        0,
    ),
    (
        [
            "{n} does not build with protobuf newer than 3.{v}.",
            "Keep protobuf at 3.{v} for {n}.",
            "Upgrading protobuf past 3.{v} breaks {a}.",
            "{n} only compiles against protobuf 3.{v} or older",
        ],
        2,
        1,
    ),
    (
        [
            "The rewrite of {n} hides behind the flag enable_{n}_v2.",
            "Set enable_{n}_v2 to try the new version of {a}.",
            "enable_{n}_v2 switches between the old and the new {n}.",
            "By default enable_{n}_v2 is off and legacy code runs.",
        ],
        0,
        0,
    ),
    (
        [
            "{n} needs {v} MB of memory in CI.",
            "With less than {v} MB the {n} job is killed.",
            "The pipeline kills {a} below {v} megabytes.",
            "OOM in {n}? Give the runner {v} MB.",
        ],
        512,
        96,
    ),
    (
        [
            "The documentation of {n} is in docs/{n}.md.",
            "Read docs/{n}.md before you change {a}.",
            "docs/{n}.md explains how {n} works",
            "Whoever modifies {a} also updates docs/{n}.md.",
        ],
        0,
        0,
    ),
    (
        [
            "Error codes of {n} begin at E{v}.",
            "E{v} and up belong to {n}.",
            "Failures are numbered from E{v} on in {a}.",
            "New {n} error? Count on after E{v}",
        ],
        1100,
        100,
    ),
    (
        [
            "{n} reads its settings from config/{n}.toml.",
            "config/{n}.toml configures {a}.",
            "Change how {n} behaves in config/{n}.toml, not in code.",
            "The knobs for {a} are in config/{n}.toml",
        ],
        0,
        0,
    ),
    (
        [
            "{n} retries a failed call {v} times.",
            "After {v} attempts {n} stops trying.",
            "{a} repeats failing requests up to {v}x",
            "Expect {v} tries from {n} before it reports an error.",
        ],
        3,
        1,
    ),
    (
        [
            "Snapshots of {n} are updated with UPDATE_{E}=1.",
            "UPDATE_{E}=1 rewrites the golden files of {a}.",
            "Golden output differs in {n}? Rerun with UPDATE_{E}=1",
            "Accept new expectations for {n} through UPDATE_{E}=1.",
        ],
        0,
        0,
    ),
    (
        [
            "{n} must not import from {m}.",
            "Using {m} inside {n} breaks the layering check.",
            "Keep {n} free of {m}: the linter rejects such an import.",
            "{n} may never depend on {m}",
        ],
        0,
        0,
    ),
    (
        [
            "{n} processes {v} items per batch.",
            "Batches in {n} hold {v} entries.",
            "{a} works in chunks of {v}.",
            "The chunk size of {n} is {v}",
        ],
        50,
        25,
    ),
    (
        [
            "{n} allows {v} requests per minute.",
            "More than {v} calls a minute to {n} give HTTP 429.",
            "{a} throttles clients at {v}/min.",
            "You get a 429 from {n} beyond {v} hits in sixty seconds.",
        ],
        60,
        30,
    ),
    (
        [
            "Release {n} with scripts/release-{n}.sh.",
            "scripts/release-{n}.sh publishes {a}.",
            "To ship {n}, call release-{n}.sh from the scripts folder.",
            "A new version of {a} goes out through scripts/release-{n}.sh",
        ],
        0,
        0,
    ),
    (
        [
            "Tests of {n} use the fake in tests/fakes/{n}.rs.",
            "tests/fakes/{n}.rs stands in for the real {n}.",
            "No network in unit tests: {a} is replaced by tests/fakes/{n}.rs",
            "Extend tests/fakes/{n}.rs when {n} gets another call.",
        ],
        0,
        0,
    ),
    (
        [
            "{n} stores all times in UTC.",
            "Timestamps in {n} carry no zone, they are UTC.",
            "Convert dates to UTC before you hand them to {n}.",
            "{n} expects UTC; local time gives the wrong day.",
        ],
        0,
        0,
    ),
    (
        [
            "Set RUST_LOG={n}=debug to see what {n} does.",
            "{n}=debug in RUST_LOG shows the inner steps of {a}.",
            "Verbose output of {n} needs RUST_LOG={n}=debug",
            "To trace {n}, put {n}=debug into RUST_LOG.",
        ],
        0,
        0,
    ),
    (
        [
            "A clean build of {n} takes {v} minutes.",
            "Expect {v} min of compile time for {n}.",
            "{a} compiles for {v} minutes, so prefer cargo check.",
            "Building {n} from scratch is {v} minutes of waiting",
        ],
        4,
        1,
    ),
    (
        [
            "Changes to {n} need a review by {o}.",
            "Ask {o} before you merge into {n}.",
            "{o} owns {a}.",
            "CODEOWNERS sends pull requests for {n} to {o}",
        ],
        0,
        0,
    ),
    (
        [
            "{n} never deletes rows; it sets deleted_at.",
            "Removal in {n} is soft: deleted_at gets a time.",
            "Filter on deleted_at when you query {n}.",
            "Records of {n} stay forever, look at deleted_at",
        ],
        0,
        0,
    ),
    (
        [
            "Identifiers in {n} begin with {n}_id_.",
            "{n}_id_ is the prefix of keys in {a}.",
            "A key such as {n}_id_01 belongs to {n}.",
            "Everything that starts with {n}_id_ was made by {a}",
        ],
        0,
        0,
    ),
    (
        [
            "{n} consumes the queue q-{v}.",
            "Messages for {a} go to q-{v}.",
            "Publish to q-{v} and {n} picks it up.",
            "q-{v} is drained by {n}",
        ],
        11,
        3,
    ),
    (
        [
            "Calls to {n} need an Idempotency-Key header.",
            "{n} answers 400 without Idempotency-Key.",
            "Send an Idempotency-Key to {n}, or it rejects the request.",
            "{n} refuses whoever forgets the Idempotency-Key",
        ],
        0,
        0,
    ),
    (
        [
            "Coverage of {n} must stay above {v} percent.",
            "CI fails when {n} is covered less than {v}%.",
            "The threshold for tests of {a} is {v} percent of the lines.",
            "Below {v}% covered lines {n} does not merge",
        ],
        60,
        2,
    ),
    (
        [
            "{n} does not work on Windows because it forks.",
            "Skip {n} on Windows: there is no fork.",
            "{n} needs fork(), so it is Unix only.",
            "Windows builds leave {n} out, as it forks",
        ],
        0,
        0,
    ),
    (
        [
            "{n} rejects names longer than {v} characters.",
            "Names above {v} chars fail the validation in {n}.",
            "{a} caps a name at {v} letters.",
            "The longest name that {n} takes has {v} characters",
        ],
        24,
        8,
    ),
    (
        [
            "{n} caches answers for {v} seconds.",
            "Stale data in {n}? Entries live {v} s.",
            "{a} keeps responses {v} seconds.",
            "The TTL in {n} is {v} sec",
        ],
        30,
        15,
    ),
    (
        [
            "{n} runs every night at 02:{v}.",
            "The nightly start of {n} is 02:{v}.",
            "The job of {a} fires at 02:{v}.",
            "Do not deploy at 02:{v}, {n} is busy then",
        ],
        10,
        2,
    ),
];

/// Facts and how else they were said.
pub struct Corpus {
    /// Each fact as it was first said.
    pub facts: Vec<String>,
    /// Paraphrases, with the position of their fact. Every seventh fact has one that differs only
    /// in case and blanks.
    pub paraphrases: Vec<(usize, String)>,
    /// Texts that almost repeat a fact but say something else, with the position of that fact.
    pub traps: Vec<(usize, String)>,
}

/// Every `thin`-th fact of the corpus; 1 gives all.
pub fn corpus(thin: usize) -> Corpus {
    let mut corpus = Corpus {
        facts: vec![],
        paraphrases: vec![],
        traps: vec![],
    };
    for (at, wording) in wordings(0).step_by(thin).enumerate() {
        let [fact, others @ ..] = wording;
        if at % 7 == 0 {
            let same = format!("  {} ", fact.to_uppercase().replace(' ', "  "));
            corpus.paraphrases.push((at, same));
        }
        corpus.paraphrases.extend(others.map(|other| (at, other)));
        if at % 5 == 0 {
            corpus.traps.extend(traps(&fact).map(|trap| (at, trap)));
        }
        corpus.facts.push(fact);
    }
    corpus
}

/// Texts of a memory of this size, in the words of ever more components.
pub fn texts(count: usize) -> Vec<String> {
    (1..).flat_map(wordings).flatten().take(count).collect()
}

/// The four wordings of each fact. Each round but the first has components of its own.
fn wordings(round: usize) -> impl Iterator<Item = [String; 4]> {
    FAMILIES.iter().flat_map(move |(wordings, first, step)| {
        (0..COMPONENTS.len()).map(move |at| {
            let number = first + step * u32::try_from(at + 31 * round).unwrap_or(0);
            wordings.map(|wording| filled(wording, at, round, number))
        })
    })
}

fn filled(wording: &str, at: usize, round: usize, number: u32) -> String {
    let named = |name: &str| match round {
        0 => name.to_owned(),
        round => format!("{name}{round}"),
    };
    let [name, alias, path, owner] = COMPONENTS[at];
    let other = COMPONENTS[(at + 7) % COMPONENTS.len()][0];
    wording
        .replace("{n}", &named(name))
        .replace("{m}", &named(other))
        .replace("{E}", &named(name).to_uppercase())
        .replace("{a}", alias)
        .replace("{p}", &path.replace(name, &named(name)))
        .replace("{o}", owner)
        .replace("{v}", &number.to_string())
}

/// Another number, a negation, an option instead of words, an addition.
fn traps(fact: &str) -> [String; 4] {
    let bare = fact.trim_end_matches('.');
    [
        format!("{bare}1."),
        format!("It is not true that {fact}"),
        fact.replacen(' ', "-", 1),
        format!("{bare} on Linux."),
    ]
}
