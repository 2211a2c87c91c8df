//! Replays a log: each condition held when its events were appended.

use std::collections::{HashMap, HashSet};

use dcb_core::SequencedEvent;

use super::accounts::{ACCOUNT, MOVED};
use super::names::{CONFIRMED, NAME, TAKEN};
use super::seats::{CAPACITY, COURSE, ENROLLED, MAX_COURSES, STUDENT};

/// Asserts that no course has more students than seats, no student too many courses, no name is taken
/// twice, and each account had as many events as the caller had seen.
pub(super) fn check(log: &[SequencedEvent]) {
    let (mut seats, mut courses) = (HashMap::new(), HashMap::new());
    let (mut names, mut moves) = (HashSet::new(), HashMap::new());
    for event in log {
        match event.event_type() {
            ENROLLED => {
                assert!(count(&mut seats, event, COURSE) < CAPACITY, "{event:?}");
                assert!(
                    count(&mut courses, event, STUDENT) < MAX_COURSES,
                    "{event:?}"
                );
            }
            event_type @ (TAKEN | CONFIRMED) => {
                let name = (event_type, tag(event, NAME));
                assert!(names.insert(name), "{event:?}");
            }
            MOVED => {
                let seen: u64 = event.json().expect("the data is a count");
                let before = count(&mut moves, event, ACCOUNT);
                assert_eq!(seen, u64::from(before), "{event:?}");
            }
            _ => {}
        }
    }
}

/// The number of earlier events with the same value of a tag.
fn count<'e>(counts: &mut HashMap<&'e str, u32>, event: &'e SequencedEvent, key: &str) -> u32 {
    let count = counts.entry(tag(event, key)).or_default();
    *count += 1;
    *count - 1
}

fn tag<'e>(event: &'e SequencedEvent, key: &str) -> &'e str {
    event.tag_value(key).expect("the event has the tag")
}
