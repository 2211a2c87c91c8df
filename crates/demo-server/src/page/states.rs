use course_enrollment::{
    CourseId, StudentId, course_capacity, courses_taken, max_courses, seats_taken,
};
use serde_json::json;
use store_http::dcb::States;

/// The states of courses and students that the explorer shows.
pub(crate) fn states() -> States {
    States::new()
        .with(
            "course",
            |id| {
                let course = CourseId::new(id);
                Ok((course_capacity(&course)?, seats_taken(&course)?))
            },
            |(capacity, taken)| json!({ "capacity": capacity, "seatsTaken": taken }),
        )
        .with(
            "student",
            |id| {
                let student = StudentId::new(id);
                Ok((max_courses(&student)?, courses_taken(&student)?))
            },
            |(max, taken)| json!({ "maxCourses": max, "coursesTaken": taken }),
        )
}
