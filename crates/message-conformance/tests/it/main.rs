//! The tests of the suite itself.

mod model;
