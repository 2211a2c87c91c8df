use std::path::PathBuf;

/// Any error of a measured operation or its set-up; ends the run.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Why a target, a saved run or a page could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two rows of a target have one id. Give one of them a `variant`.
    #[error("two rows are named {id}")]
    DuplicateRow {
        /// The id both have.
        id: String,
    },
    /// A row is asynchronous and its floor blocks, or the other way round. Write both alike.
    #[error("row {id} and its floor {floor} are not both asynchronous or both blocking")]
    MixedKinds {
        /// The row.
        id: String,
        /// The floor that differs from it.
        floor: String,
    },
    /// A goal names a floor that is none of its row's. Add the floor to the row.
    #[error("row {id} has a goal against {floor}, which is not one of its floors")]
    UnknownFloor {
        /// The row.
        id: String,
        /// The floor named.
        floor: String,
    },
    /// A set-up or a call failed. The source says what; nothing of the run is kept.
    #[error("row {id} failed: {source}")]
    Row {
        /// The row.
        id: String,
        /// What its set-up or call returned.
        source: BoxError,
    },
    /// The declaration of a target's rows failed. The source says what.
    #[error("declaring the rows of {target} failed: {source}")]
    Declaration {
        /// The bench target.
        target: String,
        /// What the declaration returned.
        source: BoxError,
    },
    /// Ctrl-C. Nothing of the target is kept; run it again.
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
    /// Two runs say nothing of each other. Measure both alike, on one machine.
    #[error("the runs can't be compared: {reason}")]
    NotComparable {
        /// What differs.
        reason: String,
    },
    /// A command that was started failed. What it wrote says why.
    #[error("{command} failed: {reason}")]
    Command {
        /// The program.
        command: String,
        /// How it ended.
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
    /// A saved run is not what this version writes. Measure again.
    #[error("{}: not a saved run of version {known}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The version this build reads and writes.
        known: u32,
        /// What differs.
        reason: String,
    },
    /// A page was asked for from a run that can't fill it. Make a complete run.
    #[error("{page} needs a complete run: {reason}")]
    Incomplete {
        /// The page.
        page: String,
        /// What is missing.
        reason: String,
    },
    /// A chart could not be drawn. The reason is the drawing library's.
    #[error("chart {name}: {reason}")]
    Chart {
        /// The chart's file name without extension.
        name: String,
        /// What the drawing library said.
        reason: String,
    },
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
