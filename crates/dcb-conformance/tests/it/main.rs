//! The tests of the suite itself.

mod broken_stores;
