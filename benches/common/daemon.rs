//! A daemon of the program under test, and what the system knows of its process.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use swarm::api::DaemonFile;

use super::repo::{Copy, Template};
use super::{Result, SWARM, command, run};

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running daemon; ended with the value.
pub struct Daemon {
    child: Child,
    root: PathBuf,
    home: PathBuf,
}

/// A repository in which nothing starts.
pub fn quiet_repository(folder: &Path) -> Result<Copy> {
    let template = Template::new(&folder.join("template"), 100)?;
    let copy = template.copy(&folder.join("copy"))?;
    configure(&copy, "semi-auto", 3, &[])?;
    Ok(copy)
}

/// Writes the configuration of a repository whose agents run the script of the template.
pub fn configure(copy: &Copy, mode: &str, parallel: usize, checks: &[&str]) -> Result {
    let folder = copy.root().join(".swarm");
    fs::create_dir_all(&folder)?;
    let config = serde_json::json!({
        "mode": mode,
        "target": "main",
        "agents": {
            "maxParallel": parallel,
            "profile": "local",
            "profiles": { "local": { "adapter": "command", "command": ["/bin/sh", copy.agent()] } },
        },
        "qualityCommands": checks,
        "checks": { "canary": "off" },
        // The floors make none either; what one costs is measured on its own.
        "checkpoints": { "periodic": 0, "beforeAutopilot": false },
    });
    Ok(fs::write(folder.join("config.json"), config.to_string())?)
}

/// Runs the program in a repository; what it wrote on stdout.
pub fn swarm(copy: &Copy, args: &[&str]) -> Result<String> {
    run(command(SWARM, &copy.home())
        .current_dir(copy.root())
        .args(args))
}

impl Daemon {
    /// Starts one in the configured repository and waits until it answers.
    pub fn start(copy: &Copy) -> Result<Self> {
        Self::running(copy, &["--no-web"])
    }

    /// The same with the page, on any port.
    pub fn with_page(copy: &Copy) -> Result<Self> {
        Self::running(copy, &[])
    }

    fn running(copy: &Copy, args: &[&str]) -> Result<Self> {
        let mut this = Self::spawn(copy, args)?;
        let begun = Instant::now();
        while this.phase() != Some("running".to_owned()) {
            this.expect_to_run(copy, begun)?;
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(this)
    }

    /// Starts one in the configured repository; also the time until its socket answered.
    pub fn answering(copy: &Copy) -> Result<(Self, Duration)> {
        let begun = Instant::now();
        let mut this = Self::spawn(copy, &["--no-web"])?;
        while !this.answers() {
            this.expect_to_run(copy, begun)?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok((this, begun.elapsed()))
    }

    fn spawn(copy: &Copy, args: &[&str]) -> Result<Self> {
        let log = fs::File::create(copy.place("daemon.log"))?;
        let child = command(SWARM, &copy.home())
            .current_dir(copy.root())
            .arg("start")
            .args(args)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        let (root, home) = (copy.root(), copy.home());
        Ok(Self { child, root, home })
    }

    fn expect_to_run(&mut self, copy: &Copy, begun: Instant) -> Result {
        let ended = self.child.try_wait()?;
        if ended.is_none() && begun.elapsed() <= PATIENCE {
            return Ok(());
        }
        let said = fs::read_to_string(copy.place("daemon.log"))?;
        Err(format!("the daemon does not run ({ended:?}): {said}").into())
    }

    /// Whether this very process answers on the socket that it has announced.
    fn answers(&self) -> bool {
        let ours = |file: &DaemonFile| file.pid == self.child.id();
        let Some(file) = DaemonFile::read(&self.root.join(".git/swarm"))
            .ok()
            .flatten()
            .filter(ours)
        else {
            return false;
        };
        let Ok(mut stream) = UnixStream::connect(file.socket) else {
            return false;
        };
        let request =
            b"GET /api/v1/views/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let mut answer = [0; 12];
        let asked = stream.write_all(request);
        asked.and_then(|()| stream.read_exact(&mut answer)).is_ok() && &answer == b"HTTP/1.1 200"
    }

    /// Kills it with SIGKILL, and not those it has started.
    pub fn kill(mut self) -> Result {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Waits until it has ended by itself.
    pub fn gone(mut self) -> Result {
        self.child.wait()?;
        Ok(())
    }

    fn phase(&self) -> Option<String> {
        let status = self.status().ok()?;
        Some(status["phase"].as_str()?.to_owned())
    }

    /// `status --json`.
    pub fn status(&self) -> Result<Value> {
        let text = run(command(SWARM, &self.home)
            .current_dir(&self.root)
            .args(["status", "--json"]))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Its socket.
    pub fn socket(&self) -> Result<PathBuf> {
        let file = DaemonFile::read(&self.root.join(".git/swarm"))?;
        Ok(file.ok_or("the daemon left no daemon.json")?.socket)
    }

    /// What the system has counted for its process up to now.
    pub fn usage(&self) -> Result<Usage> {
        Usage::of(self.child.id())
    }

    /// Ends it as one Ctrl+C does.
    pub fn stop(mut self) -> Result {
        run(command(SWARM, &self.home)
            .current_dir(&self.root)
            .arg("stop"))?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // After `stop` it has ended. Otherwise a benchmark failed, and its message says more.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Counters of one process, without its children.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// Resident memory, bytes.
    pub resident: u64,
    /// The most that it ever was, bytes.
    pub peak: u64,
    /// Handed to `write` and its like, bytes.
    pub written: u64,
    /// Of that, what dirtied pages that go to disk, bytes in whole pages.
    pub to_disk: u64,
    /// Time on a processor, user and system.
    pub cpu: Duration,
}

impl Usage {
    fn of(pid: u32) -> Result<Self> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let status = fs::read_to_string(folder.join("status"))?;
        let io = fs::read_to_string(folder.join("io"))?;
        Ok(Self {
            resident: number_after(&status, "VmRSS:")? * 1024,
            peak: number_after(&status, "VmHWM:")? * 1024,
            written: number_after(&io, "wchar:")?,
            to_disk: number_after(&io, "write_bytes:")?,
            cpu: cpu(&folder)?,
        })
    }
}

fn number_after(text: &str, key: &str) -> Result<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let word = line.and_then(|rest| rest.split_whitespace().next());
    Ok(word.ok_or_else(|| format!("no {key}"))?.parse()?)
}

/// User and system time of all threads, ended ones included, in hundredths of a second.
fn cpu(folder: &Path) -> Result<Duration> {
    let stat = fs::read_to_string(folder.join("stat"))?;
    // The name of the program comes second, in parentheses, and may hold anything.
    let (_, fields) = stat.rsplit_once(')').ok_or("no name in stat")?;
    let mut ticks = 0;
    for field in fields.split_whitespace().skip(11).take(2) {
        ticks += field.parse::<u64>()?;
    }
    Ok(Duration::from_millis(ticks * 10))
}
