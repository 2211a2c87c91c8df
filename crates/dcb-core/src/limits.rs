use uuid::Uuid;

use crate::text::invalid;
use crate::{Append, Command, Error, Problem};

/// How large an append may be. What exceeds a limit is refused before anything else is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most events of one append.
    pub max_events_per_append: usize,
    /// The most bytes of one event, as [`Event::size_bytes`](crate::Event::size_bytes) counts them;
    /// and of a command.
    pub max_event_bytes: usize,
    /// The most bytes of all events of one append.
    pub max_append_bytes: usize,
}

impl Default for Limits {
    /// 1,000 events, 1 MiB an event, 64 MiB an append.
    fn default() -> Self {
        Self {
            max_events_per_append: 1000,
            max_event_bytes: 1 << 20,
            max_append_bytes: 64 << 20,
        }
    }
}

impl Limits {
    /// Checks all that can be told of an append without looking at the log. For stores.
    ///
    /// # Errors
    /// In this order: [`Error::Invalid`] with field `events` where there are none or too many, with
    /// field `events[i]` of the first that is too large, with field `events` where they are too large
    /// together, with field `command` where that is larger than an event may be;
    /// [`Error::DuplicateEventId`] with the first
    /// id that is in the append twice.
    pub fn check(&self, append: &Append) -> Result<(), Error> {
        self.check_count(append.events.len())
            .map_err(invalid("events"))?;
        let mut append_bytes = 0;
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
            Some(id) => Err(Error::DuplicateEventId { id }),
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

/// The first id of the append that occurs in it again.
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
    let some = repeated.next()?;
    // Which of several comes first is asked only where there is one at all.
    let repeated: Vec<Uuid> = std::iter::once(some).chain(repeated).collect();
    given().find(|id| repeated.contains(id))
}
