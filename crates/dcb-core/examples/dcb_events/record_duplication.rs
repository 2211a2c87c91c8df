//! No duplicate records: a form that is sent twice places one order. The client makes a token, and
//! the append fails if an order has it. That needs no state, so there is no read.
//!
//! If the server makes the order, it can instead give the event an id
//! ([`EventBuilder::id`](dcb_core::EventBuilder::id)): appending the same id again is not an error.
//!
//! <https://dcb.events/examples/prevent-record-duplication>

use dcb_core::{AppendCondition, Error, Event, EventStore};

use crate::Refused;

fn order_placed(order: &str, token: &str) -> Result<Event, Error> {
    let event = Event::builder("OrderPlaced").tag_pair("order", order);
    event.tag_pair("idempotency", token).build()
}

async fn place_order(
    store: &(impl EventStore + Clone + 'static),
    order: &str,
    token: &str,
) -> Result<(), Refused> {
    let unused = AppendCondition::fail_if_exists("idempotency", token)?;
    match store.append_if(order_placed(order, token)?, unused).await {
        Err(Error::Conflict { .. }) => Err(Refused::Rule("the form was sent before")),
        placed => Ok(placed.map(drop)?),
    }
}

pub(crate) async fn play(store: &(impl EventStore + Clone + 'static)) -> Result<(), Refused> {
    place_order(store, "o1", "11111").await?;
    let again = place_order(store, "o2", "11111").await;
    assert_eq!(again.unwrap_err().to_string(), "the form was sent before");
    place_order(store, "o2", "22222").await
}

#[cfg(test)]
mod tests {
    use dcb_core::given;

    use super::*;

    #[tokio::test]
    async fn order_is_placed_once_per_token() -> Result<(), Refused> {
        let place = async |store: &_| place_order(store, "o2", "11111").await;
        let other = given([order_placed("o1", "22222")?]).when(place).await;
        other.then(order_placed("o2", "11111")?);
        let same = given([order_placed("o1", "11111")?]).when(place).await;
        assert_eq!(same.then_refused().to_string(), "the form was sent before");
        Ok(())
    }
}
