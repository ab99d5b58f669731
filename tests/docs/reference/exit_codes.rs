//! `reference/exit-codes.md`: the table, from the one that `--help` shows.

use std::fmt::Write as _;

use swarm::cli::error::EXIT_CODES;

use super::part;

#[test]
fn exit_codes() {
    let mut table = String::from("| code | meaning |\n| --- | --- |\n");
    for (code, meaning) in EXIT_CODES {
        writeln!(table, "| {code} | {meaning} |").unwrap();
    }
    part("docs/reference/exit-codes.md", "exit codes", &table);
}
