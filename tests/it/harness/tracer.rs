//! A `swarm` command under the tracer, which sees each system call that changes the disk, of the
//! daemon, its runners and its git commands, and kills or fails at one of them.
//!
//! strace counts its `when=N` for each thread on its own, so that it cannot name one call of a
//! whole life; the tracer beside this file counts over all processes and gives each call a name
//! that is the same in each run.

use std::fs;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use super::Sandbox;

const SOURCE: &str = include_str!("tracer.c");

/// What happens to a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harm {
    /// Nothing: calls are listed only.
    None,
    /// SIGKILL to the process that makes it, before it is done.
    Kill,
    /// SIGKILL to all processes at once.
    Cut,
    /// It fails with EIO.
    Eio,
    /// It fails with ENOSPC.
    Enospc,
}

impl Harm {
    /// How the tracer is told.
    fn word(self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::Kill => "kill".to_owned(),
            Self::Cut => "cut".to_owned(),
            Self::Eio => nix::libc::EIO.to_string(),
            Self::Enospc => nix::libc::ENOSPC.to_string(),
        }
    }
}

/// A `swarm` command that runs under the tracer.
pub struct Traced<'a> {
    sandbox: &'a Sandbox,
    tracer: Child,
    out: PathBuf,
}

impl Sandbox {
    /// Starts `swarm` with these arguments; the call of this name (or `@N`: the N-th) is harmed.
    pub fn traced(&self, label: &str, harm: Harm, which: &str, args: &[&str]) -> Traced<'_> {
        let log = self.path(&format!("tmp/{label}.log"));
        let output = fs::File::create(&log).unwrap();
        self.logs.lock().unwrap().push(log);
        let out = self.path(&format!("tmp/{label}"));
        let mut command = self.command(program());
        command.arg(self.repo()).arg(&out).arg(harm.word());
        command
            .arg(which)
            .arg(env!("CARGO_BIN_EXE_swarm"))
            .args(args);
        command
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .process_group(0);
        let tracer = command.env("SWARM_SEGMENT_BYTES", segment_bytes(self));
        let tracer = tracer.spawn().unwrap();
        Traced {
            sandbox: self,
            tracer,
            out,
        }
    }

    /// From now on the log rotates after this many bytes.
    pub fn rotate_after(&self, bytes: u64) {
        fs::write(self.path("tmp/segment-bytes"), bytes.to_string()).unwrap();
    }
}

fn segment_bytes(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path("tmp/segment-bytes")).unwrap_or_default()
}

impl Traced<'_> {
    /// The exit code of the command itself, once it has ended; its runners may go on.
    pub fn ended(&mut self) -> Option<i32> {
        let tracer = self.tracer.try_wait().unwrap();
        let code = fs::read_to_string(self.file("end")).ok();
        if code.is_none() && tracer.is_some() {
            self.sandbox.fail(&format!(
                "the tracer ended with {tracer:?}; does this machine permit ptrace?"
            ));
        }
        code.map(|code| code.parse().unwrap())
    }

    /// Waits for the end of the command itself; its exit code.
    pub fn wait(&mut self, limit: Duration) -> i32 {
        let sandbox = self.sandbox;
        sandbox.wait_within(limit, "the traced command to end", || self.ended())
    }

    /// Waits for the end of everything that it started.
    pub fn wait_all(&mut self, limit: Duration) {
        let sandbox = self.sandbox;
        sandbox.wait_within(limit, "what the traced command started to end", || {
            self.tracer.try_wait().unwrap().map(|_| ())
        });
    }

    /// The call that was harmed.
    pub fn hit(&self) -> Option<String> {
        fs::read_to_string(self.file("hit")).ok()
    }

    /// What the command wrote.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.file("log")).unwrap()).into_owned()
    }

    fn file(&self, suffix: &str) -> PathBuf {
        self.out.with_extension(suffix)
    }
}

impl Drop for Traced<'_> {
    fn drop(&mut self) {
        // What it traces is killed with it.
        let _ = self.tracer.kill();
        let _ = self.tracer.wait();
    }
}

/// The tracer, compiled once for each run of the tests.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let source = tempfile::Builder::new().suffix(".c").tempfile_in(folder);
        let mut source = source.unwrap();
        source.write_all(SOURCE.as_bytes()).unwrap();
        let program = folder.join(format!("tracer-{}", std::process::id()));
        let compiled = Command::new("cc")
            .args(["-O1", "-o"])
            .arg(&program)
            .arg(source.path())
            .stdin(Stdio::null())
            .status();
        let compiled = compiled.expect("this test needs a C compiler named cc, as the build does");
        assert!(compiled.success(), "the tracer does not compile");
        program
    })
}
