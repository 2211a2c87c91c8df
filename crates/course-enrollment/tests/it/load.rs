//! Loading appends every event once, even after interruptions.

use course_enrollment::{Dataset, Progress, course_count, enrollment_count, load, student_count};
use dcb_core::{Error, Event, EventStore, MemoryStore, Query, ReadOptions};

async fn contents(store: &MemoryStore) -> Result<Vec<uuid::Uuid>, Error> {
    let all = store.query(&Query::all(), ReadOptions::new()).await?;
    Ok(all.events.iter().map(|event| event.id()).collect())
}

fn ids(dataset: Dataset) -> Vec<uuid::Uuid> {
    dataset
        .generate()
        .events()
        .filter_map(|event| event.id())
        .collect()
}

#[tokio::test]
async fn load_appends_in_order_and_reports_progress() -> Result<(), Error> {
    let store = MemoryStore::new();
    let mut reports = Vec::new();
    let mut note = |progress| reports.push(progress);
    load(&Dataset::Tiny.generate(), &store, 10, &mut note).await?;
    let expected = [10, 20, 30, 33].map(|loaded| Progress { loaded, total: 33 });
    assert_eq!(reports, expected);
    assert_eq!(contents(&store).await?, ids(Dataset::Tiny));
    let counters = (course_count(), student_count(), enrollment_count());
    assert_eq!(store.project(&counters).await?.state, (5, 10, 18));
    Ok(())
}

#[tokio::test]
async fn repeated_load_changes_nothing() -> Result<(), Error> {
    let store = MemoryStore::new();
    let content = Dataset::Tiny.generate();
    for batch in [10, 10, 1, 7, 1_000, 0] {
        load(&content, &store, batch, |_| ()).await?;
        assert_eq!(
            contents(&store).await?,
            ids(Dataset::Tiny),
            "in batches of {batch}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn load_after_an_interruption_appends_the_missing_events() -> Result<(), Error> {
    let content = Dataset::Tiny.generate();
    for loaded in 1..content.event_count() {
        let store = MemoryStore::new();
        store
            .append(content.events().take(loaded).collect::<Vec<Event>>())
            .await?;
        load(&content, &store, 10, |_| ()).await?;
        assert_eq!(
            contents(&store).await?,
            ids(Dataset::Tiny),
            "after {loaded} events"
        );
    }
    Ok(())
}

#[tokio::test]
async fn id_of_another_event_is_an_error() -> Result<(), Error> {
    let store = MemoryStore::new();
    let taken = ids(Dataset::Tiny)[3];
    store
        .append(Event::builder("SomethingElse").id(taken).build()?)
        .await?;
    let refused = load(&Dataset::Tiny.generate(), &store, 10, |_| ()).await;
    assert!(matches!(refused, Err(Error::DuplicateId { id }) if id == taken));
    Ok(())
}
