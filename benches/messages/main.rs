//! The benches of the message store.

mod message_store;

use std::process::ExitCode;

fn main() -> ExitCode {
    bench::targets("messages", &[("message_store", &message_store::declare)])
}
