use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use crate::random::SplitMix64;
use crate::weights::Weights;
use crate::{CourseOffered, EnrollmentCompleted, Grade, StudentRegistered};

/// The simulated current time of all datasets: 2025-01-01T00:00:00Z.
const NOW: Timestamp = Timestamp::constant(1_735_689_600, 0);
/// The earliest time of an enrollment, two years before `NOW`: 2023-01-01T00:00:00Z.
const EARLIEST: Timestamp = Timestamp::constant(1_672_531_200, 0);
/// Enrollments before this time have a grade. It is three months before `NOW`:
/// 2024-10-01T00:00:00Z.
const GRADED_BEFORE: Timestamp = Timestamp::constant(1_727_740_800, 0);

const GRADES: [Grade; 5] = [Grade::A, Grade::B, Grade::C, Grade::D, Grade::F];

/// Popularity is drawn in thousandths. So it has at most three decimals, and the weights of courses
/// can be integers.
pub(super) const POPULARITY_UNITS: f64 = 1_000.0;

/// Simulates `asked` requests for a seat, and returns the granted ones.
pub(super) fn draw(
    random: &mut SplitMix64,
    courses: &[CourseOffered],
    students: &[StudentRegistered],
    asked: usize,
) -> Vec<EnrollmentCompleted> {
    let mut requests = Requests::of(students);
    let mut seats = Seats::of(courses);
    let mut given = HashSet::with_capacity(asked);
    let mut enrollments = Vec::with_capacity(asked);
    for _ in 0..asked {
        let Some(student) = requests.draw(random) else {
            break;
        };
        // All courses are full, so further requests cannot change anything.
        let Some(course) = seats.draw(random, &students[student].major) else {
            break;
        };
        // A repeated request gives no seat, but it counts as one of the `asked` requests, and it has
        // used random numbers. The recorded digests depend on both.
        if given.insert((student, course)) {
            requests.take(student);
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

/// The number of courses that each student may still take. It is also the student's weight in a
/// draw.
struct Requests {
    left: Vec<u64>,
    weights: Weights,
}

impl Requests {
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

    /// The next student to ask; `None` if no student may take another course.
    fn draw(&self, random: &mut SplitMix64) -> Option<usize> {
        let total = self.weights.total();
        (total > 0).then(|| self.weights.find(random.below(total)))
    }

    fn take(&mut self, student: usize) {
        self.left[student] -= 1;
        self.weights.set(student, self.left[student]);
    }
}

/// The number of free seats in each course. A course's weight in a draw is popularity × (1 + free /
/// capacity), or 0 if the course is full. For students of its field, the weight is 1.5 times that.
struct Seats<'a> {
    courses: &'a [CourseOffered],
    left: Vec<u64>,
    all: Weights,
    /// For each category, the weights of its courses, at the same indices as in `all`.
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

    /// The course that a student with this major asks for; `None` if all courses are full.
    ///
    /// The factor of 1.5 needs no fractions: every weight counts twice, and the weights of the
    /// student's field count a third time.
    fn draw(&self, random: &mut SplitMix64, major: &str) -> Option<usize> {
        let field = self.of_category.get(major);
        let field_total = field.map_or(0, Weights::total);
        let total = 2 * self.all.total() + field_total;
        if total == 0 {
            return None;
        }
        let point = random.below(total);
        // Points below `field_total` belong to the third count, the others to the first two.
        match field {
            Some(field) if point < field_total => Some(field.find(point)),
            _ => Some(self.all.find((point - field_total) / 2)),
        }
    }

    fn take(&mut self, course: usize) {
        self.left[course] -= 1;
        self.weigh(course);
    }

    /// Sets the course's weight, in units of 1 / (1,000 × capacity). All courses of a dataset have
    /// the same capacity.
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
