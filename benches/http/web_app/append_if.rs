use super::random::Random;
use super::request::{Drawn, Item, NewEvent, Request};

pub(super) const KINDS: usize = 7;

pub(super) fn make(kind: usize, random: &mut Random) -> Drawn {
    match kind {
        0 => alone("UserCreated", &["user", "tenant"], "user", random),
        1 => {
            let event = NewEvent::new("AccountOpened", &["account", "user"], random);
            Drawn::new(Request::append(vec![event]), 50)
        }
        2 => {
            let events = vec![
                NewEvent::new("OrderCreated", &["order", "customer"], random),
                NewEvent::new("ItemAdded", &["order", "item"], random),
            ];
            under_fresh(events, "OrderCreated", "order", 50, random)
        }
        // The script calls it a duplicate, but its tag is new like all others.
        3 => alone("DuplicateEvent", &["duplicate"], "duplicate", random),
        4 => {
            let events = vec![
                NewEvent::new("TransactionInitiated", &["transaction", "account"], random),
                NewEvent::new("BalanceChecked", &["account", "system"], random),
            ];
            let condition = vec![
                Item::bare(&["TransactionInitiated"], &["transaction"]),
                Item::bare(&["BalanceChecked"], &["account"]),
            ];
            Drawn::new(Request::append_if(events, condition), 50)
        }
        5 => alone(
            "ConcurrentEvent",
            &["concurrent", "test"],
            "concurrent",
            random,
        ),
        _ => {
            let event = |_| NewEvent::new("LogEntry", &["service", "level", "trace"], random);
            let events = (0..20).map(event).collect();
            under_fresh(events, "LogEntry", "service", 100, random)
        }
    }
}

/// Appends one event, under the condition that no event of its type has a tag that is new in this
/// request. The condition always holds.
fn alone(
    event_type: &'static str,
    prefixes: &[&str],
    boundary: &str,
    random: &mut Random,
) -> Drawn {
    let event = NewEvent::new(event_type, prefixes, random);
    under_fresh(vec![event], event_type, boundary, 50, random)
}

fn under_fresh(
    events: Vec<NewEvent>,
    event_type: &'static str,
    boundary: &str,
    pause_ms: u64,
    random: &mut Random,
) -> Drawn {
    let condition = vec![Item::fresh(&[event_type], &[boundary], random)];
    Drawn::new(Request::append_if(events, condition), pause_ms)
}
