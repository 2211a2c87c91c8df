//! Checks of the workspace that no compiler makes: how its prose reads, and whether the figures in
//! its README stand in the reports.
//!
//! [`prose`] takes comments and Markdown out of a file, [`phrases`] finds the wordings that make a
//! reader stop, [`workspace`] lists the files. The rules are the tests.

pub mod phrases;
pub mod prose;
pub mod workspace;
