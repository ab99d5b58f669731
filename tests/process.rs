//! The process room against real processes: the runner is the real binary, started as the daemon
//! starts it.
//!
//! Tests wait on pipes and on the runs themselves, never on time. A named pipe doubles as a
//! witness: its reader sees the end only when every process that holds it is gone.

#![allow(clippy::unwrap_used)] // helpers of tests are not marked as tests

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use swarm::process::{
    EndReason, ExitRecord, Lease, OutputFollower, PIECE, ProcessError, RunAge, RunDir, RunEnd,
    RunSpec, RunStatus, Started, Stop, StopOutcome, end_survivors, hold, inspect, launch, prepare,
    run_above, run_age, stop, tail, wait,
};
use tokio::sync::{RwLock, RwLockReadGuard};

const EXE: &str = env!("CARGO_BIN_EXE_swarm");
const PATIENCE: Duration = Duration::from_secs(60);

/// Tests share it; the one that counts descriptors and zombies of this process has it alone.
static ALONE: RwLock<()> = RwLock::const_new(());

/// A directory for runs. Ends whatever still runs in it when the test is over.
struct Lab {
    dir: tempfile::TempDir,
    _shared: Option<RwLockReadGuard<'static, ()>>,
}

impl Lab {
    async fn new() -> Self {
        Self::unshared(Some(ALONE.read().await))
    }

    fn unshared(shared: Option<RwLockReadGuard<'static, ()>>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self {
            dir,
            _shared: shared,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn runs(&self) -> PathBuf {
        self.path("runs")
    }

    /// A shell script that runs in the lab's directory.
    fn script(&self, script: &str) -> RunSpec {
        RunSpec {
            id: "run-1".to_owned(),
            program: "/bin/sh".to_owned(),
            args: vec!["-c".to_owned(), script.to_owned()],
            cwd: self.dir.path().to_owned(),
            env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            stdin: None,
            timeout_ms: None,
            grace_ms: 60_000,
            max_output_bytes: None,
            idle_ms: None,
            lease: None,
        }
    }

    /// The runs in the lab. A link in place of their folder leads to other people's: none.
    fn made(&self) -> Vec<RunDir> {
        let runs = self.runs();
        if !fs::symlink_metadata(&runs).is_ok_and(|meta| meta.is_dir()) {
            return Vec::new();
        }
        let names = fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap());
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        names
            .filter_map(|name| RunDir::open(&runs, &name).ok())
            .collect()
    }

    fn prepare(&self, spec: &RunSpec) -> RunDir {
        prepare(&self.runs(), spec, &[]).unwrap()
    }

    /// Prepares, launches and waits to the end.
    async fn run(&self, spec: &RunSpec) -> ExitRecord {
        let dir = self.prepare(spec);
        finish(&dir).await
    }

    /// A named pipe for scripts in the lab.
    fn pipe(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        mkfifo(&path, Mode::from_bits_truncate(0o600)).unwrap();
        path
    }

    /// How often the script said that it ran, by adding a line to `count`.
    fn count(&self) -> usize {
        fs::read_to_string(self.path("count")).map_or(0, |text| text.lines().count())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for dir in self.made() {
            let started = started_now(&dir);
            let _ = stop(&dir, Stop::Now);
            if let Some(started) = started {
                until("the runner ends", || {
                    !started.runner().exists().unwrap_or(false) || is_zombie(started.runner_pid)
                });
            }
            let _ = end_survivors(&dir, PATIENCE);
        }
    }
}

fn started_now(dir: &RunDir) -> Option<Started> {
    match inspect(dir) {
        Ok(RunStatus::Running { started, .. }) => started,
        _ => None,
    }
}

/// What this run's script wrote into its first pipe, as a number.
fn pid_in(path: &Path) -> i32 {
    until("the script names its process", || {
        fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n'))
    });
    fs::read_to_string(path).unwrap().trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_belongs_to_the_run_above_it_however_it_forks() {
    let lab = Lab::new().await;
    let gate = lab.pipe("gate");
    let pid = lab.path("pid");
    // A double fork into a session of its own, without an environment.
    let inner = r"echo \$\$ >pid.new; mv pid.new pid; read x <gate";
    let script = format!(r#"(env -i setsid sh -c 'sh -c "{inner}" &' &); read x <gate"#);
    let dir = lab.prepare(&lab.script(&script));
    let launched = launch(&dir, Path::new(EXE)).unwrap();
    let inner = pid_in(&pid);
    let found = run_above(&lab.runs(), inner).unwrap();
    assert_eq!(found.as_ref(), Some(&dir));
    let begun = Instant::now();
    for _ in 0..100 {
        assert!(run_above(&lab.runs(), inner).unwrap().is_some());
    }
    println!("run_above takes {:?}", begun.elapsed() / 100);
    let elsewhere = lab.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    assert_eq!(
        run_above(&elsewhere, inner).unwrap(),
        None,
        "another repository"
    );
    let own = i32::try_from(std::process::id()).unwrap();
    assert_eq!(run_above(&lab.runs(), own).unwrap(), None);
    stop(&dir, Stop::Now).unwrap();
    within(wait(&dir, Some(launched))).await.unwrap();
    until("the process is gone", || {
        matches!(run_above(&lab.runs(), inner), Err(ProcessError::Gone(_)))
    });
    drop(gate);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_line_that_looks_like_a_runner_is_nobodys() {
    let lab = Lab::new().await;
    let dir = lab.prepare(&lab.script("true"));
    fs::write(lab.path("__runner"), "echo $$; read x").unwrap();
    let mut child = Command::new("sh")
        .arg("__runner")
        .arg(dir.path())
        .current_dir(lab.path("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut byte = [0];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut byte)
        .unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let why = run_above(&lab.runs(), pid).unwrap_err().to_string();
    assert!(why.contains("does not hold the lock of its run"), "{why}");
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_moves_its_directory_or_its_lock_away_does_not_become_a_person() {
    let lab = Lab::new().await;
    let gate = lab.pipe("gate");
    let pid = lab.path("pid");
    let script = r"echo $$ >pid.new; mv pid.new pid; read x <gate";
    let dir = lab.prepare(&lab.script(script));
    let launched = launch(&dir, Path::new(EXE)).unwrap();
    let inner = pid_in(&pid);
    let (lock, elsewhere) = (dir.path().join("lock"), lab.path("elsewhere"));
    let is_nobody = || run_above(&lab.runs(), inner).is_err();
    fs::rename(&lock, &elsewhere).unwrap();
    assert!(is_nobody(), "without its lock");
    fs::write(&lock, "").unwrap();
    assert!(is_nobody(), "with another lock");
    fs::rename(&elsewhere, &lock).unwrap();
    fs::rename(dir.path(), &elsewhere).unwrap();
    assert!(is_nobody(), "without its directory");
    fs::rename(&elsewhere, dir.path()).unwrap();
    assert_eq!(run_above(&lab.runs(), inner).unwrap().as_ref(), Some(&dir));
    stop(&dir, Stop::Now).unwrap();
    within(wait(&dir, Some(launched))).await.unwrap();
    drop(gate);
}

async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("in time")
}

async fn end(dir: &RunDir) -> RunEnd {
    within(wait(dir, None)).await.unwrap()
}

async fn finish(dir: &RunDir) -> ExitRecord {
    let launched = launch(dir, Path::new(EXE)).unwrap();
    match within(wait(dir, Some(launched))).await.unwrap() {
        RunEnd::Exited(record) => record,
        RunEnd::Lost => panic!("lost: {}", tail(&dir.file("runner.log"), 1000).unwrap()),
    }
}

/// Opens a pipe for reading and takes its first line, on a thread of its own: opening waits for a
/// writer.
async fn first_line(path: &Path) -> File {
    let path = path.to_owned();
    let opened = tokio::task::spawn_blocking(move || {
        let mut file = File::open(path).unwrap();
        let mut byte = [0];
        while file.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {}
        file
    });
    within(opened).await.unwrap()
}

/// Comes back when nobody holds the pipe for writing any more.
async fn all_gone(mut pipe: File) {
    let read = tokio::task::spawn_blocking(move || pipe.read_to_end(&mut Vec::new()).unwrap());
    within(read).await.unwrap();
}

/// For facts that nothing announces. Fails loudly after a minute.
fn until(what: &str, fact: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !fact() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::yield_now();
    }
}

fn is_zombie(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        stat.rsplit_once(')')
            .is_some_and(|(_, rest)| rest.trim().starts_with('Z'))
    })
}

fn running(dir: &RunDir) -> (i32, Started) {
    let status = inspect(dir).unwrap();
    let RunStatus::Running {
        runner_pid,
        started: Some(started),
    } = status
    else {
        panic!("not running: {status:?}");
    };
    (runner_pid, started)
}

fn kill_9(pid: i32) {
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
}

// ---- how a run ends ----

#[tokio::test]
async fn output_input_environment_and_code_are_kept() {
    let lab = Lab::new().await;
    let mut spec = lab.script("cat; echo err >&2; env | sort; pwd; exit 7");
    spec.stdin = Some("prompt.md".to_owned());
    spec.env
        .insert("TOKEN".to_owned(), "secret-value".to_owned());
    let dir = prepare(&lab.runs(), &spec, &[("prompt.md", b"do it\n")]).unwrap();
    let record = finish(&dir).await;
    assert_eq!(record.reason, EndReason::Exited);
    assert_eq!((record.code, record.signal), (Some(7), None));
    let out = tail(&dir.stdout(), 10_000).unwrap();
    let lines: Vec<&str> = out.lines().filter(|line| !line.starts_with('_')).collect();
    let (cwd, run) = (
        fs::canonicalize(lab.dir.path()).unwrap(),
        dir.path().display(),
    );
    assert_eq!(
        lines,
        [
            "do it",
            "PATH=/usr/bin:/bin",
            &format!("PWD={}", cwd.display()),
            &format!("SWARM_RUN_DIR={run}"),
            "SWARM_RUN_ID=run-1",
            "TOKEN=secret-value",
            &cwd.display().to_string(),
        ]
    );
    assert_eq!(tail(&dir.stderr(), 100).unwrap(), "err\n");
    assert_eq!(record.stdout_bytes, out.len() as u64);
    assert_eq!(record.stderr_bytes, 4);
    assert!(record.ended_at >= record.started_at);
    assert_eq!(inspect(&dir).unwrap(), RunStatus::Exited(record));
    for file in fs::read_dir(dir.path()).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            path == dir.stdout() || !text.contains("secret-value"),
            "{path:?}"
        );
    }
}

#[tokio::test]
async fn a_signal_from_elsewhere_is_an_exit() {
    let lab = Lab::new().await;
    let record = lab.run(&lab.script("kill -SEGV $$")).await;
    assert_eq!(record.reason, EndReason::Exited);
    assert_eq!((record.code, record.signal), (None, Some(11)));
    let mut spec = lab.script("kill -40 $$"); // a real-time signal
    spec.id = "run-2".to_owned();
    assert_eq!(lab.run(&spec).await.signal, Some(40));
}

#[tokio::test]
async fn what_cannot_be_run_is_said_and_leaves_no_secret() {
    type Break<'a> = &'a dyn Fn(&mut RunSpec);
    let lab = Lab::new().await;
    fs::write(lab.path("plain"), "#!/bin/sh\n").unwrap();
    let plain = lab.path("plain").display().to_string();
    let nowhere = lab.path("nowhere");
    let broken: [(&str, Break, &str); 4] = [
        (
            "none",
            &|spec| spec.program = "/no/such".into(),
            "cannot run `/no/such`: No such file",
        ),
        (
            "plain",
            &|spec| spec.program = plain.clone(),
            "Permission denied",
        ),
        ("cwd", &|spec| spec.cwd = nowhere.clone(), "cannot enter"),
        (
            "stdin",
            &|spec| spec.stdin = Some("none.md".into()),
            "none.md",
        ),
    ];
    for (id, change, expected) in broken {
        let mut spec = lab.script("true");
        spec.id = id.to_owned();
        change(&mut spec);
        let dir = lab.prepare(&spec);
        let record = finish(&dir).await;
        assert_eq!(record.reason, EndReason::SpawnError, "{id}");
        assert_eq!((record.code, record.signal), (None, None));
        let said = record.spawn_error.unwrap();
        assert!(said.contains(expected), "{said}");
        assert!(!dir.file("env.json").exists(), "{id}");
    }
}

#[tokio::test]
async fn a_name_is_looked_up_in_the_path_of_the_specification() {
    let lab = Lab::new().await;
    let mut spec = lab.script("exit 3");
    spec.program = "sh".to_owned();
    assert_eq!(lab.run(&spec).await.code, Some(3));
}

#[tokio::test]
async fn a_hundred_mebibytes_without_a_newline_cost_the_runner_no_memory() {
    let lab = Lab::new().await;
    let ready = lab.pipe("ready");
    let script = "head -c 104857600 /dev/zero; exec 3>ready; echo >&3; exec sleep 1000";
    let dir = lab.prepare(&lab.script(script));
    let launched = launch(&dir, Path::new(EXE)).unwrap();
    let pipe = first_line(&ready).await;
    let status = fs::read_to_string(format!("/proc/{}/status", launched.pid())).unwrap();
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let kib: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kib < 40_000, "the runner's peak is {kib} KiB");
    stop(&dir, Stop::Now).unwrap();
    all_gone(pipe).await;
    let RunEnd::Exited(record) = within(wait(&dir, Some(launched))).await.unwrap() else {
        panic!("lost");
    };
    assert_eq!(record.stdout_bytes, 104_857_600);
    let mut follower = OutputFollower::new(dir.stdout(), 0);
    let mut buf = vec![0; PIECE];
    while follower.read_new(&mut buf).unwrap() > 0 {}
    assert_eq!(follower.offset(), 104_857_600);
}

#[tokio::test]
async fn a_child_that_closes_its_output_still_runs() {
    let lab = Lab::new().await;
    let go = lab.pipe("go");
    let ready = lab.pipe("ready");
    let dir = lab.prepare(&lab.script("exec >&- 2>&-; echo >ready; read x <go; exit 5"));
    let launched = launch(&dir, Path::new(EXE)).unwrap();
    first_line(&ready).await;
    running(&dir);
    fs::write(go, "\n").unwrap();
    let ended = within(wait(&dir, Some(launched))).await.unwrap();
    assert!(matches!(ended, RunEnd::Exited(record) if record.code == Some(5)));
}

// ---- the tree ----

#[tokio::test]
async fn escapees_end_with_the_child() {
    let lab = Lab::new().await;
    let ready = lab.pipe("ready");
    // Twenty grandchildren with sessions of their own, no environment, ignoring TERM, forked twice;
    // one holds stdout.
    let script = r#"exec 3>ready
        for i in 1 2 3 4 5 6 7 8 9 10; do
          (env -i /usr/bin/setsid /bin/sh -c 'trap "" TERM; /bin/sleep 1000 & echo; wait' \
            >&3 2>/dev/null &)
          (env -i /usr/bin/setsid /bin/sh -c 'trap "" TERM; echo >&3; exec /bin/sleep 1000' &)
        done
        echo >&3; exit 4"#;
    let dir = lab.prepare(&lab.script(script));
    let launched = launch(&dir, Path::new(EXE)).unwrap();
    let pipe = first_line(&ready).await;
    let ended = within(wait(&dir, Some(launched))).await.unwrap();
    assert!(
        matches!(ended, RunEnd::Exited(record) if record.code == Some(4) && record.left_behind == 0)
    );
    all_gone(pipe).await;
}

#[tokio::test]
async fn a_child_that_keeps_forking_is_ended_whole() {
    let lab = Lab::new().await;
    let ready = lab.pipe("ready");
    let script = r"exec 3>ready; echo >&3
        storm() { while :; do (setsid sleep 1000 &) ; done; }
        storm & storm & wait";
    let dir = lab.prepare(&lab.script(script));
    let launched = launch(&dir, Path::new(EXE)).unwrap();
    let pipe = first_line(&ready).await;
    stop(&dir, Stop::Now).unwrap();
    let ended = within(wait(&dir, Some(launched))).await.unwrap();
    assert!(matches!(ended, RunEnd::Exited(record) if record.left_behind == 0));
    all_gone(pipe).await;
}

#[tokio::test]
async fn a_child_gets_three_descriptors_and_a_group_of_its_own() {
    let lab = Lab::new().await;
    let leak = File::open("/dev/null").unwrap();
    let flags = nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty());
    nix::fcntl::fcntl(&leak, flags).unwrap();
    let record = lab
        .run(&lab.script(
            "ls -l /proc/self/fd | wc -l; ls /proc/self/fd; cut -d' ' -f5,6 /proc/$$/stat; echo $$",
        ))
        .await;
    assert_eq!(record.code, Some(0));
    let dir = RunDir::open(&lab.runs(), "run-1").unwrap();
    let out = tail(&dir.stdout(), 1000).unwrap();
    let lines: Vec<&str> = out.lines().collect();
    // 3 is the descriptor that `ls` itself has for the directory.
    assert_eq!(&lines[1..5], ["0", "1", "2", "3"], "{out}");
    let (group, session) = lines[5].split_once(' ').unwrap();
    assert_eq!(group, lines[6], "leads its group");
    assert_ne!(session, group, "the session is the runner's");
}

#[tokio::test]
async fn a_child_starts_with_no_signal_blocked_or_ignored() {
    let lab = Lab::new().await;
    let mut spec = lab.script("");
    spec.program = "/bin/grep".to_owned();
    spec.args = ["-E", "Sig(Blk|Ign)", "/proc/self/status"]
        .map(str::to_owned)
        .to_vec();
    let dir = lab.prepare(&spec);
    // As under `nohup` and in the background of a script, and with CHLD ignored, which would hide
    // the end of the child.
    let mut shell = Command::new("/bin/sh");
    shell.args([
        "-c",
        r#"trap '' HUP INT QUIT TERM CHLD USR1 USR2 PIPE; exec "$0" __runner "$1""#,
        EXE,
    ]);
    assert!(
        shell
            .arg(dir.path())
            .stdin(Stdio::null())
            .status()
            .unwrap()
            .success()
    );
    assert!(exited(end(&dir).await).is_success());
    let out = tail(&dir.stdout(), 200).unwrap();
    let masks = out
        .lines()
        .map(|line| u64::from_str_radix(line.split_once('\t').unwrap().1, 16).unwrap());
    // 32 and 33 are the C library's own.
    assert_eq!(
        masks.map(|mask| mask & !(3 << 31)).collect::<Vec<_>>(),
        [0, 0],
        "{out}"
    );
}

// ---- limits and stops ----

#[tokio::test]
async fn a_timeout_ends_what_ignores_term() {
    // On a busy machine the time may be over before the script has come to ignore anything: then it
    // has more.
    for timeout in [50, 500, 5_000, 50_000] {
        let lab = Lab::new().await;
        let mut spec = lab.script("trap '' TERM; echo ready >>count; while :; do sleep 1000; done");
        (spec.timeout_ms, spec.grace_ms) = (Some(timeout), 50);
        let record = lab.run(&spec).await;
        assert_eq!(record.reason, EndReason::TimedOut);
        if lab.count() == 1 {
            return assert_eq!(record.signal, Some(9));
        }
    }
    panic!("the script never began");
}

#[tokio::test]
async fn a_timeout_lets_a_child_clean_up() {
    let lab = Lab::new().await;
    let mut spec = lab.script("trap 'echo cleaned; exit 9' TERM; sleep 1000 & wait");
    spec.timeout_ms = Some(300);
    let record = lab.run(&spec).await;
    assert_eq!(record.reason, EndReason::TimedOut);
    assert!(record.ran_ms >= 300, "{record:?}");
    assert_eq!(record.code, Some(9));
    let dir = RunDir::open(&lab.runs(), "run-1").unwrap();
    assert_eq!(tail(&dir.stdout(), 100).unwrap(), "cleaned\n");
}

#[tokio::test]
async fn too_much_output_ends_the_run() {
    let lab = Lab::new().await;
    let mut spec = lab.script("trap '' TERM; (yes >&2 &); head -c 3000000 /dev/zero; sleep 1000");
    spec.max_output_bytes = Some(2_000_000);
    let record = lab.run(&spec).await;
    assert_eq!(record.reason, EndReason::OutputLimit);
    assert_eq!(record.signal, Some(9));
}

#[tokio::test]
async fn a_run_whose_daemon_is_gone_for_longer_than_its_lease_is_ended() {
    let lab = Lab::new().await;
    let mut spec = lab.script("trap 'echo cleaned; exit 9' TERM; sleep 1000 & wait");
    let file = lab.path("lease");
    spec.lease = Some(Lease { file, ms: 200 });
    let record = lab.run(&spec).await;
    assert_eq!(record.reason, EndReason::LeaseExpired);
    let dir = RunDir::open(&lab.runs(), "run-1").unwrap();
    assert_eq!(tail(&dir.stdout(), 100).unwrap(), "cleaned\n");
}

#[tokio::test]
async fn a_run_goes_on_while_a_daemon_holds_the_lease() {
    let lab = Lab::new().await;
    let file = lab.path("lease");
    let held = hold(&file).unwrap();
    let mut spec = lab.script("sleep 1; exit 7");
    spec.lease = Some(Lease { file, ms: 200 });
    let record = lab.run(&spec).await;
    assert_eq!((record.reason, record.code), (EndReason::Exited, Some(7)));
    drop(held);
}

/// A run whose script has said that it is ready, with the pipe that it holds.
async fn ready_run(lab: &Lab, script: &str, grace_ms: u64) -> (RunDir, File) {
    let ready = lab.pipe("ready");
    let mut spec = lab.script(&format!("exec 3>ready; {script}"));
    spec.grace_ms = grace_ms;
    let dir = lab.prepare(&spec);
    drop(launch(&dir, Path::new(EXE)).unwrap());
    let pipe = first_line(&ready).await;
    (dir, pipe)
}

fn exited(end: RunEnd) -> ExitRecord {
    match end {
        RunEnd::Exited(record) => record,
        RunEnd::Lost => panic!("lost"),
    }
}

#[tokio::test]
async fn a_graceful_stop_is_heard() {
    let lab = Lab::new().await;
    let script = "trap 'exit 8' TERM; sleep 1000 & echo >&3; wait";
    let (dir, pipe) = ready_run(&lab, script, 60_000).await;
    assert_eq!(stop(&dir, Stop::Graceful).unwrap(), StopOutcome::Requested);
    let record = exited(end(&dir).await);
    assert_eq!((record.reason, record.code), (EndReason::Stopped, Some(8)));
    assert_eq!(stop(&dir, Stop::Graceful).unwrap(), StopOutcome::NotRunning);
    all_gone(pipe).await;
}

/// Whoever tidies up asks this before a run's directory goes.
#[tokio::test]
async fn a_run_is_over_when_its_runner_has_ended_and_not_before() {
    let lab = Lab::new().await;
    let (dir, pipe) = ready_run(&lab, "echo >&3; exec sleep 1000", 60_000).await;
    assert_eq!(run_age(&lab.runs(), dir.id()).unwrap(), RunAge::Running);
    stop(&dir, Stop::Now).unwrap();
    let record = exited(end(&dir).await);
    let over = run_age(&lab.runs(), dir.id()).unwrap();
    assert_eq!(over, RunAge::Over(record.ended_at));
    all_gone(pipe).await;
}

#[tokio::test]
async fn a_stop_reaches_a_child_that_is_itself_stopped() {
    let lab = Lab::new().await;
    let (dir, _pipe) = ready_run(&lab, "trap 'exit 8' TERM; echo >&3; kill -STOP $$", 60_000).await;
    stop(&dir, Stop::Graceful).unwrap();
    assert_eq!(exited(end(&dir).await).reason, EndReason::Stopped);
}

#[tokio::test]
async fn a_stop_that_is_ignored_kills_after_the_grace() {
    let lab = Lab::new().await;
    let script = "trap '' TERM; echo >&3; while :; do sleep 1000; done";
    let (dir, pipe) = ready_run(&lab, script, 50).await;
    stop(&dir, Stop::Graceful).unwrap();
    let record = exited(end(&dir).await);
    assert_eq!(
        (record.reason, record.signal),
        (EndReason::Stopped, Some(9))
    );
    all_gone(pipe).await;
}

#[tokio::test]
async fn a_stop_now_does_not_wait_nor_does_a_second_one() {
    for second in [Stop::Graceful, Stop::Now] {
        let lab = Lab::new().await;
        let script = "trap 'echo term >>count' TERM; echo >&3; while :; do sleep 1000 & wait; done";
        let (dir, pipe) = ready_run(&lab, script, 1_000_000).await;
        stop(&dir, Stop::Graceful).unwrap();
        until("TERM was handled", || lab.count() == 1);
        stop(&dir, second).unwrap();
        let record = exited(end(&dir).await);
        assert_eq!((record.reason, record.signal), (EndReason::Killed, Some(9)));
        all_gone(pipe).await;
    }
}

/// As where a machine goes down: everybody gets the signal, and the child has ended before its
/// runner looks.
#[tokio::test]
async fn a_stop_counts_although_the_child_was_quicker() {
    for script in [
        "sleep 1000 & echo >&3; wait",
        "trap 'exit 3' TERM; sleep 1000 & echo >&3; wait",
    ] {
        let lab = Lab::new().await;
        let (dir, _output) = ready_run(&lab, script, 10_000).await;
        let (runner, started) = running(&dir);
        let signal = |pid: i32, signal| kill(Pid::from_raw(pid), signal).unwrap();
        signal(runner, Signal::SIGSTOP);
        signal(runner, Signal::SIGTERM);
        signal(started.pid, Signal::SIGTERM);
        until("the child has ended", || is_zombie(started.pid));
        signal(runner, Signal::SIGCONT);
        let record = exited(end(&dir).await);
        assert_eq!(record.reason, EndReason::Stopped, "{script}");
    }
}

#[tokio::test]
async fn a_stop_before_the_runner_is_there_is_not_lost() {
    for (how, reason) in [
        (Stop::Graceful, EndReason::Stopped),
        (Stop::Now, EndReason::Killed),
    ] {
        let lab = Lab::new().await;
        let dir = lab.prepare(&lab.script("echo >>count"));
        assert_eq!(stop(&dir, how).unwrap(), StopOutcome::NotRunning);
        assert_eq!(finish(&dir).await.reason, reason);
        assert_eq!(lab.count(), 0);
    }
}

#[tokio::test]
async fn a_stop_at_any_moment_of_the_start_is_obeyed() {
    let lab = Lab::new().await;
    for round in 0..40 {
        let mut spec = lab.script("exec sleep 1000");
        spec.id = format!("run-{round}");
        let dir = lab.prepare(&spec);
        let launched = launch(&dir, Path::new(EXE)).unwrap();
        for _ in 0..round * 100 {
            std::hint::spin_loop();
            inspect(&dir).unwrap();
            if round % 2 == 0 {
                break;
            }
        }
        stop(&dir, Stop::Graceful).unwrap();
        let ended = exited(within(wait(&dir, Some(launched))).await.unwrap());
        assert_eq!(ended.reason, EndReason::Stopped, "round {round}");
    }
}

// ---- at most once ----

#[tokio::test]
async fn many_launches_start_one_child() {
    let lab = Lab::new().await;
    let dir = lab.prepare(&lab.script("echo >>count"));
    let launched: Vec<_> = (0..8)
        .map(|_| launch(&dir, Path::new(EXE)).unwrap())
        .collect();
    for one in launched {
        let ended = within(wait(&dir, Some(one))).await.unwrap();
        assert!(exited(ended).is_success());
    }
    assert_eq!(lab.count(), 1);
    let before = inspect(&dir).unwrap();
    assert!(finish(&dir).await.is_success());
    assert_eq!(inspect(&dir).unwrap(), before);
    assert_eq!(lab.count(), 1);
}

#[tokio::test]
async fn preparing_again_changes_nothing() {
    let lab = Lab::new().await;
    let spec = lab.script("echo >>count");
    fs::create_dir_all(lab.path("runs/.new-run-1/old")).unwrap();
    fs::write(lab.path("runs/.new-run-1/written-at"), "cut off").unwrap();
    let dir = prepare(&lab.runs(), &spec, &[("prompt.md", b"one")]).unwrap();
    assert!(!lab.path("runs/.new-run-1").exists());
    let again = prepare(&lab.runs(), &spec, &[("prompt.md", b"two")]).unwrap();
    assert_eq!(again, dir);
    assert_eq!(fs::read(dir.file("prompt.md")).unwrap(), b"one");
    finish(&dir).await;
    let again = prepare(&lab.runs(), &spec, &[]).unwrap();
    assert!(finish(&again).await.is_success());
    assert_eq!(lab.count(), 1);
}

#[tokio::test]
async fn a_run_of_an_earlier_boot_that_never_began_is_made_anew() {
    let lab = Lab::new().await;
    let spec = lab.script("echo >>count");
    let dir = prepare(&lab.runs(), &spec, &[("prompt.md", b"torn")]).unwrap();
    fs::write(dir.file("written-at"), "another").unwrap();
    let dir = prepare(&lab.runs(), &spec, &[("prompt.md", b"torn")]).unwrap();
    fs::write(dir.file("written-at"), "").unwrap();
    prepare(&lab.runs(), &spec, &[("prompt.md", b"whole")]).unwrap();
    assert_eq!(fs::read(dir.file("prompt.md")).unwrap(), b"whole");
    finish(&dir).await;
    fs::write(dir.file("written-at"), "another").unwrap();
    prepare(&lab.runs(), &spec, &[("prompt.md", b"once more")]).unwrap();
    assert_eq!(fs::read(dir.file("prompt.md")).unwrap(), b"whole", "it ran");
}

#[tokio::test]
async fn a_run_of_another_place_that_never_began_is_made_anew() {
    let lab = Lab::new().await;
    let spec = lab.script("echo >>count");
    prepare(&lab.runs(), &spec, &[("prompt.md", b"there")]).unwrap();
    let moved = lab.path("moved");
    fs::rename(lab.runs(), &moved).unwrap();
    let dir = prepare(&moved, &spec, &[("prompt.md", b"here")]).unwrap();
    assert_eq!(fs::read(dir.file("prompt.md")).unwrap(), b"here");
    fs::rename(&moved, lab.runs()).unwrap();
}

#[tokio::test]
async fn names_that_would_escape_are_refused() {
    let lab = Lab::new().await;
    for id in ["", "../x", "A", "-a", "a/b", &"a".repeat(65)] {
        let mut spec = lab.script("true");
        spec.id = id.to_owned();
        let refused = prepare(&lab.runs(), &spec, &[]);
        assert!(matches!(refused, Err(ProcessError::BadId(_))), "{id}");
    }
    for name in ["", ".", "..", "a/b", "exit.json", "started.9.new", "lock"] {
        let refused = prepare(&lab.runs(), &lab.script("true"), &[(name, b"")]);
        assert!(
            matches!(refused, Err(ProcessError::BadFileName(_))),
            "{name}"
        );
    }
    assert!(RunDir::open(lab.dir.path(), "runs").is_err());
}

/// A folder of somebody else's, with names that would do for runs.
fn somebody_elses() -> tempfile::TempDir {
    let other = tempfile::tempdir().unwrap();
    for name in ["run-1", "work", ".new-run-1"] {
        fs::create_dir(other.path().join(name)).unwrap();
        fs::write(other.path().join(name).join("precious"), "x").unwrap();
    }
    other
}

fn all_there(other: &Path) -> bool {
    let precious = |name: &str| other.join(name).join("precious").exists();
    ["run-1", "work", ".new-run-1"].into_iter().all(precious)
}

#[tokio::test]
async fn a_link_in_place_of_the_folder_of_runs_is_refused_and_nothing_behind_it_is_removed() {
    let lab = Lab::new().await;
    let other = somebody_elses();
    std::os::unix::fs::symlink(other.path(), lab.runs()).unwrap();
    for id in ["run-1", "run-2"] {
        let opened = RunDir::open(&lab.runs(), id);
        assert!(matches!(opened, Err(ProcessError::LinkRefused(_))), "{id}");
        let spec = RunSpec {
            id: id.to_owned(),
            ..lab.script("true")
        };
        let prepared = prepare(&lab.runs(), &spec, &[]);
        assert!(
            matches!(prepared, Err(ProcessError::LinkRefused(_))),
            "{id}"
        );
    }
    drop(lab);
    assert!(all_there(other.path()));
}

#[tokio::test]
async fn a_directory_that_is_no_run_is_never_removed() {
    let lab = Lab::new().await;
    let other = somebody_elses();
    fs::rename(other.path(), lab.runs()).unwrap();
    let run = prepare(&lab.runs(), &lab.script("true"), &[]);
    assert!(matches!(run, Err(ProcessError::NotARun(path)) if path.ends_with("run-1")));
    fs::rename(lab.path("runs/run-1"), lab.path("runs/moved-away")).unwrap();
    let run = prepare(&lab.runs(), &lab.script("true"), &[]);
    assert!(matches!(run, Err(ProcessError::NotARun(path)) if path.ends_with(".new-run-1")));
    fs::rename(lab.path("runs/moved-away"), lab.path("runs/run-1")).unwrap();
    assert!(all_there(&lab.runs()));
}

/// Starts the runner with a crash point, waits for it, and gives what the run then is.
fn crash_at(dir: &RunDir, label: &str) -> RunStatus {
    let mut runner = Command::new(EXE);
    runner.arg("__runner").arg(dir.path()).env_clear();
    runner.env("SWARM_CRASH_POINT", label).stdin(Stdio::null());
    runner.status().unwrap();
    inspect(dir).unwrap()
}

/// After any kill the run is launched twice more; the child has run at most once, and the end is
/// the same for everyone who asks.
async fn settle(lab: &Lab, dir: &RunDir) -> (RunEnd, usize) {
    for _ in 0..2 {
        let launched = launch(dir, Path::new(EXE)).unwrap();
        within(wait(dir, Some(launched))).await.unwrap();
    }
    end_survivors(dir, PATIENCE).unwrap();
    (end(dir).await, lab.count())
}

#[tokio::test]
async fn kill_9_at_every_step_runs_the_child_at_most_once() {
    type Expect = fn(&RunStatus) -> bool;
    let lost: Expect = |status| matches!(status, RunStatus::Lost { .. });
    let prepared: Expect = |status| *status == RunStatus::Prepared;
    let exited: Expect = |status| matches!(status, RunStatus::Exited(_));
    let ended: [(&str, Expect, Expect, usize); 6] = [
        ("runner.locked", prepared, exited, 1),
        ("child.before-claim", prepared, exited, 1),
        ("child.after-claim", exited, exited, 0),
        ("runner.child-ended", lost, lost, 1),
        ("runner.before-exit-record", lost, lost, 1),
        ("runner.after-exit-record", exited, exited, 1),
    ];
    for (label, at_once, finally, count) in ended {
        let lab = Lab::new().await;
        let dir = lab.prepare(&lab.script("echo >>count"));
        let status = crash_at(&dir, label);
        assert!(at_once(&status), "{label}: {status:?}");
        let (_, counted) = settle(&lab, &dir).await;
        let status = inspect(&dir).unwrap();
        assert!(finally(&status), "{label}: {status:?}");
        assert_eq!(counted, count, "{label}");
    }
}

#[tokio::test]
async fn kill_9_while_the_child_starts_runs_it_at_most_once() {
    for _ in 0..30 {
        let lab = Lab::new().await;
        let dir = lab.prepare(&lab.script("echo >>count"));
        crash_at(&dir, "runner.spawned");
        let (ended, count) = settle(&lab, &dir).await;
        match ended {
            RunEnd::Exited(record) => assert_eq!((record.code, count), (Some(0), 1)),
            RunEnd::Lost => assert!(count <= 1),
        }
    }
}

/// A kill before the claim says nothing about the program: no record, so that whoever launches
/// again runs it.
#[tokio::test]
async fn a_child_that_died_before_its_claim_leaves_the_run_to_the_next_runner() {
    let lab = Lab::new().await;
    let dir = lab.prepare(&lab.script("echo >>count"));
    assert_eq!(crash_at(&dir, "child.before-claim"), RunStatus::Prepared);
    let (RunEnd::Exited(record), count) = settle(&lab, &dir).await else {
        panic!("no record");
    };
    assert_eq!((record.reason, count), (EndReason::Exited, 1));
}

// ---- the daemon comes and goes ----

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn looking_never_disturbs_and_never_goes_back() {
    let lab = Lab::new().await;
    for round in 0..20 {
        let mut spec = lab.script("echo >>count");
        spec.id = format!("run-{round}");
        let dir = lab.prepare(&spec);
        let stop_looking = AtomicBool::new(false);
        let launched = launch(&dir, Path::new(EXE)).unwrap();
        let ended = std::thread::scope(|scope| {
            let looker = scope.spawn(|| {
                let mut last = 0;
                while !stop_looking.load(Ordering::Relaxed) {
                    let now = match inspect(&dir).unwrap() {
                        RunStatus::Prepared => 0,
                        RunStatus::Running { started: None, .. } => 1,
                        RunStatus::Running { .. } => 2,
                        RunStatus::Exited(_) => 3,
                        RunStatus::Lost { .. } => panic!("it is not lost"),
                    };
                    assert!(now >= last, "from {last} back to {now}");
                    last = now;
                }
            });
            let ended = tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(wait(&dir, Some(launched)))
            });
            stop_looking.store(true, Ordering::Relaxed);
            looker.join().unwrap();
            ended.unwrap()
        });
        assert!(exited(ended).is_success());
    }
    assert_eq!(lab.count(), 20);
}

#[tokio::test]
async fn a_runner_of_a_dead_daemon_is_adopted() {
    let lab = Lab::new().await;
    let (go, ready) = (lab.pipe("go"), lab.pipe("ready"));
    let dir = lab.prepare(&lab.script("echo >ready; read x <go; exit 6"));
    // A shell stands for the daemon: it starts the runner and ends.
    let daemon = r#""$0" __runner "$1" & exit 0"#;
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", daemon, EXE]).arg(dir.path());
    assert!(shell.stdin(Stdio::null()).status().unwrap().success());
    first_line(&ready).await;
    let found = RunDir::open(&lab.runs(), dir.id()).unwrap();
    assert!(matches!(
        inspect(&found).unwrap(),
        RunStatus::Running { .. }
    ));
    let waiting = tokio::spawn({
        let dir = dir.clone();
        async move { end(&dir).await }
    });
    fs::write(go, "\n").unwrap();
    assert_eq!(exited(waiting.await.unwrap()).code, Some(6));
}

#[tokio::test]
async fn a_killed_runner_takes_its_child_with_it_and_the_rest_is_found() {
    let lab = Lab::new().await;
    // One that ignores TERM in a session of its own, and below it one without environment.
    let script =
        r#"setsid sh -c 'trap "" TERM; env -i /bin/sleep 1000 & echo >&3; wait' & exec sleep 1000"#;
    let (dir, pipe) = ready_run(&lab, script, 60_000).await;
    let (runner, started) = running(&dir);
    let refused = end_survivors(&dir, PATIENCE).unwrap_err();
    assert!(matches!(refused, ProcessError::RunnerAlive { pid, .. } if pid == runner));
    kill_9(runner);
    assert_eq!(end(&dir).await, RunEnd::Lost);
    assert_eq!(
        inspect(&dir).unwrap(),
        RunStatus::Lost {
            started: started.clone()
        }
    );
    until("the child is dead", || {
        !started.child().exists().unwrap() || is_zombie(started.pid)
    });
    assert!(end_survivors(&dir, PATIENCE).unwrap() >= 2);
    all_gone(pipe).await;
    assert_eq!(end_survivors(&dir, PATIENCE).unwrap(), 0);
    assert_eq!(stop(&dir, Stop::Now).unwrap(), StopOutcome::NotRunning);
}

#[tokio::test]
async fn survivors_of_another_repository_with_the_same_run_id_are_spared() {
    let (here, there) = (Lab::new().await, Lab::new().await);
    let (dir, _pipe) = ready_run(&there, "echo >&3; exec sleep 1000", 60_000).await;
    let other = here.prepare(&here.script("true"));
    assert_eq!(end_survivors(&other, PATIENCE).unwrap(), 0);
    running(&dir);
}

// ---- cost ----

#[tokio::test]
async fn two_hundred_runs_leave_no_zombie_and_no_descriptor() {
    let _alone = ALONE.write().await;
    let lab = Lab::unshared(None);
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    let mut runners = Vec::new();
    let (mut before, mut spent) = (0, Duration::ZERO);
    for round in 0..200 {
        let mut spec = lab.script("");
        spec.id = format!("run-{round}");
        (spec.program, spec.args) = ("/bin/true".to_owned(), Vec::new());
        let dir = lab.prepare(&spec);
        let began = Instant::now();
        let launched = launch(&dir, Path::new(EXE)).unwrap();
        runners.push(launched.pid());
        if round % 10 == 0 {
            drop(launched); // nobody waits for this one as a child
            until("the runner has it", || {
                inspect(&dir).unwrap() != RunStatus::Prepared
            });
            assert!(exited(end(&dir).await).is_success());
        } else {
            let ended = within(wait(&dir, Some(launched))).await.unwrap();
            assert!(exited(ended).is_success());
        }
        spent += began.elapsed();
        if round == 20 {
            before = descriptors();
        }
    }
    drop(launch(
        &RunDir::open(&lab.runs(), "run-0").unwrap(),
        Path::new(EXE),
    ));
    println!("a run of /bin/true: {:?}", spent / 200);
    assert!(descriptors() <= before + 2);
    let zombies: Vec<_> = runners.iter().filter(|pid| is_zombie(**pid)).collect();
    assert!(zombies.is_empty(), "{zombies:?}");
}
