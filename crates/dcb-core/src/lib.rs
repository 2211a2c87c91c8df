//! An event store with Dynamic Consistency Boundaries on PostgreSQL and in memory.
