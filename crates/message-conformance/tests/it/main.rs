//! The tests of the suite itself, and of the methods that the trait provides.

mod model;
mod required;
