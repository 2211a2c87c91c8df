use std::sync::Arc;

use dcb_core::{Append, AppendCondition, Error, Event, EventStore as _, Projector, Query};
use uuid::Uuid;

use super::ledger::{Ledger, Sent};
use super::{Shared, pause};
use crate::sql::PATIENCE;

/// The type of the events. Their data is the number of events that their account had before.
pub(super) const MOVED: &str = "MoneyMoved";
pub(super) const ACCOUNT: &str = "account_id";
const ACCOUNTS: usize = 3;

/// Reads an account, and appends to it if it has not changed since. Every second caller repeats an
/// append whose outcome it does not know.
pub(super) async fn run(shared: Arc<Shared>, number: usize) -> Ledger {
    let mut ledger = Ledger::default();
    for round in 0.. {
        if !shared.goes_on() {
            break;
        }
        let account = format!("{}", (number + round) % ACCOUNTS);
        let answer = move_money(&shared, &account, number.is_multiple_of(2), &mut ledger).await;
        let has_failed = answer.is_err_and(|error| !matches!(error, Error::Conflict { .. }));
        pause(has_failed).await;
    }
    ledger
}

async fn move_money(
    shared: &Shared,
    account: &str,
    repeats: bool,
    ledger: &mut Ledger,
) -> Result<(), Error> {
    let moves = Query::builder().tag_pair(ACCOUNT, account).build()?;
    let counted = shared.events.project(&Projector::counter(moves)).await;
    let counted = counted.inspect_err(|error| ledger.note_failed_read(error))?;
    let event = Event::builder(MOVED).id(Uuid::now_v7());
    let event = event.tag_pair(ACCOUNT, account).json(&counted.state);
    let event = event.build()?;
    let answer = append(shared, event.clone(), counted.condition, repeats).await;
    ledger.note(shared, Sent::new([event], answer.clone()));
    answer.map(drop)
}

async fn append(
    shared: &Shared,
    event: Event,
    condition: AppendCondition,
    repeats: bool,
) -> Result<dcb_core::Appended, Error> {
    let append = Append::new(event).condition(condition);
    if repeats {
        dcb_core::append_until_known(&shared.events, append, PATIENCE).await
    } else {
        shared.events.submit(append).await
    }
}
