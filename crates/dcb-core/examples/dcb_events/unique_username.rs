//! Unique usernames: a name belongs to one account. Another may take it three days after its account
//! was closed or renamed.
//!
//! <https://dcb.events/examples/unique-username>

use std::time::{Duration, SystemTime};

use dcb_core::{DecisionModel, Error, Event, EventStore, Projector, SequencedEvent};
use serde::{Deserialize, Serialize};

use crate::Refused;

const RETENTION: Duration = Duration::from_secs(3 * 24 * 3600);

#[derive(Serialize, Deserialize)]
struct UsernameChanged {
    new_name: String,
}

fn account_registered(name: &str) -> Result<Event, Error> {
    Event::builder("AccountRegistered")
        .tag_pair("username", name)
        .build()
}

fn account_closed(name: &str) -> Result<Event, Error> {
    Event::builder("AccountClosed")
        .tag_pair("username", name)
        .build()
}

fn username_changed(old: &str, new: &str) -> Result<Event, Error> {
    let event = Event::builder("UsernameChanged").tag_pair("username", old);
    let new_name = new.to_owned();
    let event = event.tag_pair("username", new);
    event.json(&UsernameChanged { new_name }).build()
}

/// Whether the name can't be taken at the time `now`.
fn is_claimed(name: &str, now: SystemTime) -> Result<Projector<bool>, Error> {
    let is_retained = move |event: &SequencedEvent| event.recorded_at() + RETENTION > now;
    let this = name.to_owned();
    Projector::builder(false)
        .on("AccountRegistered", |claimed, _| *claimed = true)
        .on("AccountClosed", move |claimed, event| {
            *claimed = is_retained(event);
        })
        .try_on("UsernameChanged", move |claimed, event| {
            let change: UsernameChanged = event.json()?;
            *claimed = change.new_name == this || is_retained(event);
            Ok(())
        })
        .tag_pair("username", name)
        .build()
}

/// Appends the event if the name is free.
async fn claim(
    store: &(impl EventStore + Clone + 'static),
    name: &str,
    now: SystemTime,
    event: Event,
) -> Result<(), Refused> {
    let model = DecisionModel::new(is_claimed(name, now)?);
    let decided = model.decide(store, |is_claimed| match is_claimed {
        true => Err(Refused::Rule("the username is claimed")),
        false => Ok(event.clone()),
    });
    decided.await.map(drop)
}

async fn register(
    store: &(impl EventStore + Clone + 'static),
    name: &str,
    now: SystemTime,
) -> Result<(), Refused> {
    claim(store, name, now, account_registered(name)?).await
}

async fn rename(
    store: &(impl EventStore + Clone + 'static),
    old: &str,
    new: &str,
    now: SystemTime,
) -> Result<(), Refused> {
    claim(store, new, now, username_changed(old, new)?).await
}

pub(crate) async fn play(store: &(impl EventStore + Clone + 'static)) -> Result<(), Refused> {
    let now = SystemTime::now();
    register(store, "ada", now).await?;
    rename(store, "ada", "lovelace", now).await?;
    for name in ["ada", "lovelace"] {
        let taken = register(store, name, now).await;
        assert_eq!(taken.unwrap_err().to_string(), "the username is claimed");
    }
    store.append(account_closed("lovelace")?).await?;
    register(store, "lovelace", now + 2 * RETENTION).await
}

#[cfg(test)]
mod tests {
    use dcb_core::given;

    use super::*;

    #[tokio::test]
    async fn closed_name_is_free_after_its_retention() -> Result<(), Refused> {
        let now = SystemTime::now();
        let register = async |store: &_| register(store, "u1", now).await;
        let closed = |days_ago: u32| {
            let time = now - days_ago * Duration::from_secs(24 * 3600);
            Ok::<_, Error>(given([account_registered("u1")?]).and_at(time, [account_closed("u1")?]))
        };
        closed(4)?
            .when(register)
            .await
            .then(account_registered("u1")?);
        let early = closed(2)?.when(register).await.then_refused();
        assert_eq!(early.to_string(), "the username is claimed");
        Ok(())
    }

    #[tokio::test]
    async fn new_name_of_an_account_is_claimed_and_its_old_one_retained() -> Result<(), Refused> {
        let now = SystemTime::now();
        let changed_at = now - 2 * RETENTION;
        let renamed = || {
            let events = [account_registered("old")?, username_changed("old", "new")?];
            Ok::<_, Error>(given([]).and_at(changed_at, events))
        };
        let new = renamed()?
            .when(async |store: &_| register(store, "new", now).await)
            .await;
        assert_eq!(new.then_refused().to_string(), "the username is claimed");
        let old = renamed()?
            .when(async |store: &_| register(store, "old", now).await)
            .await;
        old.then(account_registered("old")?);
        let early = renamed()?.when(async |store: &_| register(store, "old", changed_at).await);
        assert_eq!(
            early.await.then_refused().to_string(),
            "the username is claimed"
        );
        Ok(())
    }
}
