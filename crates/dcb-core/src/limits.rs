use uuid::Uuid;

use crate::text::invalid;
use crate::{Append, Command, Error, Problem};

/// The size limits of an append. A store checks them before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of events per append.
    pub max_events_per_append: usize,
    /// The maximum size of an event or a command in bytes, counted like
    /// [`Event::size_bytes`](crate::Event::size_bytes).
    pub max_event_bytes: usize,
    /// The maximum total size of the events of an append, in bytes.
    pub max_append_bytes: usize,
}

impl Default for Limits {
    /// 1,000 events per append, 1 MiB per event, 64 MiB per append.
    fn default() -> Self {
        Self {
            max_events_per_append: 1000,
            max_event_bytes: 1 << 20,
            max_append_bytes: 64 << 20,
        }
    }
}

impl Limits {
    /// Runs all checks of an append that don't need the log. Only implementations of stores need
    /// this.
    ///
    /// # Errors
    /// The first of these:
    /// 1. [`Error::Invalid`] with field `events` if there are no events or too many;
    /// 2. [`Error::Invalid`] with field `events[i]` for the first event that is too large;
    /// 3. [`Error::Invalid`] with field `events` if the events together are too large;
    /// 4. [`Error::Invalid`] with field `command` if the command is larger than an event may be;
    /// 5. [`Error::DuplicateId`] with the first id that occurs twice.
    pub fn check(&self, append: &Append) -> Result<(), Error> {
        self.check_count(append.events.len())
            .map_err(invalid("events"))?;
        let mut append_bytes = 0;
        // Check each event before the total size, so that the error can name the event.
        for (index, event) in append.events.iter().enumerate() {
            let event_bytes = event.size_bytes();
            check_size(event_bytes, self.max_event_bytes)
                .map_err(|problem| invalid(format!("events[{index}]"))(problem))?;
            append_bytes += event_bytes;
        }
        check_size(append_bytes, self.max_append_bytes).map_err(invalid("events"))?;
        let command_bytes = append.command.as_ref().map_or(0, Command::size_bytes);
        check_size(command_bytes, self.max_event_bytes).map_err(invalid("command"))?;
        match repeated_id(append) {
            Some(id) => Err(Error::DuplicateId { id }),
            None => Ok(()),
        }
    }

    fn check_count(&self, actual: usize) -> Result<(), Problem> {
        let max = self.max_events_per_append;
        match actual {
            0 => Err(Problem::Empty),
            _ if actual > max => Err(Problem::TooMany { max, actual }),
            _ => Ok(()),
        }
    }
}

fn check_size(actual: usize, max: usize) -> Result<(), Problem> {
    if actual > max {
        return Err(Problem::TooLarge {
            max: max as u64,
            actual: actual as u64,
        });
    }
    Ok(())
}

/// The first id that occurs more than once in the append.
fn repeated_id(append: &Append) -> Option<Uuid> {
    if append.events.len() < 2 {
        return None;
    }
    let given = || append.events.iter().filter_map(|event| event.id());
    let mut sorted: Vec<Uuid> = given().collect();
    sorted.sort_unstable();
    let mut repeated = sorted
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .map(|pair| pair[0]);
    let first = repeated.next()?;
    // The quadratic search for the earliest repeated id only runs if there is a repeated id.
    let repeated: Vec<Uuid> = std::iter::once(first).chain(repeated).collect();
    given().find(|id| repeated.contains(id))
}
