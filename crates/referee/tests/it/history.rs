//! Findings about histories that are written down by hand.

use peer_protocol::{
    Call, Condition, Draft, Entry, History, Outcome, Place, Promise, QueryItem, Step,
};
use referee::{Finding, check};
use uuid::Uuid;

fn id(event: u64) -> Uuid {
    Uuid::from_u128(event.into())
}

fn entry(position: u64, event: u64) -> Entry {
    Entry {
        place: Place {
            position,
            id: Some(id(event)),
        },
        event_type: "Paid".to_owned(),
        tags: vec!["order:1".to_owned()],
    }
}

fn append(begun: u64, event: u64, after: Option<u64>, outcome: Outcome) -> Step {
    let condition = after.map(|after| Condition {
        items: vec![QueryItem::tag("order:1".to_owned())],
        after: Some(after),
    });
    Step {
        caller: 0,
        begun,
        ended: begun + 1,
        call: Call::Append {
            events: vec![Draft {
                id: id(event),
                event_type: "Paid".to_owned(),
                tags: vec!["order:1".to_owned()],
            }],
            condition,
            outcome,
        },
    }
}

fn findings(steps: Vec<Step>, log: Vec<Entry>) -> Vec<Finding> {
    let followed = log.iter().map(|entry| entry.place).collect();
    let history = History {
        start: 0,
        steps,
        followed: vec![followed],
        log,
    };
    check(&history, &Promise::ALL)
}

#[test]
fn two_appends_on_one_state_are_one_too_many() {
    let steps = vec![
        append(0, 1, Some(0), Outcome::Appended(1)),
        append(0, 2, Some(0), Outcome::Appended(2)),
    ];
    let accepted = Finding::Accepted {
        position: 2,
        violating: 1,
        after: 0,
    };
    assert_eq!(findings(steps, vec![entry(1, 1), entry(2, 2)]), [accepted]);
}

#[test]
fn append_of_an_unknown_outcome_may_be_stored_or_not() {
    let unknown = || Outcome::Unknown("the connection broke".to_owned());
    assert_eq!(
        findings(vec![append(0, 1, Some(0), unknown())], vec![entry(1, 1)]),
        []
    );
    assert_eq!(
        findings(vec![append(0, 1, Some(0), unknown())], Vec::new()),
        []
    );
}

#[test]
fn append_that_ended_first_has_the_smaller_position() {
    let steps = vec![
        append(0, 1, None, Outcome::Appended(2)),
        append(5, 2, None, Outcome::Appended(1)),
    ];
    let swapped = Finding::OutOfOrder {
        earlier: 1,
        later: 2,
    };
    assert_eq!(findings(steps, vec![entry(1, 2), entry(2, 1)]), [swapped]);
}

#[test]
fn conflict_needs_an_event_that_began_before_it_ended() {
    let steps = vec![
        append(0, 1, Some(0), Outcome::Conflict),
        append(5, 2, None, Outcome::Appended(1)),
    ];
    let refused = Finding::Refused {
        caller: 0,
        ended: 1,
        after: 0,
    };
    assert_eq!(findings(steps, vec![entry(1, 2)]), [refused]);
}

#[test]
fn lost_event_and_phantom_are_both_named() {
    let steps = vec![append(0, 1, None, Outcome::Appended(1))];
    let lost = Finding::Lost {
        id: id(1),
        position: 1,
    };
    let unasked = Finding::Unasked { position: 1 };
    assert_eq!(findings(steps, vec![entry(1, 9)]), [unasked, lost]);
}
