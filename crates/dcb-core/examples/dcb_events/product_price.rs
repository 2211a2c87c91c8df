//! Dynamic product prices: an order has the price that the customer saw. After a change, the old
//! price stays valid for ten minutes.
//!
//! <https://dcb.events/examples/dynamic-product-price>

use std::time::{Duration, SystemTime};

use dcb_core::{DecisionModel, Error, Event, EventStore, Projector};
use serde::{Deserialize, Serialize};

use crate::Refused;

const GRACE: Duration = Duration::from_secs(600);

#[derive(Serialize, Deserialize)]
struct Price {
    price: u32,
}

fn priced(event_type: &str, product: &str, price: u32) -> Result<Event, Error> {
    let event = Event::builder(event_type).tag_pair("product", product);
    event.json(&Price { price }).build()
}

fn product_defined(product: &str, price: u32) -> Result<Event, Error> {
    priced("ProductDefined", product, price)
}

fn price_changed(product: &str, price: u32) -> Result<Event, Error> {
    priced("ProductPriceChanged", product, price)
}

/// An order of these products, each with its price.
fn products_ordered(cart: &[(&str, u32)]) -> Result<Event, Error> {
    let order = cart
        .iter()
        .fold(Event::builder("ProductsOrdered"), |order, (product, _)| {
            order.tag_pair("product", product)
        });
    order.json(cart).build()
}

/// The prices at which the product can be ordered at the time `now`.
fn valid_prices(product: &str, now: SystemTime) -> Result<Projector<Vec<u32>>, Error> {
    Projector::builder(Vec::new())
        .on_json("ProductDefined", |valid, defined: Price| {
            valid.push(defined.price);
        })
        .try_on("ProductPriceChanged", move |valid, event| {
            let changed: Price = event.json()?;
            if event.recorded_at() + GRACE < now {
                valid.clear();
            }
            valid.push(changed.price);
            Ok(())
        })
        .tag_pair("product", product)
        .build()
}

async fn order(
    store: &(impl EventStore + Clone + 'static),
    cart: &[(&str, u32)],
    now: SystemTime,
) -> Result<(), Refused> {
    let valid = cart.iter().map(|(product, _)| valid_prices(product, now));
    // A vector of projectors is one projection: one read, one condition over all products.
    let model = DecisionModel::new(valid.collect::<Result<Vec<_>, _>>()?);
    let decided = model.decide(store, |valid| {
        let mut seen = cart.iter().zip(valid);
        match seen.all(|((_, price), valid)| valid.contains(price)) {
            true => Ok(products_ordered(cart)?),
            false => Err(Refused::Rule("a price is not valid")),
        }
    });
    decided.await.map(drop)
}

pub(crate) async fn play(store: &(impl EventStore + Clone + 'static)) -> Result<(), Refused> {
    let now = SystemTime::now();
    store
        .append([product_defined("book", 20)?, product_defined("pen", 2)?])
        .await?;
    order(store, &[("book", 20), ("pen", 2)], now).await?;
    store.append(price_changed("book", 25)?).await?;
    order(store, &[("book", 20)], now).await?;
    order(store, &[("book", 25)], now).await?;
    let late = order(store, &[("pen", 2), ("book", 20)], now + 2 * GRACE).await;
    assert_eq!(late.unwrap_err().to_string(), "a price is not valid");
    Ok(())
}

#[cfg(test)]
mod tests {
    use dcb_core::given;

    use super::*;

    #[tokio::test]
    async fn replaced_price_is_valid_for_ten_minutes() -> Result<(), Refused> {
        let now = SystemTime::now();
        let minutes_ago = |minutes: u32| now - minutes * Duration::from_secs(60);
        // 1 was replaced 20 minutes ago, 2 and 3 in the last ten.
        let changes = || {
            Ok::<_, Error>(
                given([product_defined("p", 1)?])
                    .and_at(minutes_ago(20), [price_changed("p", 2)?])
                    .and_at(minutes_ago(9), [price_changed("p", 3)?])
                    .and_at(minutes_ago(1), [price_changed("p", 4)?]),
            )
        };
        for (price, is_valid) in [(1, false), (2, true), (3, true), (4, true), (5, false)] {
            let cart = [("p", price)];
            let ordered = changes()?
                .when(async |store: &_| order(store, &cart, now).await)
                .await;
            if is_valid {
                ordered.then(products_ordered(&cart)?);
            } else {
                assert_eq!(ordered.then_refused().to_string(), "a price is not valid");
            }
        }
        Ok(())
    }
}
