//! The state of the log after a process or the machine has died.
//!
//! A killed process loses nothing that it wrote, because the operating system keeps the data.
//! `durability` checks the settings that make SQLite flush. `torn` damages the write-ahead log as a
//! crash of the machine could.

mod durability;
mod processes;
mod torn;
