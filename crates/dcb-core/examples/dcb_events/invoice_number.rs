//! Invoice numbers: 1, 2, 3 and so on, without gaps. The last invoice tells the next number, so one
//! event is read, however many invoices there are.
//!
//! <https://dcb.events/examples/invoice-number>

use dcb_core::{DecisionModel, Error, Event, EventStore, Projector};
use serde::{Deserialize, Serialize};

use crate::Refused;

#[derive(Serialize, Deserialize)]
struct InvoiceCreated {
    number: u64,
    amount: u32,
}

fn invoice_created(number: u64, amount: u32) -> Result<Event, Error> {
    let event = Event::builder("InvoiceCreated").tag_pair("invoice", number);
    event.json(&InvoiceCreated { number, amount }).build()
}

fn next_number() -> Result<Projector<u64>, Error> {
    Projector::builder(1)
        .on_json("InvoiceCreated", |next, last: InvoiceCreated| {
            *next = last.number + 1;
        })
        .last_only()
        .build()
}

/// Returns the number of the invoice. Of callers that read the same last invoice, one succeeds; the
/// others read again.
async fn create_invoice(
    store: &(impl EventStore + Clone + 'static),
    amount: u32,
) -> Result<u64, Error> {
    let mut number = 0;
    // Every invoice conflicts with every other, so a caller among many retries often.
    let model = DecisionModel::new(next_number()?).max_attempts(1000);
    let decided = model.decide(store, |next| {
        number = next;
        invoice_created(next, amount)
    });
    decided.await?;
    Ok(number)
}

pub(crate) async fn play(store: &(impl EventStore + Clone + 'static)) -> Result<(), Refused> {
    assert_eq!(create_invoice(store, 100).await?, 1);
    assert_eq!(create_invoice(store, 200).await?, 2);
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use dcb_core::given;

    use super::*;

    /// Twenty callers at once, after [`play`].
    pub(crate) async fn race<S>(store: &S) -> Result<(), Refused>
    where
        S: EventStore + Clone + 'static,
    {
        let mut callers = tokio::task::JoinSet::new();
        for amount in 0..20 {
            let store = store.clone();
            callers.spawn(async move { create_invoice(&store, amount).await });
        }
        let numbers = callers.join_all().await.into_iter();
        let mut numbers = numbers.collect::<Result<Vec<_>, Error>>()?;
        numbers.sort_unstable();
        assert_eq!(numbers, (3..=22).collect::<Vec<_>>());
        Ok(())
    }

    #[tokio::test]
    async fn numbers_begin_at_one_and_follow_the_last() -> Result<(), Error> {
        let create = async |store: &_| create_invoice(store, 5).await;
        given([]).when(create).await.then(invoice_created(1, 5)?);
        let seven = [invoice_created(6, 1)?, invoice_created(7, 1)?];
        given(seven).when(create).await.then(invoice_created(8, 5)?);
        Ok(())
    }
}
