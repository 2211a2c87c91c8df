//! The state of the log after a process or the machine has died.
//!
//! A killed process loses nothing that it wrote, because the operating system keeps the data.
//! `torn` damages the write-ahead log as a crash of the machine could.

mod processes;
mod torn;
