//! The page's list of sliced projections.

use dcb_core::postgres::{Config, Handler, PgConnection, PostgresStore, SlicedReadModel};
use dcb_core::{
    Event, EventStore as _, HandlerError, Query, SequencedEvent, SliceKey, SliceOptions,
    SlicedRunner,
};
use demo_server::Settings;
use local_postgres::Durability;
use serde_json::json;

use crate::support::Client;

/// Refuses the third event.
#[derive(Clone)]
struct Refuses;

impl Handler for Refuses {
    async fn handle(
        &mut self,
        _transaction: &mut PgConnection,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        match events.iter().any(|event| event.position().get() == 3) {
            true => Err("refused".into()),
            false => Ok(()),
        }
    }

    async fn reset(&mut self, _transaction: &mut PgConnection) -> Result<(), HandlerError> {
        Ok(())
    }
}

/// Another program runs the projection.
#[tokio::test(flavor = "multi_thread")]
async fn projections_of_the_database_are_listed() {
    let server = local_postgres::shared_with(Durability::Relaxed).await;
    let server = server.expect("PostgreSQL starts");
    let database = server.create_database("projections").await;
    let database = database.expect("the database is created");
    let client = Client::with(Settings {
        database_url: Some(database.url().to_owned()),
        ..Settings::in_memory()
    });
    let client = client.await;
    let none = json!({ "head": 0, "projections": [] });
    assert_eq!(client.get("/demo/projections").await.ok(), none);

    let config = Config::new(database.url());
    let store = PostgresStore::connect(config.clone()).await.unwrap();
    let course = Event::builder("CourseOffered").tag("course:c1");
    let course = course.build().unwrap();
    store.append(vec![course; 5]).await.unwrap();
    let model = SlicedReadModel::new(&config, "seats", 1, Refuses).unwrap();
    let key = SliceKey::tag("course");
    let mut member = SlicedRunner::new(store.clone(), Query::all(), key, model)
        .options(SliceOptions::new().slices(2).tries(1));
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
