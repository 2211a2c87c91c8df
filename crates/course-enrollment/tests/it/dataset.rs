//! The datasets are those that were recorded, and what they are said to be.

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
        .expect("a vector takes everything");
    lines
}

#[test]
fn every_dataset_has_its_recorded_digest_and_count() {
    let counts = [33, 30_359, 60_859, 609_861];
    for (dataset, count) in Dataset::ALL.into_iter().zip(counts) {
        let content = dataset.generate();
        assert_eq!(content.event_count(), count, "{dataset}");
        assert_eq!(content.digest(), dataset.digest(), "{dataset}");
    }
}

#[test]
fn the_committed_file_is_the_tiny_dataset() {
    let committed = std::fs::read(FIXTURE).expect("the fixture is part of the repository");
    assert_eq!(committed, json_lines(&Dataset::Tiny.generate()));
}

#[test]
fn sizes_are_as_asked() {
    for dataset in [Dataset::Tiny, Dataset::Small, Dataset::Medium] {
        let (content, size) = (dataset.generate(), dataset.size());
        assert_eq!(content.courses().len(), size.courses);
        assert_eq!(content.students().len(), size.students);
        let given = content.enrollments().len();
        assert!(given <= size.enrollments_asked, "{given}");
        assert!(given * 10 >= size.enrollments_asked * 8, "{given}");
    }
}

#[test]
fn enrollments_keep_the_rules() {
    let content = Dataset::Medium.generate();
    let (mut pairs, mut taken_of) = (HashSet::new(), HashMap::new());
    for enrollment in content.enrollments() {
        let (student, course) = (
            enrollment.student_id.as_str(),
            enrollment.course_id.as_str(),
        );
        assert!(pairs.insert((student, course)), "{enrollment:?}");
        *taken_of.entry(student).or_insert(0) += 1;
        *taken_of.entry(course).or_insert(0) += 1;
    }
    let taken = |id: &str| taken_of.get(id).copied().unwrap_or(0);
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
fn popular_courses_and_own_fields_are_preferred() {
    let content = Dataset::Medium.generate();
    let course = |id| content.courses().iter().find(|course| &course.id == id);
    let major: HashMap<_, _> = content
        .students()
        .iter()
        .map(|student| (&student.id, &student.major))
        .collect();
    let (mut popularity, mut own_field) = (0.0, 0);
    for enrollment in content.enrollments().iter().take(5_000) {
        let course = course(&enrollment.course_id).expect("only offered courses are taken");
        popularity += course.popularity;
        own_field += usize::from(course.category == *major[&enrollment.student_id]);
    }
    // Drawn evenly, the popularity would average 0.51 and one in fifteen (333) would be of the own
    // field; by the weights it is about 0.6 and 1.5 / 15.5 of those that have a category.
    assert!(popularity / 5_000.0 > 0.56, "{popularity}");
    assert!((400..600).contains(&own_field), "{own_field}");
}

#[test]
fn events_are_of_realistic_size() {
    for dataset in [Dataset::Tiny, Dataset::Small, Dataset::Medium] {
        let content = dataset.generate();
        let mean = json_lines(&content).len() / content.event_count();
        assert!((200..=270).contains(&mean), "{dataset}: {mean} bytes");
    }
}

#[test]
fn event_ids_are_stable_and_never_meet() {
    let ids = |dataset: Dataset| -> Vec<_> {
        dataset
            .generate()
            .events()
            .map(|event| event.id().expect("each has one"))
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
fn names_find_their_dataset() {
    for dataset in Dataset::ALL {
        assert_eq!(dataset.name().parse::<Dataset>().ok(), Some(dataset));
    }
    let unknown = "huge".parse::<Dataset>();
    assert!(matches!(unknown, Err(Error::DatasetUnknown { name }) if name == "huge"));
}
