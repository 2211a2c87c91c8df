//! The sliced projections in the page's list and at `/metrics`.

use dcb_core::postgres::{Config, Handler, PgConnection, PostgresStore, SlicedReadModel};
use dcb_core::{
    Event, EventStore as _, HandlerError, Query, SequencedEvent, SliceKey, SliceOptions,
    SlicedRunner,
};
use demo_server::Settings;
use local_postgres::{Database, Durability};
use serde_json::json;

use crate::observe::value;
use crate::support::Client;

/// Refuses the event at a position.
#[derive(Clone)]
struct Refuses(u64);

impl Handler for Refuses {
    async fn handle(
        &mut self,
        _transaction: &mut PgConnection,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        match events.iter().any(|event| event.position().get() == self.0) {
            true => Err("refused".into()),
            false => Ok(()),
        }
    }

    async fn reset(&mut self, _transaction: &mut PgConnection) -> Result<(), HandlerError> {
        Ok(())
    }
}

async fn database() -> Database {
    let server = local_postgres::shared_with(Durability::Relaxed).await;
    let server = server.expect("PostgreSQL starts");
    let database = server.create_database("projections").await;
    database.expect("the database is created")
}

async fn client_of(database: &Database) -> Client {
    let settings = Settings {
        database_url: Some(database.url().to_owned()),
        ..Settings::in_memory()
    };
    Client::with(settings).await
}

/// A member of version 1 of a projection, as another program runs it, and its log.
async fn member(
    database: &Database,
    refuses: Refuses,
) -> (
    PostgresStore,
    SlicedRunner<PostgresStore, SlicedReadModel<Refuses>>,
) {
    let config = Config::new(database.url());
    let store = PostgresStore::connect(config.clone()).await.unwrap();
    let model = SlicedReadModel::new(&config, "seats", 1, refuses).unwrap();
    let key = SliceKey::tag("course");
    let member = SlicedRunner::new(store.clone(), Query::all(), key, model)
        .options(SliceOptions::new().slices(2).tries(1));
    (store, member)
}

/// Appends five events of one course.
async fn append(store: &PostgresStore) {
    let course = Event::builder("CourseOffered").tag("course:c1");
    let course = course.build().unwrap();
    store.append(vec![course; 5]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn projections_of_the_database_are_listed() {
    let database = database().await;
    let client = client_of(&database).await;
    let none = json!({ "head": 0, "projections": [] });
    assert_eq!(client.get("/demo/projections").await.ok(), none);

    let (store, mut member) = member(&database, Refuses(3)).await;
    append(&store).await;
    member.catch_up().await.unwrap();
    let stopped = SliceKey::slice_of("c1", 2);
    let mut listed = client.get("/demo/projections").await.ok();
    // The member gives its slices back in a task.
    listed["projections"][0]["members"] = json!(0);
    assert_eq!(
        listed,
        json!({
            "head": 5,
            "projections": [{
                "name": "seats", "version": 1, "state": "current", "slices": 2, "members": 0,
                "position": 2, "parked": 0,
                "stopped": [{ "slice": stopped, "error": "the event at position 3: refused" }],
            }],
        })
    );
    let text = client.get("/metrics").await.text();
    for (metric, wanted) in [
        ("position", 2.0),
        ("lag_positions", 3.0),
        ("current", 1.0),
        ("parked_events", 0.0),
        ("stopped_slices", 1.0),
    ] {
        assert_eq!(of_seats(&text, metric), Some(wanted), "{metric}: {text}");
    }
    store.close().await;
    client.stop().await;
}

/// The value of a metric of the projection at `/metrics`.
fn of_seats(text: &str, metric: &str) -> Option<f64> {
    let labels = r#"{projection="seats",version="1"}"#;
    value(text, &format!("registrar_projection_{metric}{labels}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn two_looks_tell_the_rate_and_the_time_left() {
    let database = database().await;
    let client = client_of(&database).await;
    let (store, mut member) = member(&database, Refuses(0)).await;
    append(&store).await;
    member.catch_up().await.unwrap();
    let look = async || client.get("/metrics").await.text();
    let first = look().await;
    assert_eq!(of_seats(&first, "rate"), None, "{first}");
    assert_eq!(of_seats(&first, "left_seconds"), Some(0.0), "{first}");
    append(&store).await;
    member.catch_up().await.unwrap();
    append(&store).await;
    let second = look().await;
    let rate = of_seats(&second, "rate").unwrap_or_default();
    let left = of_seats(&second, "left_seconds").unwrap_or_default();
    assert_eq!(of_seats(&second, "lag_positions"), Some(5.0), "{second}");
    assert!(rate > 0.0, "{second}");
    // Five positions are left, and five have been passed.
    assert!((left * rate - 5.0).abs() < 1e-3, "{second}");
    store.close().await;
    client.stop().await;
}

#[tokio::test]
async fn events_in_files_have_no_projections() {
    let client = Client::start().await;
    let none = json!({ "head": 0, "projections": [] });
    assert_eq!(client.get("/demo/projections").await.ok(), none);
    client.stop().await;
}
