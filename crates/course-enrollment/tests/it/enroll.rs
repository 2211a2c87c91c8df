//! The rules of enrollment, for one caller and for many at once.

use course_enrollment::{
    CourseId, CourseOffered, Error, StudentId, StudentRegistered, course_count, courses_taken,
    enroll, enrollment_count, is_enrolled, seats_taken, student_count,
};
use dcb_core::{Event, EventStore, MemoryStore};

fn course(id: &str, capacity: u32) -> CourseOffered {
    CourseOffered {
        id: CourseId::new(id),
        name: "Foundations of Algorithms".into(),
        instructor: "Prof. Theodora Lindqvist".into(),
        capacity,
        category: "Computer Science".into(),
        popularity: 0.75,
    }
}

fn student(id: &str, max_courses: u32) -> StudentRegistered {
    StudentRegistered {
        id: StudentId::new(id),
        name: "Priyanka Okonkwo".into(),
        email: "priyanka@example.com".into(),
        major: "Mathematics".into(),
        year: 1,
        max_courses,
    }
}

/// A store with the courses c1 (2 seats) and c2 (1 seat). Student s1 may take 2 courses, s2 and s3
/// one.
async fn store() -> Result<MemoryStore, Error> {
    let store = MemoryStore::new();
    let courses = [course("c1", 2).to_event()?, course("c2", 1).to_event()?];
    let students = [("s1", 2), ("s2", 1), ("s3", 1)].map(|(id, max)| student(id, max).to_event());
    store.append(courses).await?;
    for student in students {
        store.append(student?).await?;
    }
    Ok(store)
}

async fn try_enroll(store: &MemoryStore, student: &str, course: &str) -> Result<(), Error> {
    enroll(store, &StudentId::new(student), &CourseId::new(course))
        .await
        .map(drop)
}

#[tokio::test]
async fn student_gets_a_seat() -> Result<(), Error> {
    let store = store().await?;
    try_enroll(&store, "s1", "c1").await?;
    let (s1, c1) = (StudentId::new("s1"), CourseId::new("c1"));
    let projection = (
        seats_taken(&c1)?,
        courses_taken(&s1)?,
        is_enrolled(&s1, &c1)?,
    );
    assert_eq!(store.project(&projection).await?.state, (1, 1, true));
    Ok(())
}

#[tokio::test]
async fn counters_count_courses_students_and_enrollments() -> Result<(), Error> {
    let store = store().await?;
    try_enroll(&store, "s1", "c1").await?;
    let counters = (course_count(), student_count(), enrollment_count());
    assert_eq!(store.project(&counters).await?.state, (2, 3, 1));
    Ok(())
}

#[tokio::test]
async fn each_rule_rejects_with_its_error() -> Result<(), Error> {
    let store = store().await?;
    try_enroll(&store, "s1", "c1").await?;
    try_enroll(&store, "s2", "c2").await?;
    let before = store.head().await?;

    let unknown = try_enroll(&store, "s9", "c1").await;
    assert!(
        matches!(unknown, Err(Error::StudentUnknown { .. })),
        "{unknown:?}"
    );
    let unknown = try_enroll(&store, "s1", "c9").await;
    assert!(
        matches!(unknown, Err(Error::CourseUnknown { .. })),
        "{unknown:?}"
    );
    let again = try_enroll(&store, "s1", "c1").await;
    assert!(
        matches!(again, Err(Error::AlreadyEnrolled { .. })),
        "{again:?}"
    );
    let full = try_enroll(&store, "s3", "c2").await;
    assert!(
        matches!(full, Err(Error::CourseFull { capacity: 1, .. })),
        "{full:?}"
    );
    let too_many = try_enroll(&store, "s2", "c1").await;
    assert!(
        matches!(too_many, Err(Error::TooManyCourses { max_courses: 1, .. })),
        "{too_many:?}"
    );

    assert_eq!(
        store.head().await?,
        before,
        "a rejected enrollment writes nothing"
    );
    Ok(())
}

#[tokio::test]
async fn id_that_cannot_be_a_tag_is_rejected() -> Result<(), Error> {
    let store = store().await?;
    let refused = try_enroll(&store, "s\0", "c1").await;
    let Err(Error::Store(dcb_core::Error::Invalid { field, .. })) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(field, "tags");
    Ok(())
}

/// A decision without the capacity could give away a seat that does not exist.
#[tokio::test]
async fn unreadable_offer_ends_the_enrollment() -> Result<(), Error> {
    let store = store().await?;
    let offer = Event::builder(CourseOffered::TYPE)
        .tag("course_id:c3")
        .data("{}");
    let at = store.append(offer.build()?).await?.first();
    let failed = try_enroll(&store, "s1", "c3").await;
    let Err(Error::Store(dcb_core::Error::Unreadable { position, .. })) = failed else {
        panic!("{failed:?}")
    };
    assert_eq!(position, at);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn hundred_concurrent_callers_get_exactly_the_seats_of_a_course() -> Result<(), Error> {
    const SEATS: u32 = 7;
    let store = MemoryStore::new();
    store.append(course("c1", SEATS).to_event()?).await?;
    let mut callers = tokio::task::JoinSet::new();
    for number in 0..100 {
        let (store, student) = (store.clone(), student(&format!("s{number}"), 1));
        callers.spawn(async move {
            store.append(student.to_event()?).await?;
            // A caller that met too many conflicts tries again, as the error says.
            loop {
                let outcome = enroll(&store, &student.id, &CourseId::new("c1")).await;
                let Err(Error::Store(dcb_core::Error::RetriesExhausted { .. })) = outcome else {
                    return outcome;
                };
            }
        });
    }
    let outcomes = callers.join_all().await;
    let refused = |outcome: &&Result<_, Error>| matches!(outcome, Err(Error::CourseFull { .. }));
    assert_eq!(
        outcomes.iter().filter(|outcome| outcome.is_ok()).count(),
        SEATS as usize
    );
    assert_eq!(
        outcomes.iter().filter(refused).count(),
        100 - SEATS as usize
    );
    let taken = store
        .project(&seats_taken(&CourseId::new("c1"))?)
        .await?
        .state;
    assert_eq!(taken, u64::from(SEATS));
    Ok(())
}
