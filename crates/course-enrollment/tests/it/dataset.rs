//! The datasets equal the recorded ones and have the documented properties.

use std::collections::{HashMap, HashSet};

use course_enrollment::{Dataset, DatasetContent, Error};

const FIXTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../fixtures/enrollment_tiny.jsonl"
);

fn json_lines(content: &DatasetContent) -> Vec<u8> {
    let mut lines = Vec::new();
    content
        .write_json_lines(&mut lines)
        .expect("writing to memory can't fail");
    lines
}

#[test]
fn dataset_has_its_recorded_digest_and_count() {
    let counts = [33, 30_359, 60_859, 609_861];
    for (dataset, count) in Dataset::ALL.into_iter().zip(counts) {
        let content = dataset.generate();
        assert_eq!(content.event_count(), count, "{dataset}");
        assert_eq!(content.digest(), dataset.digest(), "{dataset}");
    }
}

#[test]
fn committed_file_is_the_tiny_dataset() {
    let committed = std::fs::read(FIXTURE).expect("the fixture is part of the repository");
    assert_eq!(committed, json_lines(&Dataset::Tiny.generate()));
}

#[test]
fn dataset_has_the_documented_size() {
    for dataset in [Dataset::Tiny, Dataset::Small, Dataset::Medium] {
        let (content, size) = (dataset.generate(), dataset.size());
        assert_eq!(content.courses().len(), size.courses);
        assert_eq!(content.students().len(), size.students);
        let granted = content.enrollments().len();
        assert!(granted <= size.enrollments_asked, "{granted}");
        assert!(granted * 10 >= size.enrollments_asked * 8, "{granted}");
    }
}

#[test]
fn enrollments_obey_the_rules() {
    let content = Dataset::Medium.generate();
    let (mut pairs, mut taken_by_id) = (HashSet::new(), HashMap::new());
    for enrollment in content.enrollments() {
        let (student, course) = (
            enrollment.student_id.as_str(),
            enrollment.course_id.as_str(),
        );
        assert!(pairs.insert((student, course)), "{enrollment:?}");
        *taken_by_id.entry(student).or_insert(0) += 1;
        *taken_by_id.entry(course).or_insert(0) += 1;
    }
    let taken = |id: &str| taken_by_id.get(id).copied().unwrap_or(0);
    for course in content.courses() {
        assert!(
            taken(course.id.as_str()) <= course.capacity,
            "{}",
            course.id
        );
    }
    for student in content.students() {
        assert!(
            taken(student.id.as_str()) <= student.max_courses,
            "{}",
            student.id
        );
    }
}

#[test]
fn popular_courses_and_the_major_are_preferred() {
    let content = Dataset::Medium.generate();
    let course = |id| content.courses().iter().find(|course| &course.id == id);
    let major: HashMap<_, _> = content
        .students()
        .iter()
        .map(|student| (&student.id, &student.major))
        .collect();
    let (mut popularity, mut same_field) = (0.0, 0);
    for enrollment in content.enrollments().iter().take(5_000) {
        let course =
            course(&enrollment.course_id).expect("every enrollment is in an offered course");
        popularity += course.popularity;
        same_field += usize::from(course.category == *major[&enrollment.student_id]);
    }
    // If all courses had the same weight, the average popularity would be 0.51, and one enrollment
    // in fifteen (333 of 5,000) would be in the student's field. With the weights, the average
    // popularity is about 0.6, and 1.5 enrollments in 15.5 (484 of 5,000) are in the student's
    // field.
    assert!(popularity / 5_000.0 > 0.56, "{popularity}");
    assert!((400..600).contains(&same_field), "{same_field}");
}

#[test]
fn events_have_a_realistic_size() {
    for dataset in [Dataset::Tiny, Dataset::Small, Dataset::Medium] {
        let content = dataset.generate();
        let mean = json_lines(&content).len() / content.event_count();
        assert!((200..=270).contains(&mean), "{dataset}: {mean} bytes");
    }
}

#[test]
fn event_ids_are_stable_and_unique_across_datasets() {
    let ids = |dataset: Dataset| -> Vec<_> {
        dataset
            .generate()
            .events()
            .map(|event| event.id().expect("every event has an id"))
            .collect()
    };
    assert_eq!(ids(Dataset::Tiny), ids(Dataset::Tiny));
    let all: Vec<_> = [
        ids(Dataset::Tiny),
        ids(Dataset::Small),
        ids(Dataset::Medium),
    ]
    .concat();
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
}

#[test]
fn name_is_parsed_as_its_dataset() {
    for dataset in Dataset::ALL {
        assert_eq!(dataset.name().parse::<Dataset>().ok(), Some(dataset));
    }
    let unknown = "huge".parse::<Dataset>();
    assert!(matches!(unknown, Err(Error::DatasetUnknown { name }) if name == "huge"));
}
