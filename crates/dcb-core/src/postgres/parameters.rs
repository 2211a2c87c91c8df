//! The parameters of a batch: its requests in columns, encoded once for each statement that may
//! append them.

use std::sync::Arc;

use super::plan::Plan;
use super::recent_tags::{EventRef, RecentTags};
use super::request::Request;
use super::row::postgres_micros;
use super::selection::for_each_probe;
use super::statements::Statements;
use super::tag_key;
use super::text_form::{write_array, write_metadata};
use crate::{AppendCondition, Bookmark, Command, Event, Position, Tracking};
use postgres_store::Element::{Bytea, Int4, Int8, Text, Timestamptz, Uuid};
use postgres_store::{Bound, Column};

/// Declares the columns of a batch, in the order in which `dcb.append`, then
/// `dcb.keep_commands` and `dcb.keep_times` take them.
macro_rules! columns {
    ($($name:ident: $element:ident,)+) => {
        #[derive(Debug)]
        struct Columns {
            $($name: Column,)+
        }

        impl Columns {
            const NEW: Self = Self {
                $($name: Column::new($element),)+
            };

            fn clear(&mut self) {
                $(self.$name.clear();)+
            }

            fn in_order(&self) -> [&Column; [$(stringify!($name)),+].len()] {
                [$(&self.$name),+]
            }
        }
    };
}

columns! {
    event_request: Int4,
    event_id: Uuid,
    event_type: Text,
    event_tags: Text,
    event_metadata: Text,
    event_data: Bytea,
    tag_event: Int4,
    tag_key: Int8,
    known_request: Int4,
    known_id: Uuid,
    probe_request: Int4,
    probe_type: Text,
    probe_tags: Text,
    probe_after: Int8,
    probe_key: Int8,
    recent_position: Int8,
    recent_id: Uuid,
    recent_open: Int4,
    tracking_request: Int4,
    tracking_source: Text,
    tracking_position: Int8,
    command_request: Int4,
    command_type: Text,
    command_metadata: Text,
    command_data: Bytea,
    timed_event: Int4,
    timed_at: Timestamptz,
}

/// The number of columns that only `dcb.keep_commands` and `dcb.keep_times` take.
const KEPT: usize = 6;

/// The columns of a batch. `dcb.append` describes them. The writer keeps one value and refills it, to
/// reuse its buffers.
#[derive(Debug)]
pub(super) struct Parameters {
    columns: Columns,
    /// (key, number of the event) for each tag, collected here to be sorted by key.
    tags: Vec<(i64, i32)>,
    /// For each probe, the index of its condition in its request.
    probe_conditions: Vec<usize>,
    /// Whether an open probe has several tags.
    opens_several_keys: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            columns: Columns::NEW,
            tags: Vec::new(),
            probe_conditions: Vec::new(),
            opens_several_keys: false,
        }
    }
}

impl Parameters {
    /// Encodes the requests; for deferred requests, only the conditions and ids.
    pub(super) fn fill(&mut self, requests: &[Arc<Request>], plan: &Plan, recent: &mut RecentTags) {
        self.columns.clear();
        self.tags.clear();
        self.probe_conditions.clear();
        self.opens_several_keys = false;
        if let Some(last) = recent.last() {
            self.add_last(last);
        }
        for (index, request) in requests.iter().enumerate() {
            let number = i32::try_from(index + 1).expect("a batch is bounded far below");
            if plan.is_sent(index) {
                for (event, id, tag_keys) in request.events() {
                    self.add_event(number, event, id, tag_keys);
                }
                if let Some(command) = &request.append.command {
                    self.add_command(number, command);
                }
            }
            // Ids and conditions of deferred requests are sent too, so that the server can refuse
            // them in this round trip.
            for id in request.known_ids() {
                self.add_known_id(number, id);
            }
            for (index, (condition, tag_keys)) in request.conditions().enumerate() {
                self.add_condition(condition, tag_keys, recent);
                let probes = self.columns.probe_after.count().unsigned_abs() as usize;
                self.probe_conditions.resize(probes, index);
            }
            if let Some(tracking) = &request.append.tracking {
                self.add_tracking(number, tracking);
            }
        }
        self.add_tags();
    }

    /// The index of the condition that a probe belongs to, in the probe's request. Probes count from
    /// 1, over the whole batch.
    pub(super) fn condition_of_probe(&self, probe: i32) -> Option<usize> {
        let index = usize::try_from(probe).ok()?.checked_sub(1)?;
        self.probe_conditions.get(index).copied()
    }

    /// Adds the columns that only `dcb.append` takes: the request, type and tags of each probe.
    pub(super) fn complete(&mut self, requests: &[Arc<Request>]) {
        let columns = &mut self.columns;
        for (number, request) in (1..).zip(requests) {
            for (condition, _) in request.conditions() {
                for_each_probe(&condition.fail_if_events_match, |event_type, tags, _| {
                    columns.probe_request.push_int4(number);
                    columns.probe_type.push_optional_text(event_type);
                    columns.probe_tags.push_with(|buffer| {
                        write_array(tags.iter().map(|tag| tag.as_str()), buffer);
                    });
                });
            }
        }
    }

    /// `dcb.append` for this batch; also `dcb.keep_commands` and `dcb.keep_times` if it has commands or
    /// brings times. Call
    /// [`Parameters::complete`] first.
    pub(super) fn append(&self, statements: &Statements) -> Bound<'_> {
        let columns = self.columns.in_order();
        let (sql, count) = if self.keeps_more() {
            (&statements.append_and_keep, columns.len())
        } else {
            (&statements.append, columns.len() - KEPT)
        };
        let taken = columns.into_iter().take(count);
        taken.fold(sqlx::query(sql.clone()), Bound::bind)
    }

    /// The INSERT for this batch. It looks up a key for each open probe.
    pub(super) fn insert(&self, statements: &Statements) -> Bound<'_> {
        let columns = &self.columns;
        let events = [
            &columns.recent_position,
            &columns.recent_id,
            &columns.event_id,
            &columns.event_type,
            &columns.event_tags,
            &columns.event_metadata,
            &columns.event_data,
            &columns.tag_event,
            &columns.tag_key,
        ];
        let lookups = [
            &columns.recent_open,
            &columns.probe_after,
            &columns.probe_key,
        ];
        if columns.recent_open.count() == 0 {
            let insert = sqlx::query(statements.insert.clone());
            return events.into_iter().fold(insert, Bound::bind);
        }
        let insert = sqlx::query(statements.insert_by_key.clone());
        events.into_iter().chain(lookups).fold(insert, Bound::bind)
    }

    /// Whether the INSERT can append the batch, provided that the last event known is the last of the
    /// log. Ids that callers chose, tracked positions, commands, times, and open probes without a tag
    /// need `dcb.append`.
    pub(super) fn fits_insert(&self) -> bool {
        let columns = &self.columns;
        let lacks_a_key = columns.recent_open.count() > 0 && columns.probe_key.nulls() > 0;
        columns.recent_position.count() == 1
            && columns.known_id.count() == 0
            && columns.tracking_request.count() == 0
            && !self.keeps_more()
            && !lacks_a_key
    }

    /// Whether an open probe has several tags. The INSERT looks up one of their keys, and an event
    /// with that key may not match.
    pub(super) fn may_stay_open(&self) -> bool {
        self.opens_several_keys
    }

    fn keeps_more(&self) -> bool {
        self.columns.command_request.count() > 0 || self.columns.timed_event.count() > 0
    }

    fn add_event(&mut self, number: i32, event: &Event, id: uuid::Uuid, tag_keys: &[i64]) {
        let columns = &mut self.columns;
        columns.event_request.push_int4(number);
        columns.event_id.push(id.as_bytes());
        columns.event_type.push(event.event_type().as_bytes());
        columns
            .event_tags
            .push_with(|buffer| write_array(event.tags(), buffer));
        push_metadata(&mut columns.event_metadata, event);
        columns.event_data.push(event.data());
        if let Some(recorded_at) = event.recorded_at() {
            columns.timed_event.push_int4(columns.event_request.count());
            columns.timed_at.push_int8(postgres_micros(recorded_at));
        }
        // Two tags of an event may share a key, and `event_tag` takes each key of an event once.
        for same in tag_keys.chunk_by(|key, next| key == next) {
            self.tags.push((same[0], columns.event_request.count()));
        }
    }

    /// Adds the tags in index order. The server inserts them one by one, and neighbouring keys hit
    /// the same cached index pages.
    fn add_tags(&mut self) {
        self.tags.sort_unstable();
        for (key, event) in self.tags.drain(..) {
            self.columns.tag_event.push_int4(event);
            self.columns.tag_key.push_int8(key);
        }
    }

    fn add_known_id(&mut self, number: i32, id: uuid::Uuid) {
        self.columns.known_request.push_int4(number);
        self.columns.known_id.push(id.as_bytes());
    }

    fn add_condition(
        &mut self,
        condition: &AppendCondition,
        tag_keys: &[i64],
        recent: &mut RecentTags,
    ) {
        let columns = &mut self.columns;
        let after = Position::number_or_zero(Bookmark::position_of(condition.after));
        // The first probe checks the id for all of the condition's.
        let mut id = condition.after.and_then(|after| after.event_id);
        let mut is_id_known = condition.after.is_none_or(|after| recent.knows(after));
        for_each_probe(
            &condition.fail_if_events_match,
            |event_type, tags, tags_before| {
                // The first key that a tag can have has the type bits 0. Without a type, the server
                // searches from that key on.
                let type_bits = event_type.map_or(0, tag_key::type_bits);
                let item_keys = &tag_keys[tags_before..tags_before + tags.len()];
                let keys = item_keys.iter().map(|key| key | type_bits);
                let probe = recent.probe(after, keys.clone());
                columns
                    .probe_after
                    .push_int8(i64::try_from(after).unwrap_or(i64::MAX));
                columns.probe_key.push_optional_int8(probe.key);
                if columns.recent_id.count() == 0 {
                    // The place of the last event's id.
                    columns.recent_id.push_null();
                }
                match id.take() {
                    Some(id) => columns.recent_id.push(id.as_bytes()),
                    None => columns.recent_id.push_null(),
                }
                let is_id_open = !std::mem::replace(&mut is_id_known, true);
                if is_id_open || !probe.is_settled {
                    columns.recent_open.push_int4(columns.probe_after.count());
                }
                if !probe.is_settled {
                    // With a single tag there is nothing to choose, so its lookups don't matter.
                    if tags.len() > 1 {
                        self.opens_several_keys = true;
                        recent.count_lookup(keys);
                    }
                }
            },
        );
    }

    fn add_last(&mut self, last: EventRef) {
        self.columns
            .recent_position
            .push_int8(last.position.cast_signed());
        self.columns.recent_id.push(last.id.as_bytes());
    }

    fn add_tracking(&mut self, number: i32, tracking: &Tracking) {
        let columns = &mut self.columns;
        let position = i64::try_from(tracking.position()).unwrap_or(i64::MAX);
        columns.tracking_request.push_int4(number);
        columns.tracking_source.push(tracking.source().as_bytes());
        columns.tracking_position.push_int8(position);
    }

    fn add_command(&mut self, number: i32, command: &Command) {
        let columns = &mut self.columns;
        columns.command_request.push_int4(number);
        columns.command_type.push(command.command_type().as_bytes());
        push_metadata(&mut columns.command_metadata, command.content());
        columns.command_data.push(command.data());
    }
}

fn push_metadata(column: &mut Column, event: &Event) {
    if event.metadata().next().is_some() {
        column.push_with(|buffer| write_metadata(event, buffer));
    } else {
        column.push_null();
    }
}
