//! The binary `demo-server`.

use std::process::ExitCode;

use clap::Parser as _;
use demo_server::program::{self, Arguments};

fn main() -> ExitCode {
    program::main(Arguments::parse())
}
