//! Encodes a batch of requests as the parameters of `message_store.write_batch`.

use std::collections::HashMap;

use postgres_store::Column;
use postgres_store::Element::{self, Int4, Int8, Text, Uuid as Id};
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{Postgres, SqlStr};
use uuid::Uuid;

use super::plan::Plan;
use super::request::Request;
use crate::{Message, StreamWrite};

/// The parameters of a batch. The writer reuses their buffers from batch to batch.
#[derive(Debug)]
pub(super) struct Batch {
    columns: [Column; ELEMENTS.len()],
    entries: i32,
}

/// The array parameters of `message_store.write_batch`, in order.
const ELEMENTS: [Element; 13] = [
    Int8, // lock keys
    Int4, Text, Int8, Int8, // entry: request, stream, lock, expected
    Int4, Int4, Id, Text, Text,
    Text, // message: entry, number in its stream, id, type, data, metadata
    Int4, Id, // known: request, id
];

impl Default for Batch {
    fn default() -> Self {
        Self {
            columns: ELEMENTS.map(Column::new),
            entries: 0,
        }
    }
}

impl Batch {
    /// Encodes a batch. A request that the plan defers contributes only the ids that its caller
    /// chose: the server looks those up for every request.
    pub(super) fn fill(&mut self, requests: &[Request], plan: &Plan) {
        self.columns.iter_mut().for_each(Column::clear);
        self.entries = 0;
        let mut locks = Vec::with_capacity(requests.len());
        let mut stream_lengths: HashMap<&str, i32> = HashMap::with_capacity(requests.len());
        for (index, request) in requests.iter().enumerate() {
            let number = i32::try_from(index + 1).expect("a batch has fewer than 2^31 requests");
            for id in request.known_ids() {
                self.add_known_id(number, id);
            }
            if !plan.is_sent(index) {
                continue;
            }
            let mut ids = request.ids.iter();
            for (write, lock) in request.writes.iter().zip(&request.locks) {
                locks.push(*lock);
                self.add_entry(number, write, *lock);
                // Several requests of a batch may write to one stream. The message numbers continue
                // from one request to the next.
                let stream_length = stream_lengths.entry(write.stream.as_str()).or_default();
                for (message, id) in write.messages.iter().zip(&mut ids) {
                    *stream_length += 1;
                    self.add_message(*stream_length, message, *id);
                }
            }
        }
        // Locks are taken in the order of their keys, so that two batches can't deadlock.
        locks.sort_unstable();
        locks.dedup();
        locks.iter().for_each(|key| self.columns[0].push_int8(*key));
    }

    /// Binds the parameters to the statement.
    pub(super) fn bind<'q>(
        &'q self,
        write: SqlStr,
        wait_for_locks: bool,
        channel: Option<&'q str>,
    ) -> Query<'q, Postgres, PgArguments> {
        let statement = sqlx::query(write);
        let statement = self.columns.iter().fold(statement, Query::bind);
        statement.bind(wait_for_locks).bind(channel)
    }

    fn add_entry(&mut self, number: i32, write: &StreamWrite, key: i64) {
        let [_, request, stream, lock, expected, ..] = &mut self.columns;
        request.push_int4(number);
        stream.push(write.stream.as_str().as_bytes());
        lock.push_int8(key);
        expected.push_optional_int8(write.expected_version.number());
        self.entries += 1;
    }

    fn add_message(&mut self, number: i32, message: &Message, message_id: Uuid) {
        let [
            _,
            _,
            _,
            _,
            _,
            entry,
            number_in_stream,
            id,
            message_type,
            data,
            metadata,
            ..,
        ] = &mut self.columns;
        entry.push_int4(self.entries);
        number_in_stream.push_int4(number);
        id.push(message_id.as_bytes());
        message_type.push(message.message_type().as_bytes());
        data.push(message.data_json().as_bytes());
        metadata.push_optional_text(message.metadata_json());
    }

    fn add_known_id(&mut self, number: i32, known_id: Uuid) {
        let [.., request, id] = &mut self.columns;
        request.push_int4(number);
        id.push(known_id.as_bytes());
    }
}
