//! Appends against the log.

use crate::Finding;
use crate::index::Index;
use peer_protocol::{Call, Condition, Draft, Entry, Outcome, Step};
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

/// All appends of the same events: the first one and its repeats.
struct Append<'a> {
    events: &'a [Draft],
    condition: Option<&'a Condition>,
    /// When the first of them began.
    begun: u64,
    /// When the first of them was acknowledged.
    acknowledged: Option<u64>,
    /// The positions that the store answered.
    answers: Vec<u64>,
    /// Whether one of them may be in the log.
    may_be_stored: bool,
    /// The position of each event in the log.
    places: Vec<Option<u64>>,
}

pub(crate) struct Appends<'a> {
    appends: Vec<Append<'a>>,
    /// The append of each event.
    by_event: HashMap<Uuid, usize>,
}

impl<'a> Appends<'a> {
    pub(crate) fn new(steps: &'a [Step], index: &Index) -> Self {
        let mut this = Self {
            appends: Vec::new(),
            by_event: HashMap::new(),
        };
        for step in steps {
            let Call::Append {
                events,
                condition,
                outcome,
            } = &step.call
            else {
                continue;
            };
            let Some(first) = events.first() else {
                continue;
            };
            let next = this.appends.len();
            let number = *this.by_event.entry(first.id).or_insert(next);
            if number == next {
                this.by_event
                    .extend(events.iter().map(|event| (event.id, next)));
                this.appends.push(Append {
                    events,
                    condition: condition.as_ref(),
                    begun: step.begun,
                    acknowledged: None,
                    answers: Vec::new(),
                    may_be_stored: false,
                    places: events.iter().map(|event| index.place(event.id)).collect(),
                });
            }
            this.appends[number].count(step, outcome);
        }
        this
    }

    /// Events of the log that no append had, or whose appends were all refused.
    pub(crate) fn unasked(&self, log: &[Entry]) -> Vec<Finding> {
        let is_asked = |entry: &&Entry| {
            let number = entry.place.id.and_then(|id| self.by_event.get(&id));
            number.is_some_and(|number| {
                let append = &self.appends[*number];
                let mut events = append.events.iter();
                let draft = events.find(|event| Some(event.id) == entry.place.id);
                append.may_be_stored && draft.is_some_and(|draft| is_as_drafted(entry, draft))
            })
        };
        let unasked = log.iter().filter(|entry| !is_asked(entry));
        let finding = |entry: &Entry| Finding::Unasked {
            position: entry.place.position,
        };
        unasked.map(finding).collect()
    }

    /// Acknowledged events that are not at their positions.
    pub(crate) fn acknowledged(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for append in &self.appends {
            let last = append.events.last().zip(append.places.last());
            let Some((event, place)) = last else {
                continue;
            };
            let wrong = append
                .answers
                .iter()
                .find(|answer| Some(**answer) != *place);
            findings.extend(wrong.map(|position| Finding::Lost {
                id: event.id,
                position: *position,
            }));
        }
        findings
    }

    /// Appends with only a part of their events in the log, or with other events between them. In a log
    /// whose positions have gaps, only the order of the events is known.
    pub(crate) fn torn(&self, is_dense: bool) -> Vec<Finding> {
        let is_torn = |append: &&Append<'_>| {
            let stored = append.places.iter().flatten().count();
            let mut pairs = append.places.windows(2);
            stored != 0
                && (stored != append.places.len()
                    || pairs.any(|pair| match is_dense {
                        true => pair[1] != pair[0].map(|place| place + 1),
                        false => pair[1] <= pair[0],
                    }))
        };
        let torn = self.appends.iter().filter(is_torn);
        let finding = |append: &Append<'_>| Finding::Torn {
            id: append.events[0].id,
        };
        torn.map(finding).collect()
    }

    /// Appends in the log whose condition was false at their position.
    pub(crate) fn accepted(&self, index: &Index) -> Vec<Finding> {
        let mut findings = Vec::new();
        for append in &self.appends {
            let Some((condition, position)) = append.condition.zip(append.places[0]) else {
                continue;
            };
            let after = condition.after.unwrap_or(0);
            let violating = index.first_after(&condition.items, after);
            let violating = violating.filter(|violating| *violating < position);
            findings.extend(violating.map(|violating| Finding::Accepted {
                position,
                violating,
                after,
            }));
        }
        findings
    }

    /// Appends that ended before another began, and have the greater position. Going down the log, the
    /// earliest end of all appends with greater positions is enough to know.
    pub(crate) fn out_of_order(&self) -> Vec<Finding> {
        let stored = self
            .appends
            .iter()
            .filter_map(|append| Some((append.places[0]?, append)));
        let mut stored: Vec<_> = stored.collect();
        stored.sort_unstable_by_key(|(place, _)| std::cmp::Reverse(*place));
        let (mut findings, mut earliest) = (Vec::new(), (u64::MAX, 0));
        for (place, append) in stored {
            if earliest.0 < append.begun {
                findings.push(Finding::OutOfOrder {
                    earlier: place,
                    later: earliest.1,
                });
            }
            earliest = earliest.min((append.acknowledged.unwrap_or(u64::MAX), place));
        }
        findings
    }

    /// Refused appends without a matching event that may have been in the log by then. The first match
    /// decides: if a later one was in the log, so was the first.
    pub(crate) fn refused(&self, steps: &[Step], index: &Index) -> Vec<Finding> {
        let mut findings = Vec::new();
        let begun: HashMap<u64, u64> = self.begun_by_position();
        for step in steps {
            let Call::Append {
                condition,
                outcome: Outcome::Conflict,
                ..
            } = &step.call
            else {
                continue;
            };
            let items = condition
                .as_ref()
                .map_or(&[][..], |condition| &condition.items);
            let after = condition
                .as_ref()
                .and_then(|condition| condition.after)
                .unwrap_or(0);
            let matching = index.first_after(items, after);
            let is_right = matching.is_some_and(|position| {
                begun.get(&position).is_none_or(|begun| *begun < step.ended)
            });
            if !is_right {
                findings.push(Finding::Refused {
                    caller: step.caller,
                    ended: step.ended,
                    after,
                });
            }
        }
        findings
    }

    /// The greatest position that was acknowledged up to each tick, in the order of ticks.
    pub(crate) fn acknowledged_by_tick(&self) -> Vec<(u64, u64)> {
        let ends = self.appends.iter().filter_map(|append| {
            let place = append.places.iter().flatten().max()?;
            Some((append.acknowledged?, *place))
        });
        let mut ends: Vec<_> = ends.collect();
        ends.sort_unstable();
        let mut greatest = 0;
        for (_, place) in &mut ends {
            greatest = greatest.max(*place);
            *place = greatest;
        }
        ends
    }

    fn begun_by_position(&self) -> HashMap<u64, u64> {
        let places = self.appends.iter().flat_map(|append| {
            let places = append.places.iter().flatten();
            places.map(|place| (*place, append.begun))
        });
        places.collect()
    }
}

impl Append<'_> {
    fn count(&mut self, step: &Step, outcome: &Outcome) {
        self.begun = self.begun.min(step.begun);
        match outcome {
            Outcome::Appended(position) => {
                self.answers.push(*position);
                let earliest = self.acknowledged.unwrap_or(u64::MAX).min(step.ended);
                self.acknowledged = Some(earliest);
                self.may_be_stored = true;
            }
            Outcome::Unknown(_) => self.may_be_stored = true,
            Outcome::Conflict => {}
        }
    }
}

/// Whether the store kept the type and the tags. Tags are a set.
fn is_as_drafted(entry: &Entry, draft: &Draft) -> bool {
    let stored: HashSet<&String> = entry.tags.iter().collect();
    let drafted: HashSet<&String> = draft.tags.iter().collect();
    entry.event_type == draft.event_type && stored == drafted
}
