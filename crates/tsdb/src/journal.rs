/// Identifies a series from its begin to its end. A series that ends and begins again gets a new id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SeriesId(pub(crate) u64);

/// The work that the log asks a writer to do after it has released its locks. A write with several
/// demands does the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlushDemand(pub(crate) u64);
