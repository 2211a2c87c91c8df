//! A batch of requests as the parameters of `dcb.append`.

use std::ops::Range;

use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{Postgres, SqlStr};

use super::column::Element::{Bytea, Int4, Int8, Text, Uuid};
use super::column::{Column, Element};
use super::plan::Plan;
use super::recent::{Last, Recent};
use super::request::Request;
use super::selection::for_each_probe;
use super::statements::{Look, Statements};
use super::tag_key;
use super::text_form::{write_array, write_metadata};
use crate::{AppendCondition, Event, Position, Tracking};

/// The columns of a batch, kept from one to the next for their buffers.
#[derive(Debug)]
pub(super) struct Batch {
    columns: [Column; ELEMENTS.len()],
    /// Of each probe another key besides that of its row, NULL where it has no two tags. Only an
    /// optimistic append asks for it.
    probe_other: Column,
    /// The key of each tag with the number of its event, before they go to their columns.
    tags: Vec<(i64, i32)>,
}

/// The parameters of `dcb.append`, in its order.
const ELEMENTS: [Element; 21] = [
    Int4, Uuid, Text, Text, Text, Bytea, // event: request, id, type, tags, metadata, data
    Int4, Int8, // tag: event, key
    Int4, Uuid, // known: request, id
    Int4, Text, Text, Int8, Int8, // probe: request, type, tags, after, key
    Int8, Uuid, Int4, // recent: position and id of the last event known, probes left open
    Int4, Text, Int8, // tracking: request, source, position
];

/// Where in [`ELEMENTS`] the parameters stand that an optimistic append depends on.
const EVENTS: Range<usize> = 1..6;
const TAGS: Range<usize> = 6..8;
const ID: usize = 1;
const TAG_KEY: usize = 7;
const KNOWN: usize = 8;
const PROBE_AFTER: usize = 13;
const PROBE_KEY: usize = 14;
const LAST_POSITION: usize = 15;
const LAST_ID: usize = 16;
const LAST: [usize; 2] = [LAST_POSITION, LAST_ID];
const OPEN: usize = 17;
const PROBES: [usize; 3] = [OPEN, PROBE_AFTER, PROBE_KEY];
const TRACKING: usize = 18;

impl Default for Batch {
    fn default() -> Self {
        Self {
            columns: ELEMENTS.map(Column::new),
            probe_other: Column::new(Int8),
            tags: Vec::new(),
        }
    }
}

impl Batch {
    /// Takes over the requests, and of those that the plan does not hold the events.
    pub(super) fn fill(&mut self, requests: &[Request], plan: &Plan, recent: &mut Recent) {
        self.columns.iter_mut().for_each(Column::clear);
        self.probe_other.clear();
        self.tags.clear();
        if let Some(last) = recent.last() {
            self.add_last(last);
        }
        for (index, request) in requests.iter().enumerate() {
            let number = i32::try_from(index + 1).expect("a batch is bounded far below");
            if plan.is_sent(index) {
                for (event, id, tag_keys) in request.events() {
                    self.add_event(number, event, id, tag_keys);
                }
            }
            for id in request.known_ids() {
                self.add_known_id(number, id);
            }
            if let Some(condition) = &request.append.condition {
                self.add_condition(condition, &request.condition_keys, recent);
            }
            if let Some(tracking) = &request.append.tracking {
                self.add_tracking(number, tracking);
            }
        }
        self.add_tags();
    }

    /// Adds what an optimistic append does without: whose each probe is, with its type and tags.
    pub(super) fn complete(&mut self, requests: &[Request]) {
        let [.., owner, types, tags, _, _, _, _, _, _, _, _] = &mut self.columns;
        for (number, request) in (1..).zip(requests) {
            let Some(condition) = &request.append.condition else {
                continue;
            };
            for_each_probe(
                &condition.fail_if_events_match,
                |event_type, own_tags, _| {
                    owner.push_int4(number);
                    types.push_optional_text(event_type);
                    tags.push_with(|buffer| {
                        write_array(own_tags.iter().map(|tag| tag.as_str()), buffer);
                    });
                },
            );
        }
    }

    /// The statement with the columns as its parameters, after [`Batch::complete`].
    pub(super) fn bind(&self, append: SqlStr) -> Query<'_, Postgres, PgArguments> {
        self.columns.iter().fold(sqlx::query(append), Query::bind)
    }

    /// Whether a look for keys decides about all of it, if the last event known is the log's last.
    pub(super) fn is_decided_by_keys(&self) -> bool {
        let count = |column: usize| self.columns[column].count();
        let keys_are_missing = count(OPEN) > 0 && self.columns[PROBE_KEY].nulls() > 0;
        count(LAST_POSITION) == 1 && count(KNOWN) == 0 && count(TRACKING) == 0 && !keys_are_missing
    }

    /// Whether a probe that is open has two keys to look for.
    pub(super) fn has_pairs(&self) -> bool {
        self.columns[OPEN].count() > 0 && self.probe_other.count() > self.probe_other.nulls()
    }

    /// The statement of an optimistic append with its parameters: the one that looks for no more than
    /// it has to; with pairs, for events with both keys of a probe.
    pub(super) fn bind_optimistic(
        &self,
        statements: &Statements,
        pairs: bool,
    ) -> Query<'_, Postgres, PgArguments> {
        let look = match (self.columns[OPEN].count(), pairs) {
            (0, _) => Look::Nothing,
            (_, false) => Look::Keys,
            (_, true) => Look::Pairs,
        };
        if self.is_lone()
            && let Some(append) = statements.append_lone(look)
        {
            return self.bind_lone(append);
        }
        let append = sqlx::query(statements.append_optimistic(look));
        let probes = match look {
            Look::Nothing => &[][..],
            Look::Keys | Look::Pairs => &PROBES[..],
        };
        let parameters = LAST.into_iter().chain(EVENTS).chain(TAGS);
        let query = parameters
            .chain(probes.iter().copied())
            .fold(append, |query, column| query.bind(&self.columns[column]));
        if look == Look::Pairs {
            query.bind(&self.probe_other)
        } else {
            query
        }
    }

    /// Whether it is one event, which has tags, with no more than one probe that is open.
    fn is_lone(&self) -> bool {
        let count = |column: usize| self.columns[column].count();
        count(ID) == 1 && count(TAG_KEY) > 0 && count(OPEN) <= 1
    }

    /// A statement for a lone event with its parameters.
    fn bind_lone(&self, append: SqlStr) -> Query<'_, Postgres, PgArguments> {
        let value = |column: usize, index| self.columns[column].value(index);
        let query = LAST
            .into_iter()
            .chain(EVENTS)
            .fold(sqlx::query(append), |query, column| {
                query.bind(value(column, 0))
            })
            .bind(&self.columns[TAG_KEY]);
        if self.columns[OPEN].count() == 0 {
            return query;
        }
        let number = value(OPEN, 0).int4();
        let probe = number
            .and_then(|number| usize::try_from(number - 1).ok())
            .expect("probes are numbered from 1");
        query
            .bind(value(PROBE_AFTER, probe))
            .bind(value(PROBE_KEY, probe))
    }

    fn add_event(&mut self, number: i32, event: &Event, event_id: uuid::Uuid, tag_keys: &[i64]) {
        let [request, id, event_type, tags, metadata, data, ..] = &mut self.columns;
        request.push_int4(number);
        id.push(event_id.as_bytes());
        event_type.push(event.event_type().as_bytes());
        tags.push_with(|buffer| write_array(event.tags(), buffer));
        if event.metadata().next().is_some() {
            metadata.push_with(|buffer| write_metadata(event, buffer));
        } else {
            metadata.push_null();
        }
        data.push(event.data());
        for same in tag_keys.chunk_by(|one, next| one == next) {
            self.tags.push((same[0], request.count()));
        }
    }

    /// In the order of their index: the server inserts them one by one, and finds the pages that are
    /// near each other in its caches.
    fn add_tags(&mut self) {
        let [_, _, _, _, _, _, event, key, ..] = &mut self.columns;
        self.tags.sort_unstable();
        for (tag, number) in self.tags.drain(..) {
            event.push_int4(number);
            key.push_int8(tag);
        }
    }

    fn add_known_id(&mut self, number: i32, known_id: uuid::Uuid) {
        let [_, _, _, _, _, _, _, _, request, id, ..] = &mut self.columns;
        request.push_int4(number);
        id.push(known_id.as_bytes());
    }

    fn add_condition(
        &mut self,
        condition: &AppendCondition,
        tag_keys: &[i64],
        recent: &mut Recent,
    ) {
        let [.., after, key, _, _, open, _, _, _] = &mut self.columns;
        let position = Position::number_or_zero(condition.after);
        for_each_probe(
            &condition.fail_if_events_match,
            |event_type, tags, tags_before| {
                let type_bits = event_type.map_or(0, tag_key::of_type);
                let own_keys = &tag_keys[tags_before..tags_before + tags.len()];
                let keys = own_keys.iter().map(|key| key | type_bits);
                let glance = recent.glance(position, keys.clone());
                after.push_int8(i64::try_from(position).unwrap_or(i64::MAX));
                key.push_optional_int8(glance.key);
                self.probe_other.push_optional_int8(glance.other);
                if !glance.settled {
                    open.push_int4(after.count());
                    if glance.other.is_some() {
                        recent.asked(keys);
                    }
                }
            },
        );
    }

    fn add_last(&mut self, last: Last) {
        let [.., position, id, _, _, _, _] = &mut self.columns;
        position.push_int8(last.position.cast_signed());
        id.push(last.id.as_bytes());
    }

    fn add_tracking(&mut self, number: i32, tracking: &Tracking) {
        let [.., request, source, position] = &mut self.columns;
        request.push_int4(number);
        source.push(tracking.source().as_bytes());
        position.push_int8(i64::try_from(tracking.position()).unwrap_or(i64::MAX));
    }
}
