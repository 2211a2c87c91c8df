//! Races between stores on one file, and other users of the file. The conformance suite covers races
//! between the callers of one store.

mod batches;
mod blocking;
mod foreign_transactions;
mod indexing;
