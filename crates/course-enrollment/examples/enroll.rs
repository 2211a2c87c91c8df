//! A student enrolls in a course with a limited number of seats: project, decide, and append if
//! nothing has changed.
//!
//! `cargo run -p course-enrollment --example enroll`

use course_enrollment::{
    CourseId, CourseOffered, EnrollmentCompleted, Error, StudentId, course_capacity, seats_taken,
};
use dcb_core::{DecisionModel, Event, EventStore, MemoryStore};

async fn enroll<S: EventStore + Clone + 'static>(
    store: &S,
    student: &StudentId,
    course: &CourseId,
) -> Result<(), Error> {
    let model = DecisionModel::new((course_capacity(course)?, seats_taken(course)?));
    let decide = |(capacity, taken): (Option<u32>, u64)| -> Result<Event, Error> {
        let course = course.clone();
        let Some(capacity) = capacity else {
            return Err(Error::CourseUnknown { course });
        };
        if taken >= capacity.into() {
            return Err(Error::CourseFull { course, capacity });
        }
        Ok(EnrollmentCompleted::now(student, &course).to_event()?)
    };
    // One read serves both projections. The append fails if an event that either of them counts has
    // been appended since the read; then `decide` runs again from the start.
    model.decide(store, decide).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let store = MemoryStore::new();
    let course = CourseOffered {
        id: CourseId::new("algorithms"),
        name: "Algorithms".into(),
        instructor: "Prof. Theodora Lindqvist".into(),
        capacity: 2,
        category: "Computer Science".into(),
        popularity: 0.9,
    };
    store.append(course.to_event()?).await?;

    for student in ["ada", "grace", "edsger"].map(StudentId::new) {
        match enroll(&store, &student, &course.id).await {
            Ok(()) => println!("{student} has a seat"),
            Err(error) => println!("{student} has none: {error}"),
        }
    }
    Ok(())
}
