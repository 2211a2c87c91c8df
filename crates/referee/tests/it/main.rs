//! The referee finds planted faults, and accuses no right store.

mod broken;
#[path = "../../../../benches/peers/ours/src/content.rs"]
mod content;
#[path = "../../../../benches/peers/ours/src/events.rs"]
mod events;
mod faults;
mod history;
mod ours;
