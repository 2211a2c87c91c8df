//! Export and import of events.

mod go_crablet;
mod lines;
mod whole;
