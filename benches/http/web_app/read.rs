use super::random::Random;
use super::request::{Drawn, Found, Item, Request};

pub(super) const KINDS: usize = 8;

pub(super) fn make(kind: usize, random: &mut Random) -> Drawn {
    match kind {
        0 => fresh(&["UserCreated"], &["user"], 20, random),
        1 => {
            let types = ["UserCreated", "AccountOpened", "TransactionInitiated"];
            fresh(&types, &["user", "account"], 50, random)
        }
        2 => nothing(
            vec![
                Item::bare(&["UserCreated", "UserUpdated"], &["user"]),
                Item::bare(&["AccountOpened", "AccountClosed"], &["account"]),
            ],
            50,
        ),
        3 => {
            let types = ["LogEntry", "SensorReading", "AuditLog"];
            fresh(&types, &["service", "sensor", "audit"], 20, random)
        }
        4 => fresh(&["OrderCreated", "OrderCompleted"], &["order"], 20, random),
        5 => nothing(
            vec![
                Item::bare(&["UserCreated"], &["user"]),
                Item::bare(
                    &["TransactionInitiated", "TransactionCompleted"],
                    &["transaction"],
                ),
                Item::bare(&["NotificationSent"], &["notification"]),
            ],
            20,
        ),
        6 => Drawn::new(
            Request::Read {
                items: Vec::new(),
                found: Found::Everything,
            },
            20,
        ),
        _ => nothing(
            vec![Item::bare(
                &["LogEntry"],
                &["service", "level", "environment"],
            )],
            50,
        ),
    }
}

fn fresh(types: &[&'static str], prefixes: &[&str], pause_ms: u64, random: &mut Random) -> Drawn {
    nothing(vec![Item::fresh(types, prefixes, random)], pause_ms)
}

fn nothing(items: Vec<Item>, pause_ms: u64) -> Drawn {
    let found = Found::Nothing;
    Drawn::new(Request::Read { items, found }, pause_ms)
}
