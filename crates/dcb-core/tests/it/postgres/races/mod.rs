//! Races between processes, and other load on the server. The conformance suite covers races between
//! the callers of one store.

mod batches;
mod foreign_transactions;
mod isolation;
mod optimistic;
mod recent_tags;
mod short_ranges;
mod short_reads;
mod unanswered_reads;
