//! Runs a daemon in this process, with its socket.
//!
//! Invariant: the socket is bound and `daemon.json` written only while the state lock is held, and
//! both are removed before the lock is released.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::watch;

use super::error::CliError;
use super::repo::Repo;
use crate::api::server::daemon_file;
use crate::api::{
    ApiContext, Control, DaemonFile, Entrance, EventLog, ReloadError, Socket, router, serve,
};
use crate::crash;
use crate::daemon::actor::clock;
use crate::daemon::actor::handle::Journaled;
use crate::daemon::checkpoints::list::Preview;
use crate::daemon::clean::Report;
use crate::daemon::files::archive;
use crate::daemon::hooks::HookView;
use crate::daemon::lifecycle::reload::{ReloadError as DaemonReloadError, Reloader};
use crate::daemon::lifecycle::systemd_notify::SystemdNotify;
use crate::daemon::memory::log;
use crate::daemon::offline::{self, Upto};
use crate::daemon::review::Wanted;
use crate::daemon::{Daemon, DaemonError, End, Handle, Options, Paths};
use crate::domain::ids::CheckpointName;
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::memory::Learnings;
use crate::domain::settings::Mode;
use crate::domain::state::State;
use crate::view::memory::LogFilter;
use crate::view::{MergeDiff, TargetNow};
use crate::web::DemoRun;
use crate::web::entry::access::{self, Access};
use crate::web::entry::opener;
use crate::web::server::Port;
use crate::web::{self, Site};

/// How long a start waits for commands that hold the lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
/// How long a start waits for a killed daemon to disappear.
const DEATH_PATIENCE: Duration = Duration::from_secs(1);
/// How long a start waits between two tries.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// How to run a daemon.
pub struct StartOptions {
    /// The repository.
    pub repo: Repo,
    /// Overrides the configured mode.
    pub mode: Option<Mode>,
    /// End when nothing is active, ready or merging.
    pub until_idle: bool,
    /// Called once with the recorded state, before anything happens. It must return at once.
    pub on_open: Box<dyn FnOnce(&State) + Send>,
    /// The web page.
    pub page: PageChoice,
    /// See [`OnReady`].
    pub on_ready: OnReady,
    /// See [`OnPage`]; called just before `on_ready`, if there is a page.
    pub on_page: Option<OnPage>,
}

/// Whether there is a web page, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageChoice {
    /// None.
    Without,
    /// At the port of the last daemon, the usual one, or any that is free.
    AnyPort,
    /// The same, for a demo.
    Demo(DemoRun),
    /// At this port, or the start fails.
    Port(u16),
}

/// Called once, when the daemon has recovered and its socket answers. The receiver becomes true
/// when a signal asks the daemon to stop. The call must return at once, and may keep its arguments.
pub type OnReady = Box<dyn FnOnce(Handle, watch::Receiver<bool>) + Send>;

/// Called with a link that opens the page once. It must return at once.
pub type OnPage = Box<dyn FnOnce(String) + Send>;

/// The path of this program, to start it again in the background.
pub fn own_program() -> Result<PathBuf, CliError> {
    std::env::current_exe().map_err(|error| CliError::io("find this program's own file", &error))
}

/// Runs a daemon in this process until it ends.
///
/// # Errors
/// Refused if a daemon is running already; the error names its pid.
pub fn run_daemon(options: StartOptions) -> Result<End, CliError> {
    let daemon = open_when_free(&options)?;
    daemon.handle().read(options.on_open);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| CliError::io("start the daemon's threads", &error))?;
    let told = Told {
        on_ready: options.on_ready,
        on_page: options.on_page,
    };
    let end = runtime.block_on(host(daemon, &options.repo, options.page, told));
    // The next start redoes whatever hangs in a driver; do not wait for it.
    runtime.shutdown_background();
    end
}

/// Opens the state, waiting for short holders of the lock. A command holds it only for a moment. A
/// daemon holds it until it ends; one that was just killed may still be exiting.
fn open_when_free(options: &StartOptions) -> Result<Daemon, CliError> {
    let begun = Instant::now();
    loop {
        let opened = Daemon::open(Options {
            root: options.repo.root().to_owned(),
            mode: options.mode,
            until_idle: options.until_idle,
        });
        match opened {
            Err(DaemonError::Locked { pid }) if begun.elapsed() < patience_with(pid, options) => {
                thread::sleep(LOCK_PAUSE);
            }
            opened => return Ok(opened?),
        }
    }
}

fn patience_with(pid: Option<u32>, options: &StartOptions) -> Duration {
    let announced = DaemonFile::read(&options.repo.private()).ok().flatten();
    if announced.is_some_and(|file| Some(file.pid) == pid) {
        DEATH_PATIENCE
    } else {
        LOCK_PATIENCE
    }
}

/// Who wants to know that the daemon is ready.
struct Told {
    on_ready: OnReady,
    on_page: Option<OnPage>,
}

impl Told {
    /// As one call; the link is made when it is called, because its time is short.
    fn with(self, access: Option<Arc<Access>>) -> OnReady {
        let Self { on_ready, on_page } = self;
        Box::new(move |handle, end_asked| {
            if let (Some(on_page), Some(access)) = (on_page, access) {
                on_page(access.link());
            }
            on_ready(handle, end_asked);
        })
    }
}

/// Runs a daemon with its socket.
async fn host(daemon: Daemon, repo: &Repo, page: PageChoice, told: Told) -> Result<End, CliError> {
    let private = repo.private();
    let opened = open_page(page, &private).await?;
    let web_url = opened.as_ref().map(|(_, access)| access.origin());
    let on_ready = told.with(opened.as_ref().map(|(_, access)| Arc::clone(access)));
    let socket = Socket::bind(&private).map_err(|error| CliError::refused(error.to_string()))?;
    let file = DaemonFile {
        pid: std::process::id(),
        socket: socket.path().to_owned(),
        started_at: clock::wall(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        web_url,
        state: daemon_file::place(&private).ok(),
    };
    let supervisor = SystemdNotify::of_environment().map(Arc::new);
    let (stop, stopped) = watch::channel(false);
    let access = opened.as_ref().map(|(_, access)| Arc::clone(access));
    let context = Arc::new(context(&daemon, repo, access, stopped.clone()));
    let api = router(Arc::clone(&context));
    crash::point("daemon.socket-bound");
    file.write(&private)
        .map_err(|error| CliError::io("write daemon.json", &error))?;
    crash::point("daemon.announced");
    let pages = opened.map(|(port, access)| {
        let site = Arc::new(site(page, context, access));
        tokio::spawn(port.serve(web::router(&site, api.clone()), stopped.clone()))
    });
    let server = tokio::spawn(serve(socket, api, stopped));
    let ready = tokio::spawn(when_ready(
        daemon.handle(),
        daemon.end_asked(),
        on_ready,
        supervisor.clone(),
    ));
    let ended = daemon
        .run(async move {
            if let Some(supervisor) = supervisor {
                supervisor.stopping();
            }
            // The socket answers until the last event is published, and closes before the lock is
            // released.
            stop.send_replace(true);
            if let Ok(Err(error)) = server.await {
                tracing::warn!(%error, "the socket was not closed cleanly");
            }
            if let Some(pages) = pages {
                // It ends with the socket; a panic in it is in the log.
                drop(pages.await);
            }
            if let Err(error) = opener::remove(&private) {
                tracing::warn!(%error, "open.html could not be removed");
            }
            if let Err(error) = DaemonFile::remove(&private) {
                tracing::warn!(%error, "daemon.json could not be removed");
            }
        })
        .await;
    ready.abort();
    Ok(ended?)
}

/// What the routes need of this daemon.
fn context(
    daemon: &Daemon,
    repo: &Repo,
    access: Option<Arc<Access>>,
    stop: watch::Receiver<bool>,
) -> ApiContext {
    ApiContext {
        handle: daemon.handle(),
        repo_root: repo.root().to_owned(),
        runs_dir: repo.runs(),
        pid: std::process::id(),
        web_url: access.as_ref().map(|access| access.origin()),
        log: Arc::new(Log {
            paths: daemon.paths().clone(),
        }),
        control: Arc::new(Controls {
            reloader: daemon.reloader(),
        }),
        entrance: access.map(|access| access as Arc<dyn Entrance>),
        finder: daemon.finder(),
        measured: Arc::default(),
        stop,
    }
}

fn site(choice: PageChoice, context: Arc<ApiContext>, access: Arc<Access>) -> Site {
    let site = Site::new(context, access);
    match choice {
        PageChoice::Demo(run) => site.of_demo_run(run),
        PageChoice::Without | PageChoice::AnyPort | PageChoice::Port(_) => site,
    }
}

/// Binds the page's port, and reads who may come in.
async fn open_page(
    choice: PageChoice,
    private: &Path,
) -> Result<Option<(Port, Arc<Access>)>, CliError> {
    let wanted = match choice {
        PageChoice::Without => return Ok(None),
        PageChoice::AnyPort | PageChoice::Demo(_) => None,
        PageChoice::Port(port) => Some(port),
    };
    let bound = Port::bind(wanted, access::last_port(private)).await;
    let port = bound.map_err(|error| match wanted {
        Some(port) => CliError::refused(format!("the page cannot use port {port}: {error}"))
            .hint("take any free port: swarm start")
            .hint("start without the page: swarm start --no-web"),
        None => CliError::io("open a port for the page", &error),
    })?;
    let access = Access::open(private, port.number())
        .map_err(|error| CliError::io("write web.json", &error))?;
    Ok(Some((port, Arc::new(access))))
}

/// Calls `on_ready` when the daemon has recovered, and keeps a service manager informed from then.
async fn when_ready(
    handle: Handle,
    end_asked: watch::Receiver<bool>,
    on_ready: OnReady,
    supervisor: Option<Arc<SystemdNotify>>,
) {
    let mut seq = handle.seq();
    let recovering = |state: &State| {
        matches!(
            state.swarm.phase,
            SwarmPhase::Recovering | SwarmPhase::Stopped
        )
    };
    while handle.read(recovering) || handle.read(|state| state.settings.is_none()) {
        if seq.changed().await.is_err() {
            return;
        }
    }
    on_ready(handle.clone(), end_asked);
    if let Some(supervisor) = supervisor {
        supervisor.inform(handle).await;
    }
}

/// The log on disk, for the API.
struct Log {
    paths: Paths,
}

impl EventLog for Log {
    fn read(&self, after: u64, limit: usize) -> std::io::Result<Vec<Journaled>> {
        offline::events(&self.paths, after, limit).map_err(std::io::Error::other)
    }

    fn scan(&self, after: u64, upto: u64, each: &mut dyn FnMut(Journaled)) -> std::io::Result<()> {
        offline::scan(&self.paths, after, upto, each).map_err(std::io::Error::other)
    }

    fn memory_log(
        &self,
        filter: &LogFilter,
        last: u64,
        each: &mut dyn FnMut(Journaled) -> ControlFlow<()>,
    ) -> std::io::Result<()> {
        log::select(&self.paths, filter, last, each).map_err(std::io::Error::other)
    }

    fn state_at(&self, upto: Upto) -> std::io::Result<State> {
        offline::state_at(&self.paths, upto).map_err(std::io::Error::other)
    }

    fn state_from(&self, state: State, seq: u64) -> std::io::Result<State> {
        let upto = Upto::Seq(seq);
        offline::state_from(&self.paths, state, upto).map_err(std::io::Error::other)
    }

    fn learned(&self, upto: u64) -> std::io::Result<Learnings> {
        archive::learnings(&self.paths, upto).map_err(std::io::Error::other)
    }
}

/// What the daemon does outside its actor, for the API.
struct Controls {
    reloader: Reloader,
}

impl Control for Controls {
    fn reload(&self) -> BoxFuture<'_, Result<u64, ReloadError>> {
        Box::pin(async {
            self.reloader.reload().await.map_err(|error| match error {
                DaemonReloadError::Wrong(error) => ReloadError::Invalid {
                    message: error.to_string(),
                    suggestions: vec!["see every problem: swarm config check".to_owned()],
                },
                DaemonReloadError::Refused(error) => ReloadError::Command(error),
            })
        })
    }

    fn target(&self, branch: String) -> BoxFuture<'_, TargetNow> {
        Box::pin(self.reloader.target(branch))
    }

    fn merge_diff(&self, wanted: Wanted) -> BoxFuture<'_, Result<MergeDiff, String>> {
        Box::pin(async move {
            let diff = self.reloader.merge_diff(wanted).await;
            diff.map_err(|error| error.to_string())
        })
    }

    fn clean(&self, dry_run: bool) -> BoxFuture<'_, Result<Report, String>> {
        Box::pin(async move {
            let cleaned = self.reloader.clean(dry_run).await;
            cleaned.map_err(|error| error.to_string())
        })
    }

    fn checkpoints(&self) -> BoxFuture<'_, Result<Vec<Value>, String>> {
        Box::pin(async move {
            let all = self.reloader.checkpoints().await;
            all.map_err(|error| error.to_string())
        })
    }

    fn hooks(&self) -> BoxFuture<'_, Result<Vec<HookView>, String>> {
        Box::pin(async move {
            let hooks = self.reloader.hook_views().await;
            hooks.map_err(|error| error.to_string())
        })
    }

    fn preview(&self, name: &CheckpointName) -> BoxFuture<'_, Result<Preview, String>> {
        let name = name.clone();
        Box::pin(async move {
            let preview = self.reloader.preview(name).await;
            preview.map_err(|error| error.to_string())
        })
    }
}
