use super::enrollments::{self, POPULARITY_UNITS};
use super::names::{self, CATEGORIES};
use super::{Dataset, DatasetContent};
use crate::random::SplitMix64;
use crate::{CourseId, CourseOffered, StudentId, StudentRegistered};

pub(super) fn content(dataset: Dataset) -> DatasetContent {
    let size = dataset.size();
    // The recorded digests depend on the order of all draws below.
    let mut random = SplitMix64::new(Dataset::SEED);
    let courses: Vec<_> = (0..size.courses)
        .map(|index| course(&mut random, index, size.capacity))
        .collect();
    let students: Vec<_> = (0..size.students)
        .map(|index| student(&mut random, index))
        .collect();
    let enrollments = enrollments::draw(&mut random, &courses, &students, size.enrollments_asked);
    DatasetContent {
        dataset,
        courses,
        students,
        enrollments,
    }
}

fn course(random: &mut SplitMix64, index: usize, capacity: u32) -> CourseOffered {
    let popularity = popularity(random);
    let (category, topics) = random.pick(&CATEGORIES);
    CourseOffered {
        id: CourseId::new(format!("course-{index}")),
        name: names::course(random, &topics).into(),
        instructor: format!("Prof. {}", names::person(random)).into(),
        capacity,
        category: category.into(),
        popularity: popularity as f64 / POPULARITY_UNITS,
    }
}

/// A fifth of the courses are popular, and a fifth are unpopular.
fn popularity(random: &mut SplitMix64) -> u64 {
    match random.below(10) {
        0..2 => random.within(700..1_000),
        2..8 => random.within(300..700),
        _ => random.within(100..300),
    }
}

fn student(random: &mut SplitMix64, index: usize) -> StudentRegistered {
    let year = year(random);
    let (category, _) = random.pick(&CATEGORIES);
    StudentRegistered {
        id: StudentId::new(format!("student-{index}")),
        name: names::person(random).into(),
        email: format!("student{index}@example.com").into(),
        major: names::major_of(category).into(),
        year,
        max_courses: random.within(3..9) as u32,
    }
}

/// Lower years have more students: 40, 30, 20 and 10 percent.
fn year(random: &mut SplitMix64) -> u8 {
    match random.below(10) {
        0..4 => 1,
        4..7 => 2,
        7..9 => 3,
        _ => 4,
    }
}
