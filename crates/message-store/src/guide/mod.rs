//! Guides.

#[doc = include_str!("message_db.md")]
pub mod message_db {}
