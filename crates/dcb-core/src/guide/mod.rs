//! Guides, from the first decision to operation. Their examples run as tests.
//!
//! | Guide | Answers |
//! |---|---|
//! | [`decisions`] | How do I write a rule that holds among concurrent callers, and test it? |
//! | [`backends`] | PostgreSQL, a SQLite file, or memory? How do I change my mind? |
//! | [`subscriptions`] | How does another part of my program follow the log? |
//! | [`read_models`] | How do I keep tables up to date, with many workers, and rebuild them in production? |
//! | [`migrating`] | I have expected versions, a table of events, go-crablet, or Message DB. |
//! | [`operating`] | Rights, outages, restores, backups, upgrades. |
//! | [`testing`] | How do I test decisions without a database, and a store of mine? |

#[doc = include_str!("backends.md")]
pub mod backends {}

#[doc = include_str!("decisions.md")]
pub mod decisions {}

#[doc = include_str!("migrating.md")]
pub mod migrating {}

#[doc = include_str!("operating.md")]
pub mod operating {}

#[doc = include_str!("read_models.md")]
pub mod read_models {}

#[doc = include_str!("subscriptions.md")]
pub mod subscriptions {}

#[doc = include_str!("testing.md")]
pub mod testing {}
