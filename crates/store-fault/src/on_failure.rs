/// The way on after an event, or a message, that its handler can't handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The work stops before the event. In a sliced projection, only that of its slice: it goes on when it is
    /// resumed. The run of a message handler ends with its error, and the next run tries the message again.
    Stop,
    /// The event is recorded and skipped. A copy of a message goes to the poison stream.
    Skip,
    /// The event and all later ones of its key are recorded, to be replayed in order. Other keys go on. The key of
    /// a message is its stream.
    Park,
}
