use std::path::PathBuf;

/// Any error of a measured operation or its set-up; ends the run.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// This machine lacks something that a row needs, such as a container engine. If a set-up returns
/// this error, the row is shown as not measured, with the reason, and the run continues.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct Unavailable {
    /// The missing thing, in words.
    pub reason: String,
}

/// The errors of targets, saved runs and pages.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two rows of a target have one id. Give one of them a `variant`.
    #[error("two rows are named {id}")]
    DuplicateRow {
        /// The id both have.
        id: String,
    },
    /// A row is asynchronous and its floor is blocking, or vice versa. Write both in the same
    /// style.
    #[error("row {id} and its floor {floor} are not both asynchronous or both blocking")]
    MixedKinds {
        /// The row.
        id: String,
        /// The floor that differs from it.
        floor: String,
    },
    /// A goal names a floor that its row does not have. Add the floor to the row.
    #[error("row {id} has a goal against {floor}, which is not one of its floors")]
    UnknownFloor {
        /// The row.
        id: String,
        /// The name of the floor.
        floor: String,
    },
    /// A goal compares its row with one that the target does not have. Add that row.
    #[error("row {id} has a goal against {other}, which is not a row of its target")]
    UnknownRow {
        /// The row.
        id: String,
        /// The id in the goal.
        other: String,
    },
    /// A row fills a table that no page has. Name a table of a page.
    #[error("row {id} fills {table}, which no page has")]
    UnknownTable {
        /// The row.
        id: String,
        /// The name of the table.
        table: String,
    },
    /// A set-up or a call failed. The source has the reason. The target is not saved.
    #[error("row {id} failed: {source}")]
    Row {
        /// The row.
        id: String,
        /// The error of the set-up or call.
        source: BoxError,
    },
    /// The declaration of a target failed. The source has the reason.
    #[error("declaring the rows of {target} failed: {source}")]
    Declaration {
        /// The target.
        target: String,
        /// The error of the declaration.
        source: BoxError,
    },
    /// Ctrl-C was pressed. The target is not saved; run it again.
    #[error("interrupted, nothing was saved")]
    Interrupted,
    /// `BENCH_PROFILE` names no profile. Use quick, full or smoke.
    #[error("BENCH_PROFILE={name} is not one of quick, full, smoke")]
    UnknownProfile {
        /// The value found.
        name: String,
    },
    /// `BENCH_CPUS` is not a list of numbers. Write it as in `1,2,4,8`.
    #[error("BENCH_CPUS={list} is not a list of worker counts like 1,2,4,8")]
    UnknownWorkers {
        /// The value found.
        list: String,
    },
    /// Two runs cannot be compared. Measure both with one profile on one machine.
    #[error("the runs cannot be compared: {reason}")]
    NotComparable {
        /// The difference.
        reason: String,
    },
    /// A command failed. Its output has the reason.
    #[error("{command} failed: {reason}")]
    Command {
        /// The program.
        command: String,
        /// Its exit status, or the error that prevented its start.
        reason: String,
    },
    /// A file could not be read or written. Check the folder, then run again.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// The format of a saved run is not the one that this version writes. Measure again.
    #[error("{}: not a saved run of version {known}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The version this build reads and writes.
        known: u32,
        /// The difference.
        reason: String,
    },
    /// The run lacks results that the page needs. Make a complete run.
    #[error("{page} needs a complete run: {reason}")]
    Incomplete {
        /// The page.
        page: String,
        /// What is missing.
        reason: String,
    },
    /// The text or the published figures of a page have a mistake. This is a bug in the page.
    #[error("page {page}: {reason}")]
    Page {
        /// The page.
        page: String,
        /// The mistake.
        reason: String,
    },
    /// The drawing library could not draw a chart. This is a bug in the page.
    #[error("chart {name}: {reason}")]
    Chart {
        /// The chart's file name without extension.
        name: String,
        /// The error of the drawing library.
        reason: String,
    },
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
