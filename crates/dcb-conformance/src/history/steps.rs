//! The random calls of a history.

use conformance_suite::Random;
use dcb_core::{
    Append, AppendCondition, Bookmark, Event, EventType, Position, Query, QueryItem, ReadOptions,
    Tag, Tracking,
};
use uuid::Uuid;

// The lists are short, so that queries often match events and sources often repeat.
const TYPES: [&str; 3] = ["A", "B", "C c"];
const TAGS: [&str; 6] = ["a", "b", "c:1", r#"c:"1"#, r"c:\1", "{c,1}"];
const DATA: [&[u8]; 5] = [b"", b"{\"b\":1, \"a\":2}", b"\0\xff", b"1", b"2"];
const SOURCES: [&str; 2] = ["upstream", r#"up"stream"#];

/// One call.
#[derive(Debug)]
pub(super) enum Step {
    Submit(Append),
    Read(Query, ReadOptions),
    Project(Query),
    ProjectLast(Vec<Query>),
    Count(Query),
    Exists(Query),
    Head,
    Tracked(&'static str),
}

/// Generates the random calls of one history.
pub(super) struct Steps {
    random: Random,
    /// The events of all earlier appends, accepted or refused.
    tried: Vec<Event>,
}

impl Steps {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            tried: Vec::new(),
        }
    }

    /// The next call, for a log whose last position is `head`.
    pub(super) fn next(&mut self, head: Option<Position>) -> Step {
        match self.random.below(21) {
            // Half of the calls append, so that reads find a growing log.
            0..=9 => Step::Submit(self.append(head)),
            10..=14 => Step::Read(self.query(), self.options(head)),
            15 => Step::Project(self.query()),
            16 => Step::Count(self.query()),
            17 => Step::Exists(self.query()),
            18 => Step::Head,
            19 => Step::ProjectLast((0..=self.random.below(3)).map(|_| self.query()).collect()),
            _ => Step::Tracked(self.random.pick(&SOURCES)),
        }
    }

    fn append(&mut self, head: Option<Position>) -> Append {
        let mut append = Append::new(self.events());
        // Two thirds have at least one condition.
        for _ in 0..self.random.pick(&[0, 0, 1, 1, 2, 3]) {
            let condition = AppendCondition::fail_if(self.query());
            append = append.condition(condition.after(self.after(head)));
        }
        if self.random.once_in(4) {
            let source = self.random.pick(&SOURCES);
            let tracking = Tracking::new(source, self.random.below(30));
            append = append.tracking(tracking.expect("the tracking is valid"));
        }
        append
    }

    /// Mostly new events. Sometimes none, and sometimes events of earlier appends.
    fn events(&mut self) -> Vec<Event> {
        let count = if self.random.once_in(30) {
            0
        } else {
            1 + self.random.below(4)
        };
        let mut events: Vec<Event> = (0..count).map(|_| self.new_event()).collect();
        if self.random.once_in(4) && !self.tried.is_empty() {
            events = self.tried_events();
        }
        if self.random.once_in(12) {
            events.extend(self.tried_events());
        }
        self.tried.extend(events.iter().cloned());
        events
    }

    /// A few consecutive events of earlier appends, perhaps one of them with other content.
    fn tried_events(&mut self) -> Vec<Event> {
        if self.tried.is_empty() {
            return Vec::new();
        }
        let start = self.random.below(self.tried.len() as u64) as usize;
        let count = 1 + self.random.below(3) as usize;
        let mut events: Vec<Event> = self.tried.iter().skip(start).take(count).cloned().collect();
        if self.random.once_in(4) {
            let index = self.random.below(events.len() as u64) as usize;
            if let Some(id) = events[index].id() {
                events[index] = self.new_event().with_id(id);
            }
        }
        events
    }

    /// The event carries an id, because ids that the stores generate would differ.
    fn new_event(&mut self) -> Event {
        let random = &mut self.random;
        let mut event = Event::builder(random.pick(&TYPES))
            .id(random.id())
            .tags(random.some(4, &TAGS))
            .data(random.pick(&DATA));
        for key in ["z", "a"] {
            if random.once_in(3) {
                event = event.metadata(key, random.pick(&TAGS));
            }
        }
        event.build().expect("the event is valid")
    }

    fn query(&mut self) -> Query {
        if self.random.once_in(8) {
            return Query::all();
        }
        let items = (0..=self.random.below(3)).map(|_| self.item());
        Query::new(items.collect::<Vec<_>>()).expect("the query is valid")
    }

    fn item(&mut self) -> QueryItem {
        let types = self.random.some(3, &TYPES).into_iter().map(EventType::new);
        let tags = self.random.some(3, &TAGS).into_iter().map(Tag::new);
        QueryItem::new(
            types
                .collect::<Result<Vec<_>, _>>()
                .expect("the types are valid"),
            tags.collect::<Result<Vec<_>, _>>()
                .expect("the tags are valid"),
        )
    }

    /// Often the head, as after a read, and sometimes a position beyond the head.
    fn after(&mut self, head: Option<Position>) -> Option<Bookmark> {
        let position = match self.random.below(13) {
            0..=2 => None,
            3..=7 => head,
            8..=10 => self.position(head),
            11 => Position::new(Position::number_or_zero(head) + 1 + self.random.below(3)),
            // No event has this id.
            _ => return Some(Bookmark::new(self.position(head)?, Uuid::max())),
        };
        position.map(Bookmark::from)
    }

    /// Any position up to the head.
    fn position(&mut self, head: Option<Position>) -> Option<Position> {
        Position::new(self.random.below(Position::number_or_zero(head) + 1))
    }

    fn options(&mut self, head: Option<Position>) -> ReadOptions {
        let mut options = ReadOptions::new();
        if self.random.once_in(2) {
            options = options.after(self.after(head));
        }
        if self.random.once_in(3) {
            options = options.from(self.position(head));
        }
        if self.random.once_in(2) {
            options = options.limit(self.random.below(6));
        }
        if self.random.once_in(2) {
            options = options.backwards();
        }
        options
    }
}
