use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::generate::POPULARITY_UNITS;
use crate::random::SplitMix64;
use crate::weights::Weights;
use crate::{CourseOffered, EnrollmentCompleted, Grade, StudentRegistered};

/// The present of every dataset, a fixed one: 2025-01-01T00:00:00Z.
const NOW: Timestamp = Timestamp::constant(1_735_689_600, 0);
/// The first enrollments, two years ago: 2023-01-01T00:00:00Z.
const EARLIEST: Timestamp = Timestamp::constant(1_672_531_200, 0);
/// Who enrolled three months ago or earlier has a grade: 2024-10-01T00:00:00Z.
const GRADED_BEFORE: Timestamp = Timestamp::constant(1_727_740_800, 0);

const GRADES: [Grade; 5] = [Grade::A, Grade::B, Grade::C, Grade::D, Grade::F];

/// Lets `asked` students ask for a seat each, and says who was given one.
pub(super) fn draw(
    random: &mut SplitMix64,
    courses: &[CourseOffered],
    students: &[StudentRegistered],
    asked: usize,
) -> Vec<EnrollmentCompleted> {
    let mut wishes = Wishes::of(students);
    let mut seats = Seats::of(courses);
    let mut given = HashSet::with_capacity(asked);
    let mut enrollments = Vec::with_capacity(asked);
    for _ in 0..asked {
        let Some(student) = wishes.draw(random) else {
            break;
        };
        let Some(course) = seats.draw(random, &students[student].major) else {
            break;
        };
        if given.insert((student, course)) {
            wishes.take(student);
            seats.take(course);
            enrollments.push(enrollment(random, &students[student], &courses[course]));
        }
    }
    enrollments
}

fn enrollment(
    random: &mut SplitMix64,
    student: &StudentRegistered,
    course: &CourseOffered,
) -> EnrollmentCompleted {
    let micros = random.within(EARLIEST.as_microsecond() as u64..NOW.as_microsecond() as u64);
    let enrolled_at =
        Timestamp::from_microsecond(micros as i64).expect("between two valid timestamps");
    EnrollmentCompleted {
        student_id: student.id.clone(),
        course_id: course.id.clone(),
        enrolled_at,
        grade: (enrolled_at < GRADED_BEFORE).then(|| random.pick(&GRADES)),
    }
}

/// How many courses each student may still take; who may take more asks more often.
struct Wishes {
    left: Vec<u64>,
    weights: Weights,
}

impl Wishes {
    fn of(students: &[StudentRegistered]) -> Self {
        let left: Vec<u64> = students
            .iter()
            .map(|student| student.max_courses.into())
            .collect();
        let mut weights = Weights::zero(left.len());
        for (index, &left) in left.iter().enumerate() {
            weights.set(index, left);
        }
        Self { left, weights }
    }

    /// Who asks next; `None` where nobody may take another course.
    fn draw(&self, random: &mut SplitMix64) -> Option<usize> {
        let total = self.weights.total();
        (total > 0).then(|| self.weights.find(random.below(total)))
    }

    fn take(&mut self, student: usize) {
        self.left[student] -= 1;
        self.weights.set(student, self.left[student]);
    }
}

/// How many seats each course has left. A course weighs
/// popularity × (1 + left / capacity), half as much again for students of its own field, and
/// nothing without a seat left.
struct Seats<'a> {
    courses: &'a [CourseOffered],
    left: Vec<u64>,
    all: Weights,
    /// The weights of the courses of one category, at the same indices as in `all`.
    of_category: HashMap<&'a str, Weights>,
}

impl<'a> Seats<'a> {
    fn of(courses: &'a [CourseOffered]) -> Self {
        let mut of_category = HashMap::new();
        for course in courses {
            of_category
                .entry(&*course.category)
                .or_insert_with(|| Weights::zero(courses.len()));
        }
        let left = courses
            .iter()
            .map(|course| course.capacity.into())
            .collect();
        let mut seats = Self {
            courses,
            left,
            all: Weights::zero(courses.len()),
            of_category,
        };
        (0..courses.len()).for_each(|course| seats.weigh(course));
        seats
    }

    /// The course that a student with this major asks for; `None` where every seat is taken.
    ///
    /// Half as much again for one's own field: two lots for every course, and a third for those of
    /// the field.
    fn draw(&self, random: &mut SplitMix64, major: &str) -> Option<usize> {
        let own = self.of_category.get(major);
        let own_total = own.map_or(0, Weights::total);
        let total = 2 * self.all.total() + own_total;
        if total == 0 {
            return None;
        }
        let point = random.below(total);
        match own {
            Some(own) if point < own_total => Some(own.find(point)),
            _ => Some(self.all.find((point - own_total) / 2)),
        }
    }

    fn take(&mut self, course: usize) {
        self.left[course] -= 1;
        self.weigh(course);
    }

    /// The weight in units of 1 / (1,000 × capacity), which all courses of a dataset share.
    fn weigh(&mut self, index: usize) {
        let course = &self.courses[index];
        let popularity = (course.popularity * POPULARITY_UNITS).round() as u64;
        let left = self.left[index];
        let weight = if left == 0 {
            0
        } else {
            popularity * (u64::from(course.capacity) + left)
        };
        self.all.set(index, weight);
        if let Some(of_category) = self.of_category.get_mut(&*course.category) {
            of_category.set(index, weight);
        }
    }
}
