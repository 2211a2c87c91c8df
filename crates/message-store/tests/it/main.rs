//! The tests of the public interface, in one executable so that they are linked once.

mod any_store;
mod metrics;
mod move_by_lines;
mod namespaces;
mod postgres;
mod runner;
mod sqlite;
mod support;
mod vocabulary;
