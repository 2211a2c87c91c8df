use super::content::{EntryError, invalid};
use crate::{
    Append, Command, Error, Event, EventStore, Limits, Position, Tracking, append_missing,
};

/// The options of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportOptions {
    /// The maximum number of events per commit. It must not exceed the store's limits. Default: 500.
    pub batch_events: usize,
    /// The maximum size of the events of a commit, in bytes. A larger event is committed alone.
    /// Default: 4 MiB.
    pub batch_bytes: usize,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            batch_events: Limits::default().max_events_per_append / 2,
            batch_bytes: 4 << 20,
        }
    }
}

impl ImportOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of events per commit.
    #[must_use]
    pub fn batch_events(mut self, batch_events: usize) -> Self {
        self.batch_events = batch_events;
        self
    }
}

/// Events that one append must store: those of a command, or a single one.
struct Unit {
    /// The number of the first line.
    line: u64,
    events: Vec<Event>,
    command: Option<Command>,
    /// Events of the command that are still to come.
    missing: usize,
}

/// The lines that are not stored yet.
pub(super) struct Batch {
    options: ImportOptions,
    units: Vec<Unit>,
    events: usize,
    bytes: usize,
    /// Positions to track, with their lines. Each needs an append, so the last units are kept back.
    tracked: Vec<(u64, Tracking)>,
    /// The head before the import. Events up to it were stored by others.
    head: Option<Position>,
}

impl Batch {
    pub(super) fn new(options: ImportOptions, head: Option<Position>) -> Self {
        Self {
            options,
            units: Vec::new(),
            events: 0,
            bytes: 0,
            tracked: Vec::new(),
            head,
        }
    }

    /// Adds a position to track at the end, unless the store tracks it, or a later one.
    pub(super) async fn track(
        &mut self,
        store: &impl EventStore,
        line: u64,
        tracking: Tracking,
    ) -> Result<(), Error> {
        if store.tracked(tracking.source()).await? < Some(tracking.position()) {
            self.tracked.push((line, tracking));
        }
        Ok(())
    }

    pub(super) fn is_full_for(&self, event: &Event) -> bool {
        // An empty batch is never full, so that an event above the size limit is committed alone.
        let can_be_sent = self.units.len() > self.tracked.len() && self.missing() == 0;
        can_be_sent
            && (self.events >= self.options.batch_events
                || self.bytes + event.size_bytes() > self.options.batch_bytes)
    }

    /// The number of events that belong to the command of the last unit and have not come.
    fn missing(&self) -> usize {
        self.units.last().map_or(0, |unit| unit.missing)
    }

    /// Adds an event, with its command and the number of the command's events.
    pub(super) fn push(
        &mut self,
        line: u64,
        event: Event,
        command: Option<(Command, usize)>,
    ) -> Result<(), EntryError> {
        self.events += 1;
        self.bytes += event.size_bytes();
        match self.units.last_mut().filter(|unit| unit.missing > 0) {
            Some(_) if command.is_some() => {
                return Err("the event belongs to the command of an earlier line".into());
            }
            Some(unit) => {
                unit.events.push(event);
                unit.missing -= 1;
            }
            None => {
                let (command, events) = command.unzip();
                self.units.push(Unit {
                    line,
                    events: vec![event],
                    command,
                    missing: events.map_or(0, |events| events.saturating_sub(1)),
                });
            }
        }
        Ok(())
    }

    /// Appends all units, except the last ones if positions are to be tracked with them. Returns the
    /// number of their events.
    pub(super) async fn append(&mut self, store: &impl EventStore) -> Result<u64, Error> {
        let kept = self.units.len().saturating_sub(self.tracked.len());
        let rest = self.units.split_off(kept);
        let units = std::mem::replace(&mut self.units, rest);
        self.events = self.units.iter().map(|unit| unit.events.len()).sum();
        self.bytes = 0;
        let mut appended = 0;
        let mut plain = Vec::new();
        for unit in units {
            appended += unit.events.len() as u64;
            if unit.command.is_none() {
                plain.extend(unit.events);
                continue;
            }
            append_missing(store, std::mem::take(&mut plain)).await?;
            self.append_unit(store, unit, None).await?;
        }
        append_missing(store, plain).await?;
        Ok(appended)
    }

    /// Appends the rest, with the positions to track.
    pub(super) async fn end(&mut self, store: &impl EventStore) -> Result<u64, Error> {
        if let Some(unit) = self.units.last().filter(|unit| unit.missing > 0) {
            let reason = format!("{} events of its command are missing", unit.missing);
            return Err(invalid(unit.line, reason.into()));
        }
        let mut appended = self.append(store).await?;
        let tracked = std::mem::take(&mut self.tracked);
        let mut positions = tracked.iter();
        for unit in std::mem::take(&mut self.units) {
            appended += unit.events.len() as u64;
            let tracking = positions.next().map(|(_, tracking)| tracking.clone());
            self.append_unit(store, unit, tracking).await?;
        }
        for (line, tracking) in tracked {
            // Events that the store had before are not appended, and then nothing is tracked.
            if store.tracked(tracking.source()).await? < Some(tracking.position()) {
                let reason = "no new event is left with which the position could be tracked";
                return Err(invalid(line, reason.into()));
            }
        }
        Ok(appended)
    }

    async fn append_unit(
        &self,
        store: &impl EventStore,
        unit: Unit,
        tracking: Option<Tracking>,
    ) -> Result<(), Error> {
        let mut append = Append::new(unit.events);
        append.tracking = tracking;
        append.command.clone_from(&unit.command);
        let first = store.submit(append).await?.first();
        let Some(command) = unit.command.filter(|_| Some(first) <= self.head) else {
            return Ok(());
        };
        // The store had the events before the import.
        let before = Position::new(first.get() - 1);
        let stored = store.commands(before, 1).await?.pop();
        match stored.filter(|stored| stored.position() == first && *stored.command() == command) {
            Some(_) => Ok(()),
            None => {
                let reason = "the store has the events already, without this command";
                Err(invalid(unit.line, reason.into()))
            }
        }
    }
}
