//! Checks of the workspace that no compiler makes: the wording of its prose, the figures in its
//! README, the paths in its architecture page, and the table of its errors.
//!
//! [`errors`] lists the error types of the crates and the rows of their table, [`prose`] extracts
//! comments and Markdown from a file, [`phrases`] finds the wordings that make a reader stop, [`markdown`] finds
//! dead links in Markdown, and [`workspace`] lists the files. The command `prose` checks the wording, the command
//! `links` the links, the tests the rest.

pub mod errors;
pub mod markdown;
pub mod phrases;
pub mod prose;
pub mod workspace;
