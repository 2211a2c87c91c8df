//! The workload matches the descriptions of the benchmark rows.

use std::collections::HashSet;

use course_enrollment::workload::{
    BATCH, PAST_EVENTS, Workload, course_query, first_course_projector, past_events, projectors,
    student_query,
};
use dcb_core::{Error, Event, EventStore, MemoryStore};

fn of_type(events: &[Event], event_type: &str) -> usize {
    events
        .iter()
        .filter(|event| event.event_type() == event_type)
        .count()
}

#[test]
fn batch_has_four_courses_three_students_and_three_enrollments() {
    let batch = Workload::new(1).batch();
    assert_eq!(batch.len(), BATCH);
    let types = ["CourseOffered", "StudentRegistered", "EnrollmentCompleted"];
    assert_eq!(types.map(|name| of_type(&batch, name)), [4, 3, 3]);
}

#[test]
fn ids_are_unique_across_calls_and_workloads() {
    let (first, second) = (Workload::new(1), Workload::new(2));
    let events = [&first, &second, &first]
        .map(|workload| workload.events(300))
        .concat();
    let keys = ["course_id", "student_id"];
    let tags: Vec<_> = events
        .iter()
        .flat_map(|event| keys.iter().filter_map(|key| event.tag_value(key)))
        .collect();
    assert_eq!(tags.iter().collect::<HashSet<_>>().len(), tags.len());
}

#[tokio::test]
async fn condition_on_a_new_course_holds_once() -> Result<(), Error> {
    let (store, workload) = (MemoryStore::new(), Workload::new(1));
    store.append(past_events()).await?;
    let (course, condition) = workload.course_and_condition();
    store.append_if(course, condition.clone()).await?;
    let again = store.append_if(workload.course(), condition).await;
    assert!(matches!(again, Err(Error::Conflict { .. })), "{again:?}");
    for _ in 0..3 {
        store
            .append_if(workload.batch(), workload.unmet_condition())
            .await?;
    }
    Ok(())
}

#[tokio::test]
async fn queries_and_projectors_match_the_documented_counts() -> Result<(), Error> {
    let store = MemoryStore::new();
    store.append(past_events()).await?;
    assert_eq!(past_events().len(), PAST_EVENTS);
    assert_eq!(store.count(&course_query()).await?, 34);
    assert_eq!(store.count(&student_query()).await?, 33);
    assert_eq!(store.project(&projectors()).await?.state, (34, 33, 33));
    assert_eq!(store.project(&first_course_projector()).await?.state, 1);
    Ok(())
}
