//! What the benchmarks share: samples, throw-away repositories, the program under test.
//!
//! Invariant: nothing here reads or writes outside a temporary directory. Every child gets a fresh
//! environment with a throw-away home.

// Each benchmark is a program of its own and uses a part of this.
#![allow(dead_code)]

pub mod clients;
pub mod daemon;
pub mod facts;
pub mod log;
pub mod mcp;
pub mod repo;
pub mod samples;
pub mod web;

use std::fmt::Display;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The result of everything that can go wrong in a benchmark, which then ends with the message.
pub type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The program under test, as cargo built it for this benchmark.
pub const SWARM: &str = env!("CARGO_BIN_EXE_swarm");

/// Whether to run with the smallest numbers, only to show that the benchmark still works: CI sets
/// `BENCH_SMOKE=1` and runs all of them in the dev profile.
pub fn smoke() -> bool {
    std::env::var_os("BENCH_SMOKE").is_some_and(|value| value == "1")
}

/// Whether `cargo bench` or a smoke run started the program. A plain `cargo test --benches` must
/// not take minutes.
pub fn wanted() -> bool {
    let wanted = smoke() || std::env::args().any(|arg| arg == "--bench");
    if !wanted {
        println!("a benchmark: run it with `cargo bench`, or with BENCH_SMOKE=1");
    }
    wanted
}

/// How large a benchmark is: the number in this variable, otherwise the default, in a smoke run
/// the second default.
pub fn size(name: &str, default: usize, smallest: usize) -> Result<usize> {
    match std::env::var(name) {
        Ok(text) => Ok(text
            .parse()
            .map_err(|_| format!("{name}={text} is not a whole number"))?),
        Err(_) if smoke() => Ok(smallest),
        Err(_) => Ok(default),
    }
}

/// The number in this variable alone, otherwise all defaults, in a smoke run only the smallest.
pub fn sizes(name: &str, defaults: &[usize], smallest: usize) -> Result<Vec<usize>> {
    if smoke() || std::env::var_os(name).is_some() {
        return Ok(vec![size(name, smallest, smallest)?]);
    }
    Ok(defaults.to_vec())
}

/// Fails the benchmark when the program did the wrong thing: a time says nothing then.
pub fn ensure(right: bool, otherwise: impl FnOnce() -> String) -> Result {
    if right {
        Ok(())
    } else {
        Err(otherwise().into())
    }
}

/// Whether a part of a benchmark is to run; `BENCH_ONLY=a,b` chooses.
pub fn chosen(part: &str) -> bool {
    listed("BENCH_ONLY", part)
}

/// Whether the list in that variable has this name; without the variable it has every name.
pub fn listed(variable: &str, name: &str) -> bool {
    std::env::var(variable).map_or(true, |list| list.split(',').any(|one| one == name))
}

/// A command that inherits only `PATH` from the caller and reads no configuration from outside.
pub fn command(program: &str, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", home)
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null());
    command
}

/// Runs a command to its end; what it wrote on stdout.
///
/// # Errors
/// It did not end with 0; the message has what it wrote.
pub fn run(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    Err(failure(command, &output).into())
}

fn failure(command: &Command, output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    format!("{command:?} ended with {}\n{out}\n{err}", output.status)
}

/// Says what a benchmark is about to do, on stderr.
pub fn note(what: impl Display) {
    eprintln!("  .. {what}");
}

/// Runs this program again with a throw-away home and only the variables that size the benchmark;
/// true when that is done. For benchmarks that use the library in their own process.
pub fn isolated() -> Result<bool> {
    const MARK: &str = "BENCH_ISOLATED";
    if std::env::var_os(MARK).is_some() {
        return Ok(false);
    }
    let home = tempfile::tempdir()?;
    let program = std::env::current_exe()?;
    let sizes =
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("BENCH_"));
    let status = command(&program.to_string_lossy(), home.path())
        .args(std::env::args_os().skip(1))
        .envs(sizes)
        .envs(std::env::var_os("TMPDIR").map(|folder| ("TMPDIR", folder)))
        .env(MARK, "1")
        .status()?;
    if status.success() {
        Ok(true)
    } else {
        Err(format!("it ended with {status}").into())
    }
}
