//! Repositories with unusual layouts, from outside.

use std::fs;
use std::time::Duration;

use crate::harness::Sandbox;

#[test]
fn nothing_starts_where_an_agents_git_would_work_on_the_checkout() {
    let sandbox = Sandbox::ready();
    let repo = sandbox.repo();
    sandbox.git(&["config", "core.worktree", repo.to_str().unwrap()]);
    sandbox.git(&["config", "extensions.worktreeConfig", "true"]);
    let words = ["core.worktree", "git config --worktree core.worktree"];
    let start = ["start", "--until-idle", "--no-web"];
    sandbox.swarm(&start).refused(4, &words);
    let doctor = sandbox.swarm(&["doctor"]).stdout;
    let line = doctor.lines().find(|line| line.contains("  layout  "));
    assert!(line.is_some_and(|it| it.starts_with("FAIL")), "{doctor}");
    sandbox.git(&["config", "--unset", "core.worktree"]);
    let doctor = sandbox.swarm(&["doctor"]).stdout;
    let line = doctor.lines().find(|line| line.contains("  layout  "));
    assert!(line.is_some_and(|it| it.starts_with("ok")), "{doctor}");
}

#[test]
fn init_adds_the_configuration_to_a_sparse_checkout() {
    let sandbox = Sandbox::new();
    sandbox.git(&["sparse-checkout", "set", "src"]);
    let init = sandbox.swarm(&["init", "--yes", "--agent", "command", "--", "true"]);
    assert!(init.stderr.contains("sparse checkout"), "{}", init.stderr);
    init.ok();
    sandbox.git(&["add", ".swarm"]);
    sandbox.git(&["commit", "-q", "-m", "Set up swarm"]);
    sandbox.git(&["read-tree", "-m", "-u", "HEAD"]);
    assert!(fs::exists(sandbox.repo().join(".swarm/config.json")).unwrap());
}

#[test]
fn a_run_until_idle_waits_for_a_lock_that_another_program_holds() {
    let sandbox = Sandbox::ready();
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    let lock = sandbox.repo().join(".git/index.lock");
    let held = fs::File::create(&lock).unwrap();
    let daemon = sandbox.start_with(&["--until-idle"]);
    sandbox.wait_for("the landing to wait for the lock", || {
        let moved = sandbox.logged("mergeMoved");
        let waits = |it: &&crate::harness::Logged| it.data["waits"]["person"] == false;
        moved.iter().find(waits).map(drop)
    });
    drop(held);
    fs::remove_file(&lock).unwrap();
    assert_eq!(daemon.wait_exit(Duration::from_secs(60)), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    sandbox.assert_sound();
}

#[test]
fn doctor_names_what_stands_in_the_way_of_a_landing() {
    let sandbox = Sandbox::ready();
    let head = sandbox.head("main");
    sandbox.write(".git/MERGE_HEAD", &format!("{head}\n"));
    let doctor = sandbox.swarm(&["doctor"]).stdout;
    assert!(doctor.contains("merge --continue"), "{doctor}");
}

#[test]
fn a_linked_worktree_of_a_separate_git_directory_has_the_swarm_of_the_checkout() {
    let sandbox = Sandbox::new();
    let apart = sandbox.path("apart");
    sandbox.git(&["init", "-q", "--separate-git-dir", apart.to_str().unwrap()]);
    sandbox.set_up();
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    let linked = sandbox.person_worktree("linked", "main");
    let list = sandbox.swarm_in(&linked, &["idea", "list", "--json"]);
    assert_eq!(list.json()[0]["id"], id.as_str());
    let started = sandbox.swarm_in(&linked, &["start", "--until-idle", "--no-web"]);
    started.ok();
    assert_eq!(sandbox.idea_status(&id), "done");
}

#[test]
fn a_submodule_can_have_a_swarm_of_its_own() {
    let sandbox = crate::submodules::project(&["lib"]);
    let lib = sandbox.repo().join("lib");
    let script = "cat >/dev/null; echo x >a.txt; git add -A; git commit -qm work; echo \
        '<swarm>COMPLETE</swarm>'";
    let command = ["--", "sh", "-c", script];
    let init = ["init", "--yes", "--agent", "command"];
    sandbox.swarm_in(&lib, &[&init[..], &command].concat()).ok();
    sandbox.git_in(&lib, &["add", "-A"]);
    sandbox.git_in(&lib, &["commit", "-q", "-m", "Set up swarm"]);
    let added = sandbox.swarm_in(&lib, &["idea", "add", "Add a file"]);
    let id = added.ok().trim().to_owned();
    sandbox
        .swarm_in(&lib, &["start", "--until-idle", "--no-web"])
        .ok();
    let show = sandbox.swarm_in(&lib, &["idea", "show", &id, "--json"]);
    assert_eq!(show.json()["status"], "done");
    assert!(lib.join("a.txt").exists());
}

#[test]
fn a_worktree_in_the_way_is_named_with_its_path_and_the_stash_command() {
    let sandbox = Sandbox::ready();
    sandbox.git(&["checkout", "-q", "-b", "elsewhere"]);
    let other = sandbox.path("other");
    sandbox.git(&["worktree", "add", "-q", other.to_str().unwrap(), "main"]);
    fs::write(other.join("README.md"), "mine\n").unwrap();
    let id = sandbox.idea("write README.md x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 6);
    assert_eq!(sandbox.idea_status(&id), "merging");
    let status = sandbox.swarm(&["status"]).stdout;
    let stash = format!("git -C {} stash push", other.display());
    assert!(status.contains(&stash), "{status}");
}
