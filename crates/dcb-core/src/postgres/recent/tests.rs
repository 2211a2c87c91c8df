use super::super::tag_key;
use super::*;

fn key(tag: &str) -> i64 {
    tag_key::of(tag, Some("Happened"))
}

fn last(position: u64) -> Last {
    Last {
        position,
        id: Uuid::from_u128(position.into()),
    }
}

/// A log of which the events after 100 are known: `hot` in each, and `at:N` in the Nth.
fn known(count: u64) -> Recent {
    let mut recent = Recent::default();
    recent.follow(100);
    for position in 101..=100 + count {
        recent.follow(position - 1);
        recent.note(
            last(position),
            &[key("hot"), key(&format!("at:{position}"))],
        );
    }
    recent
}

fn settled(recent: &Recent, after: u64, tags: &[&str]) -> bool {
    recent
        .glance(after, tags.iter().map(|tag| key(tag)))
        .settled
}

#[test]
fn a_tag_that_does_not_occur_since_after_settles_it() {
    let recent = known(10);
    assert!(settled(&recent, 105, &["absent"]));
    assert!(settled(&recent, 105, &["hot", "absent"]));
    assert!(settled(&recent, 105, &["at:105"]));
    assert!(settled(&recent, 110, &["hot"]));
    assert!(!settled(&recent, 105, &["at:106"]));
    assert!(!settled(&recent, 105, &["hot", "at:108"]));
    assert!(!settled(&recent, 105, &[]));
}

#[test]
fn nothing_is_settled_outside_of_what_is_known() {
    let recent = known(10);
    assert!(settled(&recent, 100, &["absent"]));
    assert!(!settled(&recent, 99, &["absent"]));
    assert!(!settled(&recent, 111, &["absent"]));
    assert!(!settled(&Recent::default(), 0, &["absent"]));
}

#[test]
fn another_type_is_another_key_but_any_type_is_noted_too() {
    let recent = known(10);
    let other = tag_key::of("hot", Some("Other"));
    assert!(recent.glance(105, [other].into_iter()).settled);
    let any = tag_key::of("hot", None);
    assert!(!recent.glance(105, [any].into_iter()).settled);
}

#[test]
fn another_head_than_the_last_noted_forgets_all() {
    let mut recent = known(10);
    recent.follow(111);
    assert_eq!(recent.last(), None);
    assert!(!settled(&recent, 105, &["absent"]));
    recent.note(last(112), &[key("hot")]);
    assert!(settled(&recent, 111, &["absent"]));
    assert!(!settled(&recent, 110, &["absent"]));
}

#[test]
fn the_older_half_goes_when_the_newer_one_is_full() {
    let count = TAGS_OF_A_HALF as u64 / 2;
    let recent = known(count + 10);
    assert!(settled(&recent, 101, &["absent"]));
    assert!(!settled(&recent, 101, &["at:102"]));
    let recent = known(2 * count + 10);
    assert!(!settled(&recent, 101, &["absent"]));
    assert!(settled(&recent, 100 + count, &["absent"]));
}

#[test]
fn the_tags_met_least_lately_are_those_to_glance_at() {
    let recent = known(10);
    let glance = |tags: &[&str]| {
        let glance = recent.glance(0, tags.iter().map(|tag| key(tag)));
        [glance.key, glance.other]
    };
    let keys = |tags: [&str; 2]| tags.map(|tag| Some(key(tag)));
    assert_eq!(glance(&["hot", "absent"]), keys(["absent", "hot"]));
    assert_eq!(glance(&["absent", "hot"]), keys(["absent", "hot"]));
    let three = ["at:109", "at:103", "hot"];
    assert_eq!(glance(&three), keys(["at:103", "at:109"]));
    assert_eq!(
        glance(&["hot", "at:103", "at:109"]),
        keys(["at:103", "at:109"])
    );
    assert_eq!(glance(&["hot"]), [Some(key("hot")), None]);
    assert_eq!(glance(&[]), [None, None]);
}

#[test]
fn of_tags_that_were_not_met_the_one_least_asked_for_comes_first() {
    let mut recent = known(10);
    let tags = |tags: [&'static str; 2]| tags.map(key).into_iter();
    for student in ["student:1", "student:2"] {
        recent.asked(tags(["campus:main", student]));
    }
    let first = |recent: &Recent, asked| recent.glance(0, tags(asked)).key;
    let student = Some(key("student:3"));
    assert_eq!(first(&recent, ["campus:main", "student:3"]), student);
    assert_eq!(first(&recent, ["student:3", "campus:main"]), student);
    let absent = Some(key("campus:main"));
    assert_eq!(
        first(&recent, ["campus:main", "hot"]),
        absent,
        "met counts first"
    );
    (0..KEYS_ASKED as i64).for_each(|other| recent.asked([other].into_iter()));
    assert!(
        recent.asked.len() <= KEYS_ASKED,
        "what is counted is bounded"
    );
}

#[test]
fn the_last_event_is_likely_the_head_after_a_while_undisturbed() {
    let a_while = u64::from(UNDISTURBED);
    assert!(
        known(a_while).likely_head().is_none(),
        "nothing is before the first"
    );
    let mut recent = known(a_while + 1);
    assert_eq!(recent.likely_head(), Some(last(101 + a_while)));
    recent.disturbed();
    for head in 101 + a_while..101 + 2 * a_while {
        assert!(recent.likely_head().is_none());
        recent.follow(head);
        recent.note(last(head + 1), &[]);
    }
    assert_eq!(recent.likely_head(), Some(last(101 + 2 * a_while)));
    recent.follow(1_000);
    recent.note(last(1_001), &[]);
    assert!(recent.likely_head().is_none());
}

#[test]
fn a_batch_that_is_taken_back_was_never_noted() {
    let mut recent = known(20);
    recent.follow(120);
    recent.note(last(121), &[key("hot"), key("new")]);
    recent.note(last(122), &[key("hot"), key("new")]);
    assert!(!settled(&recent, 120, &["hot"]) && !settled(&recent, 120, &["new"]));
    recent.take_back();
    assert!(settled(&recent, 120, &["hot"]) && settled(&recent, 120, &["new"]));
    assert!(!settled(&recent, 119, &["hot"]));
    assert_eq!(recent.likely_head(), Some(last(120)));
    assert_eq!(recent.newer.tags, 40);
    assert_eq!(recent.newer.last.len(), known(20).newer.last.len());
}
