//! The tests of this crate.

mod effort;
