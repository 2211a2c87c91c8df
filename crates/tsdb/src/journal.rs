/// A series for as long as it lives, in this process. A series that ends and begins again has
/// another id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SeriesId(pub(crate) u64);

/// What the log asks of a writer once the locks are gone. Of several the greatest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(pub(crate) u64);
