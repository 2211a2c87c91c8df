//! The parts that the event-store targets share: servers, logs, the state of rows, floors.

#![allow(dead_code, reason = "the http program uses only a part of it")]

pub(crate) mod appender;
pub(crate) mod backend;
pub(crate) mod cells;
pub(crate) mod content;
pub(crate) mod floors;
pub(crate) mod log;
pub(crate) mod million;
pub(crate) mod operations;
pub(crate) mod raw;
pub(crate) mod raw_reads;
pub(crate) mod raw_writes;
pub(crate) mod reader;
pub(crate) mod repeat;
pub(crate) mod rows;
pub(crate) mod server;
pub(crate) mod size;
