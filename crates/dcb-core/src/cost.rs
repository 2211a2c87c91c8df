//! The cost of a decision, and ways to make it cheaper.
//!
//! A decision ([`DecisionModel::decide`](crate::DecisionModel::decide)) reads the events of its
//! boundary, folds them, and appends if no other event matches by then. The append is one round trip and
//! a share of one commit. The reads before it depend on the events that the store has kept:
//!
//! | the boundary is | reads | then |
//! |---|---|---|
//! | cold: the store has kept nothing of it | the whole boundary | an append |
//! | cold, and its state is stored in the database | the state, and what is new | an append |
//! | warm: the store has decided on it | nothing | an append |
//! | warm, and another writer has appended to it | what is new, after an append that was refused | an append |
//! | warm, and other processes append to it again and again | what is new | an append |
//! | warm, and the decision has no events or is refused by your closure | one look by key for a new event | nothing |
//! | busy: decisions of the same store are under way | nothing | a share of their append |
//! | larger than 10,000 events or 8 MiB, and the events are kept | the whole boundary | an append |
//! | larger than the cache, and the events are kept | the whole boundary, unless it is busy | an append |
//! | of any size, and its state is kept | as if it were small | an append |
//!
//! `sqlite::BlockingSqliteStore::decide` costs the same. With a command
//! ([`DecisionModel::command`](crate::DecisionModel::command)) a decision has a commit without others. A
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
//! keeps nothing. The lane that was used least recently goes first. One that is larger than the bound is not
//! kept, counts as an eviction, and drops no other. An
//! [`Upcasting`](crate::Upcasting) store has as much again, because its events differ. An event of 100
//! bytes takes about 200, and a lane about 1 KB beside its events. [`Stats`](crate::Stats) and the
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
//! # States in the database
//!
//! [`Projector::keep_stored`](crate::Projector::keep_stored) also keeps the state in the table `kept_state`
//! of a PostgreSQL schema, or `dcb_kept_state` of an SQLite file. The first decision of a process loads the
//! state by one look, and reads the events after its bookmark; that read fails if the log has another past,
//! and then the whole boundary is read.
//!
//! No decision waits for a state to be stored. After every
//! [`StateOptions::every`](crate::StateOptions::every) events of the boundary (default: 1,000), one of them
//! begins a task. It opens the row (one statement; on SQLite a commit), reads the events that the stored state
//! lacks, folds them, and stores the new state in one more commit. So each event of such a boundary is read
//! once more in the background, and the state is that of the log, with its times. After a first decision on a large
//! boundary, the task reads all of it. On SQLite, appends wait for the task's two commits as for any other.
//!
//! A state larger than [`StateOptions::max_bytes`](crate::StateOptions::max_bytes) (default: 1 MiB), or one that
//! does not come back equal from its JSON, is not stored; the lane keeps it in memory and tries no more.
//! [`Stats`](crate::Stats) counts the states that were loaded, stored, discarded, and those that failed.
//! Storing a state deletes up to 1,000 states of lower versions with its name. A state of a boundary on which
//! nothing is decided any more stays: any row may be deleted, at any time.
//!
//! # Many callers on many boundaries
//!
//! Decisions on different boundaries share commits as appends do: 100 callers on 1,000 warm boundaries
//! commit batches of about 100. So what bounds them is processor time, not a wait for a lane. Beside its
//! append, a warm decision looks its lane up and leaves it to the cache, folds, joins a group and gets its
//! answer; and the store compares the id of the last event that the lane knows, where an append after a
//! position alone has none. Together this takes about half as much again as the append in an SQLite file.
//! The allocator has the largest part, a fifth of the time: the decision makes 52 allocations, its append alone
//! makes 25.
//!
//! The fold takes the events of the lane without a copy, and a [`Projector`](crate::Projector) does not
//! match them again. A handler that looks at the content of an event may have to fetch it from memory, so
//! boundaries with hundreds of events are where a kept state saves time. A decision that is alone in its
//! lane polls its own commit; others need a task for each commit.
//!
//! # Cheaper decisions
//!
//! - **Use one store for all callers of a process**, and its clones. Two stores on one log share no
//!   lanes, so their decisions on one boundary collide.
//! - **Send the decisions on one boundary to one process**, if you can choose. A boundary that several
//!   processes decide on is read before each decision, although only what is new.
//! - **Make boundaries small.** Query by the tags and the types that the decision needs.
//! - **Keep the state** of boundaries with many events, and store it if a process that starts must be fast.
//! - **Use [`Projector::last_only`](crate::Projector::last_only)** if the last event tells all: a cold
//!   decision reads only that event.
//! - **Keep the second boundary out of the lane** with
//!   [`DecisionModel::and`](crate::DecisionModel::and): it is read before each decision.
