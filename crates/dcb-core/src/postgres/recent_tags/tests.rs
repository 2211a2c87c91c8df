use super::super::tag_key;
use super::*;

fn key(tag: &str) -> i64 {
    tag_key(tag, Some("Happened"))
}

fn event(position: u64) -> EventRef {
    EventRef {
        position,
        id: Uuid::from_u128(position.into()),
    }
}

/// Knows the `count` events after position 100. Each has the tag `hot` and `at:N`, N its position.
fn recent_tags(count: u64) -> RecentTags {
    let mut recent = RecentTags::default();
    recent.begin_batch(100);
    for position in 101..=100 + count {
        recent.begin_batch(position - 1);
        recent.note(
            event(position),
            &[key("hot"), key(&format!("at:{position}"))],
        );
    }
    recent
}

fn settled(recent: &RecentTags, after: u64, tags: &[&str]) -> bool {
    recent
        .probe(after, tags.iter().map(|tag| key(tag)))
        .is_settled
}

#[test]
fn tag_absent_since_after_settles_condition() {
    let recent = recent_tags(10);
    assert!(settled(&recent, 105, &["absent"]));
    assert!(settled(&recent, 105, &["hot", "absent"]));
    assert!(settled(&recent, 105, &["at:105"]));
    assert!(settled(&recent, 110, &["hot"]));
    assert!(!settled(&recent, 105, &["at:106"]));
    assert!(!settled(&recent, 105, &["hot", "at:108"]));
    assert!(!settled(&recent, 105, &[]));
}

#[test]
fn condition_outside_known_range_is_not_settled() {
    let recent = recent_tags(10);
    assert!(settled(&recent, 100, &["absent"]));
    assert!(!settled(&recent, 99, &["absent"]));
    assert!(!settled(&recent, 111, &["absent"]));
    assert!(!settled(&RecentTags::default(), 0, &["absent"]));
}

#[test]
fn tag_is_noted_under_its_type_and_under_any_type() {
    let recent = recent_tags(10);
    let other = tag_key("hot", Some("Other"));
    assert!(recent.probe(105, [other].into_iter()).is_settled);
    let any = tag_key("hot", None);
    assert!(!recent.probe(105, [any].into_iter()).is_settled);
}

#[test]
fn batch_behind_unknown_head_forgets_earlier_events() {
    let mut recent = recent_tags(10);
    recent.begin_batch(111);
    assert_eq!(recent.last(), None);
    assert!(!settled(&recent, 105, &["absent"]));
    recent.note(event(112), &[key("hot")]);
    assert!(settled(&recent, 111, &["absent"]));
    assert!(!settled(&recent, 110, &["absent"]));
}

#[test]
fn full_newer_generation_replaces_older_one() {
    let count = TAGS_PER_GENERATION as u64 / 2;
    let recent = recent_tags(count + 10);
    assert!(settled(&recent, 101, &["absent"]));
    assert!(!settled(&recent, 101, &["at:102"]));
    let recent = recent_tags(2 * count + 10);
    assert!(!settled(&recent, 101, &["absent"]));
    assert!(settled(&recent, 100 + count, &["absent"]));
}

#[test]
fn tag_with_oldest_position_is_probed() {
    let recent = recent_tags(10);
    let probed = |tags: &[&str]| recent.probe(0, tags.iter().map(|tag| key(tag))).key;
    assert_eq!(probed(&["hot", "absent"]), Some(key("absent")));
    assert_eq!(probed(&["absent", "hot"]), Some(key("absent")));
    assert_eq!(probed(&["at:109", "at:103", "hot"]), Some(key("at:103")));
    assert_eq!(probed(&["hot", "at:103", "at:109"]), Some(key("at:103")));
    assert_eq!(probed(&["hot"]), Some(key("hot")));
    assert_eq!(probed(&[]), None);
}

#[test]
fn unseen_tag_with_fewest_lookups_is_probed_first() {
    let mut recent = recent_tags(10);
    let tags = |tags: [&'static str; 2]| tags.map(key).into_iter();
    for student in ["student:1", "student:2"] {
        recent.count_lookup(tags(["campus:main", student]));
    }
    let first = |recent: &RecentTags, asked| recent.probe(0, tags(asked)).key;
    let student = Some(key("student:3"));
    assert_eq!(first(&recent, ["campus:main", "student:3"]), student);
    assert_eq!(first(&recent, ["student:3", "campus:main"]), student);
    let absent = Some(key("campus:main"));
    assert_eq!(
        first(&recent, ["campus:main", "hot"]),
        absent,
        "a tag without a position is rarer than one with a position"
    );
    (0..MAX_COUNTED_KEYS as i64).for_each(|other| recent.count_lookup([other].into_iter()));
    assert!(
        recent.lookups.len() <= MAX_COUNTED_KEYS,
        "the number of counted keys is bounded"
    );
}

#[test]
fn last_event_is_likely_head_after_uncontended_batches() {
    let batches = u64::from(UNCONTENDED_BATCHES);
    assert!(
        recent_tags(batches).likely_head().is_none(),
        "the first batch has no batch before it"
    );
    let mut recent = recent_tags(batches + 1);
    assert_eq!(recent.likely_head(), Some(event(101 + batches)));
    recent.mark_contended();
    for head in 101 + batches..101 + 2 * batches {
        assert!(recent.likely_head().is_none());
        recent.begin_batch(head);
        recent.note(event(head + 1), &[]);
    }
    assert_eq!(recent.likely_head(), Some(event(101 + 2 * batches)));
    recent.begin_batch(1_000);
    recent.note(event(1_001), &[]);
    assert!(recent.likely_head().is_none());
}

#[test]
fn lookups_are_likely_to_settle_some_batches_after_one_that_did_not() {
    let batches = u64::from(BATCHES_AFTER_OPEN);
    let mut recent = recent_tags(batches + 1);
    assert!(recent.likely_settles());
    recent.note_left_open();
    for head in 101 + batches..101 + 2 * batches {
        assert!(!recent.likely_settles());
        assert!(recent.likely_head().is_some(), "not contended");
        recent.begin_batch(head);
        recent.note(event(head + 1), &[]);
    }
    assert!(recent.likely_settles());
}

#[test]
fn undo_restores_state_before_batch() {
    let mut recent = recent_tags(20);
    recent.begin_batch(120);
    recent.note(event(121), &[key("hot"), key("new")]);
    recent.note(event(122), &[key("hot"), key("new")]);
    assert!(!settled(&recent, 120, &["hot"]) && !settled(&recent, 120, &["new"]));
    recent.undo();
    assert!(settled(&recent, 120, &["hot"]) && settled(&recent, 120, &["new"]));
    assert!(!settled(&recent, 119, &["hot"]));
    assert_eq!(recent.likely_head(), Some(event(120)));
    assert_eq!(recent.newer.tags, 40);
    assert_eq!(recent.newer.last.len(), recent_tags(20).newer.last.len());
}
