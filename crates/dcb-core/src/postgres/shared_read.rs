//! One statement for the short reads of several callers.
//!
//! The server takes about as long to start, answer and end a statement as to read a hundred events.
//! So a run that gets a connection reads for other waiting callers too. `coalesce.rs` chooses which.
//!
//! Invariant: no caller gets the error of a shared statement. If the statement fails, each of its
//! callers reads alone. Tested by `short_reads.rs`.

use std::sync::Arc;

use postgres_store::Element::{Int8, Text};
use postgres_store::{Bound, Column, Lease};
use sqlx::SqlStr;
use sqlx::postgres::PgRow;

use super::answer::{Answer, Found, MAX_BYTES, limit};
use super::readers::Readers;
use super::row;
use super::selection::{Selection, Shape, Wanted, for_each_probe};
use super::statements::Statements;
use super::text_form::write_array;
use crate::bounds::Bounds;
use crate::{Query, ReadOptions};

type Read = Arc<(Query, ReadOptions)>;

/// Reads short ranges, all forwards, in one statement on this connection. Returns an answer for each
/// read: `None` if its range turns out to be long. Returns no answers if the statement fails, or if
/// the events take too much memory.
pub(super) async fn read_together(
    readers: &Readers,
    statements: &Statements,
    connection: Lease,
    reads: &[Read],
) -> Vec<Option<Found>> {
    let (statement, filters) = bind(statements.read_together.clone(), reads);
    let start = reads.iter().map(|read| Answer::new(read.1.limit)).collect();
    let take = |answers: &mut Vec<Answer>, row| take(answers, &filters, &row);
    let answers = readers.try_fold_on(connection, statement, start, take);
    let answers = answers.await.unwrap_or_default();
    let answers = answers.into_iter().zip(reads);
    answers
        .map(|(answer, read)| readers.found_by_short_read(answer, read.1))
        .collect()
}

/// Adds a row of [`Statements::read_together`].
fn take(answers: &mut [Answer], filters: &[Option<&Query>], row: &PgRow) -> Option<()> {
    let Some(index) = row::read_index(row).ok()? else {
        // All reads have the head of the same snapshot.
        return answers
            .iter_mut()
            .enumerate()
            .try_for_each(|(index, answer)| answer.begin(row, index).ok());
    };
    answers.get_mut(index)?.take(filters[index], row).ok()?;
    let size_bytes: usize = answers.iter().map(|answer| answer.size_bytes).sum();
    (size_bytes <= MAX_BYTES).then_some(())
}

/// Binds the parameters of [`Statements::read_together`]. Also returns the filter of each read: its
/// query if the rows are not exactly its events.
fn bind(sql: SqlStr, reads: &[Read]) -> (Bound<'static>, Vec<Option<&Query>>) {
    let mut columns = [Int8, Int8, Int8, Text, Text, Int8].map(Column::new);
    let [above, below, limits, types, tags, afters] = &mut columns;
    let mut filters = Vec::with_capacity(reads.len());
    for (query, options) in reads.iter().map(|read| &**read) {
        let selection = Selection::new(query);
        // A row of parameters has no place for several tags or alternatives.
        let is_exact = selection.general != Shape::Probes;
        let bounds = Bounds::of(*options);
        above.push_int8(bounds.above);
        below.push_int8(bounds.below);
        // The limit counts wanted events, and the server does not know them if there is a filter.
        limits.push_optional_int8(limit(*options).filter(|_| is_exact));
        push_types(types, query);
        tags.push_optional_text(match selection.wanted {
            Wanted::Names { tag, .. } => tag,
            _ => None,
        });
        afters.push_optional_int8(checked_position(*options));
        filters.push((!is_exact).then_some(query));
    }
    let statement = columns.iter().fold(sqlx::query(sql), Bound::bind);
    (statement, filters)
}

/// The position whose event the reader has seen, if it knows the id.
fn checked_position(options: ReadOptions) -> Option<i64> {
    let after = options.after.filter(|after| after.event_id.is_some())?;
    Some(i64::try_from(after.position.get()).unwrap_or(i64::MAX))
}

/// Adds the types of the query as an array literal; NULL if an item has none.
fn push_types(column: &mut Column, query: &Query) {
    let mut types = Vec::new();
    for_each_probe(query, |event_type, _, _| types.push(event_type));
    match types.into_iter().collect::<Option<Vec<_>>>() {
        Some(types) => column.push_with(|buffer| write_array(types.into_iter(), buffer)),
        None => column.push_null(),
    }
}
