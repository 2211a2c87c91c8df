use crate::{OnFailure, SubscribeOptions};

/// The options of a [`SlicedRunner`](crate::SlicedRunner).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SliceOptions {
    /// The number of slices of a projection that does not exist yet, from 1; an existing one keeps its
    /// number. It bounds the number of members and workers that can share the work. Default: 64.
    pub slices: u32,
    /// The number of workers of this member, each with a connection. Default: 1.
    pub workers: usize,
    /// The reads of the log. [`SubscribeOptions::batch_size`] also limits the events of a transaction.
    pub read: SubscribeOptions,
    /// The way on if a handler fails. Default: [`OnFailure::Stop`].
    pub on_failure: OnFailure,
    /// The number of times that a handler tries an event before it has failed, from 1. Default: 3.
    pub tries: u32,
    /// The events that the member applies in a second at most, for a rebuild that leaves the server to
    /// others. Default: no limit.
    pub events_per_second: Option<u32>,
}

impl SliceOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self {
            slices: 64,
            workers: 1,
            read: SubscribeOptions::new(),
            on_failure: OnFailure::Stop,
            tries: 3,
            events_per_second: None,
        }
    }

    /// Sets the number of slices of a new projection.
    #[must_use]
    pub fn slices(mut self, slices: u32) -> Self {
        self.slices = slices;
        self
    }

    /// Sets the number of workers.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Sets the options of reads.
    #[must_use]
    pub fn read(mut self, read: SubscribeOptions) -> Self {
        self.read = read;
        self
    }

    /// Sets the way on if a handler fails.
    #[must_use]
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = on_failure;
        self
    }

    /// Sets the number of tries.
    #[must_use]
    pub fn tries(mut self, tries: u32) -> Self {
        self.tries = tries;
        self
    }

    /// Limits the events of a second.
    #[must_use]
    pub fn events_per_second(mut self, events: u32) -> Self {
        self.events_per_second = Some(events);
        self
    }
}

impl Default for SliceOptions {
    fn default() -> Self {
        Self::new()
    }
}
