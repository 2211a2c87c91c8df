//! The cost of a decision, and ways to make it cheaper.
//!
//! A decision ([`DecisionModel::decide`](crate::DecisionModel::decide)) reads the events of its
//! boundary, folds them, and appends if no other event matches by then. The append is one round trip and
//! a share of one commit. The reads before it depend on the events that the store has kept:
//!
//! | the boundary is | reads | then |
//! |---|---|---|
//! | cold: the store has kept nothing of it | the whole boundary | an append |
//! | warm: the store has decided on it | nothing | an append |
//! | warm, and another writer has appended to it | what is new, after an append that was refused | an append |
//! | warm, and other processes append to it again and again | what is new | an append |
//! | warm, and the decision has no events or is refused by your closure | one look by key for a new event | nothing |
//! | busy: decisions of the same store are under way | nothing | a share of their append |
//! | larger than 10,000 events or 8 MiB, and the events are kept | the whole boundary | an append |
//! | of any size, and its state is kept | as if it were small | an append |
//!
//! `sqlite::BlockingSqliteStore::decide` costs the same. A
//! [`CommandExecutor`](crate::CommandExecutor) calls a handler that reads for itself, each time.
//!
//! A decision folds the events that are kept each time, so the fold should be cheap.
//!
//! # Warm decisions
//!
//! When the last decision on a boundary is answered, its [lane](crate::Lanes) rests: it keeps the
//! events of the boundary, up to which event it knows them, and the id of that event. The next decision
//! folds them and appends with `after` at that event. The condition makes this as safe as a read:
//!
//! - If another writer has appended, the store refuses the append. The lane reads what is new, and the
//!   decision is made again. Such an attempt does not count for
//!   [`max_attempts`](crate::DecisionModel::max_attempts).
//! - If the log was restored, failed over or emptied, the event is not at its position any more. The
//!   lane reads the whole boundary again.
//! - A decision without events proves nothing by an append. So it looks for an event after the last one
//!   that it saw, by the keys of the boundary, and is answered if there is none. On PostgreSQL with
//!   replicas, this read goes to a replica, as every read of a decision does.
//!
//! The lanes at rest of a store have a bound in bytes: `lane_cache_bytes` of `postgres::Config` and
//! `sqlite::Config`, [`MemoryStore::with_lane_cache`](crate::MemoryStore::with_lane_cache),
//! [`Lanes::with_cache`](crate::Lanes::with_cache) for a store of your own. The default is 64 MiB; 0
//! keeps nothing. The lane that was used least recently goes first. An
//! [`Upcasting`](crate::Upcasting) store has as much again, because its events differ. An event of 100
//! bytes takes about 250, and a lane about 1 KB beside its events. [`Stats`](crate::Stats) and the
//! metrics count hits, misses, evictions and bytes: if there are many evictions and misses, raise the
//! bound.
//!
//! A decision sees the events of earlier ones of the same store with the time at which they were
//! decided, by the clock of this process, until the boundary is read again: with
//! [`recorded_at`](crate::SequencedEvent::recorded_at) of the log it may differ by the time of the
//! commit, and by the difference of the clocks. If a decision depends on that difference, write the time
//! into the data of the event.
//!
//! # States instead of events
//!
//! Give a projector a name and a version, [`Projector::keep`](crate::Projector::keep), and the lane keeps
//! its folded state: a decision costs a copy of the state and the events since. The first decision reads
//! the whole boundary. Every 64 events, or 64 KiB of them, a decision that finds all events committed
//! folds them into the state.
//!
//! Each name, version, type and query has its state, so change the version with the fold. A state is
//! dropped when events are: if the log was restored or emptied, or on
//! [`Lanes::forget`](crate::Lanes::forget). It is in memory only, so a process that starts is cold.
//!
//! # Cheaper decisions
//!
//! - **Use one store for all callers of a process**, and its clones. Two stores on one log share no
//!   lanes, so their decisions on one boundary collide.
//! - **Send the decisions on one boundary to one process**, if you can choose. A boundary that several
//!   processes decide on is read before each decision, although only what is new.
//! - **Make boundaries small.** Query by the tags and the types that the decision needs.
//! - **Keep the state** of boundaries with many events.
//! - **Use [`Projector::last_only`](crate::Projector::last_only)** if the last event tells all: a cold
//!   decision reads only that event.
//! - **Keep the second boundary out of the lane** with
//!   [`DecisionModel::and`](crate::DecisionModel::and): it is read before each decision.
