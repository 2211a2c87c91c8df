//! The stores that a reader would take instead of ours, each in its own process, in the same run.
//!
//! `cargo run --release -p bench --bin peers` builds the programs in `benches/peers`, runs them in turns
//! and writes `reports/peers.md` and `reports/growth.md`. Flow: `roster` names the peers, `build` and `npm` make
//! their programs, `plan` has the rows, `running` starts the programs, `turns` measures a row, `scarce` one with
//! little memory (`memory_group`), `growth` measures ours on larger logs, `run` saves all, `page` and `readme`
//! print.

mod build;
mod form;
mod growth;
mod growth_page;
mod measure;
mod memory_group;
mod npm;
mod page;
mod plan;
mod questions;
mod races;
mod readme;
mod roster;
mod run;
mod running;
mod scarce;
mod turns;

pub use build::{Program, build};
pub use form::Form;
pub use growth::{Growth, Log, grow};
pub use growth_page::{growth_page, growth_tables};
pub use measure::{Figures, Measured, Participant, RowFigures, Times, measure};
pub use memory_group::MemoryGroup;
pub use page::markdown;
pub use plan::{Question, RowPlan, questions, rows, seconds};
pub use races::Raced;
pub use readme::readme;
pub use roster::{Ground, PEERS, Peer};
pub use run::PeersRun;
