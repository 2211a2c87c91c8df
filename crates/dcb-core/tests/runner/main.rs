//! Projections that are kept: exactly once, whatever is killed.

mod catch_up;
mod kept;
mod killed;
mod outage;
mod sqlite;
#[path = "../support/mod.rs"]
mod support;
mod tally;

#[test]
#[ignore = "the other tests run it as a process of its own"]
fn worker() {
    killed::serve();
    sqlite::serve();
}
