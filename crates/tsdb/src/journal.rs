/// Identifies a series from its beginning to its end. A series that ends and begins again gets a
/// new id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SeriesId(pub(crate) u64);

/// The flush that the log demands of a writer after the writer has released its locks. A write with several
/// demands meets only the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlushDemand(pub(crate) u64);
