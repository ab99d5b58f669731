//! A headless Chromium on the page of a sandbox's daemon.
//!
//! Invariant: its profile lies in the sandbox, so that what is left of it ends with the sandbox;
//! what the browser's console says, and every refusal by the content security policy, is kept for
//! the test to look at.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use fantoccini::elements::Element;
use fantoccini::wd::{WebDriverCompatibleCommand, WindowHandle};
use fantoccini::{Client, ClientBuilder, Locator};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use url::{ParseError, Url};

use crate::harness::{Sandbox, required_tools};

/// Keys, as `WebDriver` names them.
pub const TAB: &str = "\u{E004}";
/// The same.
pub const ENTER: &str = "\u{E007}";
/// The same.
pub const ESCAPE: &str = "\u{E00C}";

/// More presses of the Tab key than any page of a test needs.
const MOST_TABS: usize = 250;

/// Whether the running test must be skipped because there is no browser.
pub fn is_missing() -> bool {
    required_tools::are_missing(&["chromium", "chromedriver"])
}

/// See the module.
pub struct Browser<'a> {
    sandbox: &'a Sandbox,
    runtime: Runtime,
    client: Client,
    driver: Child,
    /// The address of the first page.
    base: String,
}

impl<'a> Browser<'a> {
    /// Starts a browser that is signed in, on the first page.
    pub fn open(sandbox: &'a Sandbox) -> Self {
        let mut browser = Self::start(sandbox);
        browser.sign_in();
        browser
    }

    /// Starts a browser that is nowhere yet.
    pub fn start(sandbox: &'a Sandbox) -> Self {
        let (driver, port) = start_driver(sandbox);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.unwrap();
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities(sandbox));
        let client = runtime.block_on(builder.connect(&format!("http://127.0.0.1:{port}")));
        Self {
            sandbox,
            runtime,
            client: client.unwrap(),
            driver,
            base: String::new(),
        }
    }

    /// Opens the page through a new one-time link.
    pub fn sign_in(&mut self) {
        let opened = self.sandbox.swarm(&["open", "--json"]).json();
        self.enter(opened["url"].as_str().unwrap());
    }

    /// Opens the page through this one-time link.
    pub fn enter(&mut self, link: &str) {
        self.visit(link);
        self.base = self.address();
    }

    /// Opens an address.
    pub fn visit(&self, address: &str) {
        self.runtime.block_on(self.client.goto(address)).unwrap();
    }

    /// Opens a page of the site: `ideas/idea-001`.
    pub fn go(&self, path: &str) {
        self.visit(&format!("{}{path}", self.base));
    }

    /// The address that is shown.
    pub fn address(&self) -> String {
        let address = self.runtime.block_on(self.client.current_url());
        address.unwrap().to_string()
    }

    /// Runs a function body in the page and gives what it returns.
    pub fn run(&self, script: &str) -> Value {
        self.run_with(script, vec![])
    }

    /// The same with `arguments`.
    pub fn run_with(&self, script: &str, arguments: Vec<Value>) -> Value {
        let ran = self
            .runtime
            .block_on(self.client.execute(script, arguments));
        ran.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Runs a script that calls its last argument when it has its result.
    pub fn run_async(&self, script: &str) -> Value {
        let ran = self
            .runtime
            .block_on(self.client.execute_async(script, vec![]));
        ran.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Waits until a condition in the page is true.
    pub fn wait(&self, what: &str, condition: &str) {
        let script = format!("return Boolean({condition})");
        let met = || (self.run(&script) == json!(true)).then_some(());
        self.sandbox.wait_for(what, met);
    }

    /// Waits until this text is on the page.
    pub fn wait_text(&self, text: &str) {
        let condition = format!("document.body.innerText.includes({})", json!(text));
        self.wait(&format!("`{text}` on the page"), &condition);
    }

    /// The text of the page.
    pub fn text(&self) -> String {
        let text = self.run("return document.body.innerText");
        text.as_str().unwrap().to_owned()
    }

    /// Types into what has the focus.
    pub fn keys(&self, keys: &str) {
        let pressed = keys.chars().flat_map(|key| {
            ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key.to_string()}))
        });
        let source = json!({"type": "key", "id": "keys", "actions": pressed.collect::<Vec<_>>()});
        self.issue(Method::POST, "actions", json!({"actions": [source]}));
    }

    /// Moves the focus with the Tab key alone until it is on an element that this selector fits.
    pub fn tab_to(&self, selector: &str) {
        let script = "return document.activeElement.matches(arguments[0])";
        for _ in 0..MOST_TABS {
            if self.run_with(script, vec![json!(selector)]) == json!(true) {
                return;
            }
            self.keys(TAB);
        }
        let now = self.run("return document.activeElement.outerHTML.slice(0, 300)");
        let page = self.address();
        panic!("Tab does not reach `{selector}` on {page}; it is on {now}");
    }

    /// Clicks an element, as a mouse does.
    pub fn click(&self, selector: &str) {
        let element = self.element(selector);
        let clicked = self.runtime.block_on(element.click());
        clicked.unwrap_or_else(|error| panic!("click {selector}: {error}"));
    }

    /// Types into a field in place of what it has.
    pub fn fill(&self, selector: &str, text: &str) {
        let field = self.element(selector);
        self.runtime.block_on(field.clear()).unwrap();
        self.runtime.block_on(field.send_keys(text)).unwrap();
    }

    /// Whether there is such an element.
    pub fn has(&self, selector: &str) -> bool {
        let script = "return !!document.querySelector(arguments[0])";
        self.run_with(script, vec![json!(selector)]) == json!(true)
    }

    /// The first such element, as soon as there is one.
    fn element(&self, selector: &str) -> Element {
        self.sandbox.wait_for(&format!("`{selector}`"), || {
            let found = self.client.find(Locator::Css(selector));
            self.runtime.block_on(found).ok()
        })
    }

    /// The window that commands go to.
    pub fn window(&self) -> WindowHandle {
        self.runtime.block_on(self.client.window()).unwrap()
    }

    /// Opens one more window; commands go to it.
    pub fn open_window(&self) -> WindowHandle {
        let opened = self.runtime.block_on(self.client.new_window(false));
        let handle = opened.unwrap().handle;
        self.switch(&handle);
        handle
    }

    /// Lets commands go to this window.
    pub fn switch(&self, window: &WindowHandle) {
        let switched = self.client.switch_to_window(window.clone());
        self.runtime.block_on(switched).unwrap();
    }

    /// Hides the window that commands go to, as a person who works elsewhere does.
    pub fn hide(&self) {
        self.runtime
            .block_on(self.client.minimize_window())
            .unwrap();
    }

    /// Shows it again.
    pub fn show(&self) {
        let shown = self.client.set_window_size(1_000, 800);
        self.runtime.block_on(shown).unwrap();
    }

    /// Closes the window that commands go to.
    pub fn close_window(&self) {
        self.runtime.block_on(self.client.close_window()).unwrap();
    }

    /// Sets the size of the page, and light or dark.
    pub fn look(&self, width: u32, height: u32, is_dark: bool) {
        let scheme = if is_dark { "dark" } else { "light" };
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        self.devtools(
            "Emulation.setEmulatedMedia",
            &json!({"features": [feature]}),
        );
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1,
            "mobile": width < 700});
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// A command of the browser's own protocol.
    pub fn devtools(&self, name: &str, params: &Value) -> Value {
        let body = json!({"cmd": name, "params": params});
        self.issue(Method::POST, "goog/cdp/execute", body)
    }

    /// A picture of the visible page.
    pub fn picture(&self) -> Vec<u8> {
        self.runtime.block_on(self.client.screenshot()).unwrap()
    }

    /// What the console said since the last call: errors and refusals by the security policy.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.issue(Method::POST, "se/log", json!({"type": "browser"}));
        let entries = log.as_array().cloned().unwrap_or_default().into_iter();
        let bad = entries.filter(|entry| entry["level"] != "INFO" && entry["level"] != "DEBUG");
        bad.map(|entry| entry["message"].to_string()).collect()
    }

    fn issue(&self, method: Method, path: &'static str, body: Value) -> Value {
        let command = Extension { method, path, body };
        let answer = self.runtime.block_on(self.client.issue_cmd(command));
        answer.unwrap_or_else(|error| panic!("{path}: {error}"))
    }
}

impl Drop for Browser<'_> {
    fn drop(&mut self) {
        // Where this fails, the sandbox ends what is left.
        let closed = self.runtime.block_on(self.client.clone().close());
        if let Err(error) = closed {
            eprintln!("the browser does not close: {error}");
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn start_driver(sandbox: &Sandbox) -> (Child, u16) {
    let mut command = sandbox.command("chromedriver");
    command.arg("--port=0").arg(format!(
        "--log-path={}",
        sandbox.path("driver.log").display()
    ));
    let mut driver = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = loop {
        let line = lines.next().expect("chromedriver says its port").unwrap();
        if let Some((_, port)) = line.split_once("started successfully on port ") {
            break port.trim_end_matches('.').parse().unwrap();
        }
    };
    (driver, port)
}

fn capabilities(sandbox: &Sandbox) -> Map<String, Value> {
    let profile = sandbox.path("chromium");
    fs::create_dir_all(&profile).unwrap();
    let mut args = vec![
        "--headless=new".to_owned(),
        "--disable-gpu".to_owned(),
        "--no-first-run".to_owned(),
        "--disable-background-networking".to_owned(),
        "--disable-dev-shm-usage".to_owned(),
        format!("--user-data-dir={}", profile.display()),
    ];
    if nix::unistd::Uid::effective().is_root() {
        args.push("--no-sandbox".to_owned());
    }
    let all = json!({
        "goog:chromeOptions": {"args": args},
        "goog:loggingPrefs": {"browser": "ALL"},
    });
    all.as_object().unwrap().clone()
}

/// A command that `WebDriver` itself does not have.
#[derive(Debug)]
struct Extension {
    method: Method,
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Extension {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (self.method.clone(), Some(self.body.to_string()))
    }
}
