use super::random::Random;
use super::request::{Drawn, Item, Projector, Request};
use serde_json::json;

pub(super) const KINDS: usize = 6;

pub(super) fn make(kind: usize, random: &mut Random) -> Drawn {
    let mut fresh = |name: &str, types: &[&'static str], prefixes: &[&str]| {
        let item = Item::fresh(types, prefixes, random);
        Projector::new(name, item, random)
    };
    let all = |projectors, pause_ms| {
        let request = Request::Project {
            projectors,
            after: None,
        };
        Drawn::new(request, pause_ms)
    };
    match kind {
        0 => {
            let types = ["UserCreated", "AccountOpened"];
            all(vec![fresh("counter", &types, &["user", "tenant"])], 50)
        }
        1 => {
            let projectors = vec![
                fresh("counter", &["UserCreated"], &["user"]),
                fresh("sum", &["TransactionInitiated"], &["account"]),
            ];
            all(projectors, 100)
        }
        2 => {
            let projector = Projector {
                id: random.id("complex"),
                items: vec![
                    Item::bare(&["UserCreated", "AccountOpened"], &["user"]),
                    Item::bare(&["TransactionInitiated", "BalanceChecked"], &["account"]),
                ],
                initial_state: json!({ "users": 0, "accounts": 0, "transactions": 0 }),
            };
            all(vec![projector], 100)
        }
        3 => {
            let request = Request::Project {
                projectors: vec![fresh("cursor", &["LogEntry"], &["service"])],
                after: Some(1_000),
            };
            Drawn::new(request, 50)
        }
        4 => {
            let types = ["SensorReading", "LogEntry"];
            all(vec![fresh("highfreq", &types, &["sensor", "service"])], 50)
        }
        _ => {
            let projectors = vec![
                fresh("user", &["UserCreated", "UserUpdated"], &["user"]),
                fresh("order", &["OrderCreated", "OrderCompleted"], &["order"]),
                fresh(
                    "transaction",
                    &["TransactionInitiated", "TransactionCompleted"],
                    &["transaction"],
                ),
            ];
            all(projectors, 100)
        }
    }
}
