//! A batch of requests, encoded as the parameters of `dcb.append`.

use std::ops::Range;

use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{Postgres, SqlStr};

use super::column::Element::{Bytea, Int4, Int8, Text, Uuid};
use super::column::{Column, Element};
use super::plan::Plan;
use super::recent_tags::{EventRef, RecentTags};
use super::request::Request;
use super::selection::for_each_probe;
use super::statements::{Check, Statements};
use super::tag_key;
use super::text_form::{write_array, write_metadata};
use crate::{AppendCondition, Event, Position, Tracking};

/// The columns of a batch. The writer keeps one `Batch` and refills it, to reuse its buffers.
#[derive(Debug)]
pub(super) struct Batch {
    columns: [Column; ELEMENTS.len()],
    /// A second key of each probe; NULL if the probe has fewer than two tags. Only an optimistic
    /// append uses it.
    probe_second_key: Column,
    /// (key, number of the event) for each tag, collected here to be sorted by key.
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

// The indexes in `ELEMENTS` of the parameters that an optimistic append depends on.
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
            probe_second_key: Column::new(Int8),
            tags: Vec::new(),
        }
    }
}

impl Batch {
    /// Encodes the requests; for deferred requests, only the conditions.
    pub(super) fn fill(&mut self, requests: &[Request], plan: &Plan, recent: &mut RecentTags) {
        self.columns.iter_mut().for_each(Column::clear);
        self.probe_second_key.clear();
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
            // Ids and conditions of deferred requests are sent too, so that the server can refuse
            // them in this round trip.
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

    /// Adds the columns that only `dcb.append` needs: the request, type and tags of each probe.
    pub(super) fn complete(&mut self, requests: &[Request]) {
        let [.., probe_request, types, tags, _, _, _, _, _, _, _, _] = &mut self.columns;
        for (number, request) in (1..).zip(requests) {
            let Some(condition) = &request.append.condition else {
                continue;
            };
            for_each_probe(
                &condition.fail_if_events_match,
                |event_type, probe_tags, _| {
                    probe_request.push_int4(number);
                    types.push_optional_text(event_type);
                    tags.push_with(|buffer| {
                        write_array(probe_tags.iter().map(|tag| tag.as_str()), buffer);
                    });
                },
            );
        }
    }

    /// Binds the columns to the statement. Call [`Batch::complete`] first.
    pub(super) fn bind(&self, append: SqlStr) -> Query<'_, Postgres, PgArguments> {
        self.columns.iter().fold(sqlx::query(append), Query::bind)
    }

    /// Whether checking keys is enough to decide the whole batch, provided that the last event
    /// known is the last of the log. Ids that callers chose, tracked positions and open probes
    /// without a tag need `dcb.append`.
    pub(super) fn is_decided_by_keys(&self) -> bool {
        let count = |column: usize| self.columns[column].count();
        let keys_are_missing = count(OPEN) > 0 && self.columns[PROBE_KEY].nulls() > 0;
        count(LAST_POSITION) == 1 && count(KNOWN) == 0 && count(TRACKING) == 0 && !keys_are_missing
    }

    /// Whether the optimistic append can check for events with both keys of a probe.
    pub(super) fn has_pairs(&self) -> bool {
        let second_keys = self.probe_second_key.count() - self.probe_second_key.nulls();
        self.columns[OPEN].count() > 0 && second_keys > 0
    }

    /// The cheapest optimistic append for this batch, with its parameters. With `pairs` it looks
    /// for events that have both keys of a probe; otherwise one key is enough.
    pub(super) fn bind_optimistic(
        &self,
        statements: &Statements,
        pairs: bool,
    ) -> Query<'_, Postgres, PgArguments> {
        let check = match (self.columns[OPEN].count(), pairs) {
            (0, _) => Check::Nothing,
            (_, false) => Check::Keys,
            (_, true) => Check::Pairs,
        };
        if self.is_lone()
            && let Some(append) = statements.append_lone(check)
        {
            return self.bind_lone(append);
        }
        let append = sqlx::query(statements.append_optimistic(check));
        let probes = match check {
            Check::Nothing => &[][..],
            Check::Keys | Check::Pairs => &PROBES[..],
        };
        let parameters = LAST.into_iter().chain(EVENTS).chain(TAGS);
        let query = parameters
            .chain(probes.iter().copied())
            .fold(append, |query, column| query.bind(&self.columns[column]));
        if check == Check::Pairs {
            query.bind(&self.probe_second_key)
        } else {
            query
        }
    }

    /// Whether the batch is one event with tags and at most one open probe.
    fn is_lone(&self) -> bool {
        let count = |column: usize| self.columns[column].count();
        // For an event without tags the statement would insert no row in `event_tag`, and so look
        // as if it had failed.
        count(ID) == 1 && count(TAG_KEY) > 0 && count(OPEN) <= 1
    }

    /// The statement for a lone event, with its parameters.
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
        // Two tags of an event may share a key, and `event_tag` takes each key of an event once.
        for same in tag_keys.chunk_by(|key, next| key == next) {
            self.tags.push((same[0], request.count()));
        }
    }

    /// Adds the tags in index order. The server inserts them one by one, and neighbouring keys hit
    /// the same cached index pages.
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
        recent: &mut RecentTags,
    ) {
        let [.., after, key, _, _, open, _, _, _] = &mut self.columns;
        let position = Position::number_or_zero(condition.after);
        for_each_probe(
            &condition.fail_if_events_match,
            |event_type, tags, tags_before| {
                // The first key that a tag can have has the type bits 0. Without a type, the server
                // searches from that key on.
                let type_bits = event_type.map_or(0, tag_key::type_bits);
                let item_keys = &tag_keys[tags_before..tags_before + tags.len()];
                let keys = item_keys.iter().map(|key| key | type_bits);
                let probe = recent.probe_keys(position, keys.clone());
                after.push_int8(i64::try_from(position).unwrap_or(i64::MAX));
                key.push_optional_int8(probe.rarest);
                self.probe_second_key.push_optional_int8(probe.second);
                if !probe.is_settled {
                    open.push_int4(after.count());
                    // With a single tag there is nothing to choose, so its lookups don't matter.
                    if probe.second.is_some() {
                        recent.count_lookup(keys);
                    }
                }
            },
        );
    }

    fn add_last(&mut self, last: EventRef) {
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
