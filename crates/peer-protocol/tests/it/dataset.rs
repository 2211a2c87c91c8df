//! The dataset.

use crate::log::SMALL;
use peer_protocol::{ContentSize, Dataset};
use std::collections::HashMap;

#[test]
fn courses_are_scattered_and_equal_seeds_give_equal_events() {
    let events: Vec<_> = Dataset::new(SMALL).events().collect();
    assert_eq!(events.len(), SMALL.events);
    assert!(
        events
            .iter()
            .all(|event| event.data.len() == SMALL.payload_bytes)
    );
    let mut courses: HashMap<&str, Vec<usize>> = HashMap::new();
    for (position, event) in events.iter().enumerate() {
        courses.entry(&event.tags[0]).or_default().push(position);
    }
    for size in Dataset::SCATTERED {
        for course in 0..Dataset::COURSES_OF_A_SIZE {
            let positions = &courses[Dataset::scattered_course(size, course).as_str()];
            assert_eq!(positions.len(), size);
            let span = positions[size - 1] - positions[0];
            assert!(
                span > size,
                "a course of {size} events spans {span} positions"
            );
        }
    }
    let dataset = Dataset::new(SMALL);
    assert_eq!(dataset.courses(), 20 + (3_000 - 2_780) / 34);
    for course in 0..dataset.courses() {
        let positions = &courses[dataset.course(course).as_str()];
        assert_eq!(positions.len(), Dataset::EVENTS_OF_A_COURSE, "{course}");
    }
    assert!(Dataset::new(SMALL).events().eq(events));
    let other = Dataset::new(ContentSize { seed: 8, ..SMALL });
    assert!(!other.events().eq(Dataset::new(SMALL).events()));
}
