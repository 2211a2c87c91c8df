//! Opt-in tokens: a sign-up is confirmed with the one-time token that was sent to the address, once
//! and within an hour. No table of open tokens is needed.
//!
//! <https://dcb.events/examples/opt-in-token>

use std::time::{Duration, SystemTime};

use dcb_core::{DecisionModel, Error, Event, EventStore, Projector};

use crate::Refused;

const VALIDITY: Duration = Duration::from_secs(3600);

/// The state of a token.
#[derive(Clone, Copy)]
enum Token {
    Unknown,
    Sent(SystemTime),
    Used,
}

fn sign_up(event_type: &str, email: &str, token: &str) -> Result<Event, Error> {
    let event = Event::builder(event_type).tag_pair("email", email);
    event.tag_pair("token", token).build()
}

fn initiated(email: &str, token: &str) -> Result<Event, Error> {
    sign_up("SignUpInitiated", email, token)
}

fn confirmed(email: &str, token: &str) -> Result<Event, Error> {
    sign_up("SignUpConfirmed", email, token)
}

fn token_of(email: &str, token: &str) -> Result<Projector<Token>, Error> {
    Projector::builder(Token::Unknown)
        .on("SignUpInitiated", |token, event| {
            *token = Token::Sent(event.recorded_at());
        })
        .on("SignUpConfirmed", |token, _| *token = Token::Used)
        .tag_pair("email", email)
        .tag_pair("token", token)
        .build()
}

async fn confirm(
    store: &(impl EventStore + Clone + 'static),
    email: &str,
    token: &str,
    now: SystemTime,
) -> Result<(), Refused> {
    let model = DecisionModel::new(token_of(email, token)?);
    let decided = model.decide(store, |state| match state {
        Token::Unknown => Err(Refused::Rule("no sign-up has this token")),
        Token::Used => Err(Refused::Rule("the token was used")),
        Token::Sent(at) if at + VALIDITY < now => Err(Refused::Rule("the token has expired")),
        Token::Sent(_) => Ok(confirmed(email, token)?),
    });
    decided.await.map(drop)
}

pub(crate) async fn play(store: &(impl EventStore + Clone + 'static)) -> Result<(), Refused> {
    let now = SystemTime::now();
    store.append(initiated("ada@example.com", "4711")?).await?;
    let wrong = confirm(store, "ada@example.com", "1234", now).await;
    assert_eq!(wrong.unwrap_err().to_string(), "no sign-up has this token");
    confirm(store, "ada@example.com", "4711", now).await?;
    let again = confirm(store, "ada@example.com", "4711", now).await;
    assert_eq!(again.unwrap_err().to_string(), "the token was used");
    Ok(())
}

#[cfg(test)]
mod tests {
    use dcb_core::given;

    use super::*;

    #[tokio::test]
    async fn token_expires_after_an_hour() -> Result<(), Refused> {
        let now = SystemTime::now();
        let confirm = async |store: &_| confirm(store, "a@b.c", "1", now).await;
        let sent = |minutes_ago: u32| {
            let time = now - minutes_ago * Duration::from_secs(60);
            Ok::<_, Error>(given([]).and_at(time, [initiated("a@b.c", "1")?]))
        };
        sent(59)?.when(confirm).await.then(confirmed("a@b.c", "1")?);
        let late = sent(61)?.when(confirm).await.then_refused();
        assert_eq!(late.to_string(), "the token has expired");
        Ok(())
    }
}
