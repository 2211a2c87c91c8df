use uuid::Uuid;

use crate::text::invalid;
use crate::{Append, AppendCondition, Command, Error, Problem};

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
    /// The maximum number of conditions per append.
    pub max_conditions_per_append: usize,
    /// The maximum number of query items in all the conditions of an append together. An item with
    /// several types counts once for each type, because each is a lookup.
    pub max_condition_items: usize,
}

impl Default for Limits {
    /// 1,000 events per append, 1 MiB per event, 64 MiB per append, 100 conditions per append, and
    /// 10,000 items in them.
    fn default() -> Self {
        Self {
            max_events_per_append: 1000,
            max_event_bytes: 1 << 20,
            max_append_bytes: 64 << 20,
            max_conditions_per_append: 100,
            max_condition_items: 10_000,
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
    /// 5. [`Error::Invalid`] with field `conditions` if there are too many conditions;
    /// 6. [`Error::Invalid`] with field `conditions.items` if their queries together have too many
    ///    items;
    /// 7. [`Error::DuplicateId`] with the first id that occurs twice.
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
        self.check_conditions(&append.conditions)?;
        match repeated_id(append) {
            Some(id) => Err(Error::DuplicateId { id }),
            None => Ok(()),
        }
    }

    fn check_count(&self, actual: usize) -> Result<(), Problem> {
        match actual {
            0 => Err(Problem::Empty),
            _ => check_number(actual, self.max_events_per_append),
        }
    }

    fn check_conditions(&self, conditions: &[AppendCondition]) -> Result<(), Error> {
        check_number(conditions.len(), self.max_conditions_per_append)
            .map_err(invalid("conditions"))?;
        let items = conditions
            .iter()
            .flat_map(|condition| condition.fail_if_events_match.items())
            .map(|item| item.types().len().max(1))
            .sum();
        check_number(items, self.max_condition_items).map_err(invalid("conditions.items"))
    }
}

fn check_number(actual: usize, max: usize) -> Result<(), Problem> {
    if actual > max {
        return Err(Problem::TooMany { max, actual });
    }
    Ok(())
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
