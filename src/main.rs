//! The `swarm` binary: hidden child programs first (they must stay small and fast), then the
//! command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    swarm::main()
}
