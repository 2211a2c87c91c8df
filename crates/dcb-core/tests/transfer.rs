//! Events on their way from one store to another.

mod support;

#[path = "transfer/go_crablet.rs"]
mod go_crablet;
#[path = "transfer/lines.rs"]
mod lines;
