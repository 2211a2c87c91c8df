//! Course subscriptions: a course has a limited number of seats, which may change, and a student
//! takes at most ten courses. No aggregate holds both rules; one decision does.
//!
//! <https://dcb.events/examples/course-subscriptions>

use dcb_core::{DecisionModel, Error, Event, EventStore, Projector};
use serde::{Deserialize, Serialize};

use crate::Refused;

const MAX_COURSES: u32 = 10;

#[derive(Serialize, Deserialize)]
struct CourseDefined {
    capacity: u32,
}

#[derive(Serialize, Deserialize)]
struct CourseCapacityChanged {
    new_capacity: u32,
}

fn course_defined(course: &str, capacity: u32) -> Result<Event, Error> {
    let event = Event::builder("CourseDefined").tag_pair("course", course);
    event.json(&CourseDefined { capacity }).build()
}

fn course_capacity_changed(course: &str, new_capacity: u32) -> Result<Event, Error> {
    let event = Event::builder("CourseCapacityChanged").tag_pair("course", course);
    event.json(&CourseCapacityChanged { new_capacity }).build()
}

fn student_subscribed(student: &str, course: &str) -> Result<Event, Error> {
    Event::builder("StudentSubscribedToCourse")
        .tag_pair("student", student)
        .tag_pair("course", course)
        .build()
}

/// The seats of the course; `None` if it is not defined.
fn capacity(course: &str) -> Result<Projector<Option<u32>>, Error> {
    Projector::builder(None)
        .on_json("CourseDefined", |capacity, course: CourseDefined| {
            *capacity = Some(course.capacity);
        })
        .on_json(
            "CourseCapacityChanged",
            |capacity, change: CourseCapacityChanged| {
                *capacity = Some(change.new_capacity);
            },
        )
        .tag_pair("course", course)
        .build()
}

/// The number of subscriptions with these tags.
fn subscriptions(tags: &[(&str, &str)]) -> Result<Projector<u32>, Error> {
    let count = Projector::builder(0).on("StudentSubscribedToCourse", |count, _| *count += 1);
    tags.iter()
        .fold(count, |count, (key, value)| count.tag_pair(key, value))
        .build()
}

async fn define_course(
    store: &(impl EventStore + Clone + 'static),
    course: &str,
    seats: u32,
) -> Result<(), Refused> {
    let model = DecisionModel::new(capacity(course)?);
    let decided = model.decide(store, |capacity| match capacity {
        Some(_) => Err(Refused::Rule("the course exists already")),
        None => Ok(course_defined(course, seats)?),
    });
    decided.await.map(drop)
}

async fn change_capacity(
    store: &(impl EventStore + Clone + 'static),
    course: &str,
    seats: u32,
) -> Result<(), Refused> {
    let model = DecisionModel::new(capacity(course)?);
    let decided = model.decide(store, |capacity| match capacity {
        None => Err(Refused::Rule("the course does not exist")),
        Some(same) if same == seats => Err(Refused::Rule("the course has that capacity")),
        Some(_) => Ok(course_capacity_changed(course, seats)?),
    });
    decided.await.map(drop)
}

async fn subscribe(
    store: &(impl EventStore + Clone + 'static),
    student: &str,
    course: &str,
) -> Result<(), Refused> {
    let (of_course, of_student) = (("course", course), ("student", student));
    // One read serves all four, and its condition protects all four.
    let model = DecisionModel::new((
        capacity(course)?,
        subscriptions(&[of_course])?,
        subscriptions(&[of_student])?,
        subscriptions(&[of_course, of_student])?,
    ));
    let decided = model.decide(store, |state| {
        let (capacity, students, courses, same) = state;
        match capacity {
            None => Err(Refused::Rule("the course does not exist")),
            Some(capacity) if students >= capacity => Err(Refused::Rule("the course is full")),
            _ if same > 0 => Err(Refused::Rule("the student is subscribed already")),
            _ if courses >= MAX_COURSES => Err(Refused::Rule("the student takes ten courses")),
            _ => Ok(student_subscribed(student, course)?),
        }
    });
    decided.await.map(drop)
}

pub(crate) async fn play(store: &(impl EventStore + Clone + 'static)) -> Result<(), Refused> {
    define_course(store, "algorithms", 1).await?;
    subscribe(store, "ada", "algorithms").await?;
    let second = subscribe(store, "grace", "algorithms").await;
    assert_eq!(second.unwrap_err().to_string(), "the course is full");
    change_capacity(store, "algorithms", 2).await?;
    subscribe(store, "grace", "algorithms").await
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use dcb_core::given;

    use super::*;

    #[tokio::test]
    async fn course_is_defined_once() -> Result<(), Refused> {
        let define = async |store: &_| define_course(store, "c1", 15).await;
        given([]).when(define).await.then(course_defined("c1", 15)?);
        let again = given([course_defined("c1", 10)?]).when(define).await;
        assert_eq!(
            again.then_refused().to_string(),
            "the course exists already"
        );
        Ok(())
    }

    #[tokio::test]
    async fn capacity_changes_to_another_one() -> Result<(), Refused> {
        let change = async |store: &_| change_capacity(store, "c1", 15).await;
        let changed = course_capacity_changed("c1", 15)?;
        let ten = course_defined("c1", 10)?;
        given([ten.clone()])
            .when(change)
            .await
            .then(changed.clone());
        let absent = given([]).when(change).await.then_refused();
        assert_eq!(absent.to_string(), "the course does not exist");
        let same = given([ten, changed]).when(change).await.then_refused();
        assert_eq!(same.to_string(), "the course has that capacity");
        Ok(())
    }

    #[tokio::test]
    async fn student_subscribes_once_to_at_most_ten_courses() -> Result<(), Refused> {
        let subscribe = async |store: &_| subscribe(store, "s1", "c1").await;
        let course = course_defined("c1", 9)?;
        let mine = student_subscribed("s1", "c1")?;
        given([course.clone()])
            .when(subscribe)
            .await
            .then(mine.clone());
        let again = given([course.clone(), mine])
            .when(subscribe)
            .await
            .then_refused();
        assert_eq!(again.to_string(), "the student is subscribed already");
        let others = (2..12).map(|other| student_subscribed("s1", &format!("c{other}")));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        let eleventh = given([course])
            .and_at(SystemTime::now(), others)
            .when(subscribe)
            .await;
        assert_eq!(
            eleventh.then_refused().to_string(),
            "the student takes ten courses"
        );
        Ok(())
    }
}
