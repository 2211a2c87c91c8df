use std::sync::Arc;
use std::sync::atomic::Ordering;

use dcb_core::{AppendCondition, Error, Event, EventStore as _};
use uuid::Uuid;

use super::ledger::{Ledger, Sent};
use super::{CALLERS, Shared, pause};

pub(super) const TAKEN: &str = "NameTaken";
pub(super) const CONFIRMED: &str = "NameConfirmed";
pub(super) const NAME: &str = "name";

/// Takes names that are free. Each name is wanted by several callers.
pub(super) async fn run(shared: Arc<Shared>) -> Ledger {
    let mut ledger = Ledger::default();
    while shared.goes_on() {
        let name = shared.names.fetch_add(1, Ordering::SeqCst) / (CALLERS as u64 - 1);
        let events = [TAKEN, CONFIRMED].map(|event_type| event(event_type, name));
        let free = AppendCondition::fail_if_exists(NAME, name).expect("a name is a tag");
        let answer = shared.events.append_if(events.clone(), free).await;
        let has_failed = matches!(&answer, Err(error) if !matches!(error, Error::Conflict { .. }));
        ledger.note(&shared, Sent::new(events, answer));
        pause(has_failed).await;
    }
    ledger
}

fn event(event_type: &str, name: u64) -> Event {
    let event = Event::builder(event_type).id(Uuid::now_v7());
    event
        .tag_pair(NAME, name)
        .build()
        .expect("the event is valid")
}
