//! The command log: encoding the commands of a batch, and reading the log.

use sqlx::Postgres;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;

use super::PostgresStore;
use super::column::{Column, Element};
use super::plan::Plan;
use super::request::Request;
use super::row;
use super::text_form::write_metadata;
use crate::{Command, Error, Position, RecordedCommand};

/// The commands of a batch, as the parameters of `dcb.keep_commands`. They follow the parameters of
/// the batch.
#[derive(Debug)]
pub(super) struct Commands {
    columns: [Column; ELEMENTS.len()],
    is_empty: bool,
}

/// Request, type, metadata, data.
const ELEMENTS: [Element; 4] = [Element::Int4, Element::Text, Element::Text, Element::Bytea];

impl Default for Commands {
    fn default() -> Self {
        Self {
            columns: ELEMENTS.map(Column::new),
            is_empty: true,
        }
    }
}

impl Commands {
    /// Encodes the commands of the requests whose events are sent.
    pub(super) fn fill(&mut self, requests: &[Request], plan: &Plan) {
        self.columns.iter_mut().for_each(Column::clear);
        self.is_empty = true;
        for (index, request) in requests.iter().enumerate() {
            if let Some(command) = request
                .append
                .command
                .as_ref()
                .filter(|_| plan.is_sent(index))
            {
                let number = i32::try_from(index + 1).expect("a batch is bounded far below");
                self.add(number, command);
            }
        }
    }

    /// Whether the batch has no commands, so that the shorter statement will do.
    pub(super) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Appends the parameters to those of the batch.
    pub(super) fn bind<'q>(
        &'q self,
        batch: Query<'q, Postgres, PgArguments>,
    ) -> Query<'q, Postgres, PgArguments> {
        self.columns.iter().fold(batch, Query::bind)
    }

    fn add(&mut self, number: i32, command: &Command) {
        let [request, command_type, metadata, data] = &mut self.columns;
        request.push_int4(number);
        command_type.push(command.command_type().as_bytes());
        if command.metadata().next().is_some() {
            metadata.push_with(|buffer| write_metadata(command.content(), buffer));
        } else {
            metadata.push_null();
        }
        data.push(command.data());
        self.is_empty = false;
    }
}

impl PostgresStore {
    pub(super) async fn kept_commands(
        &self,
        after: Option<Position>,
        limit: u64,
    ) -> Result<Vec<RecordedCommand>, Error> {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let after = number(Position::number_or_zero(after));
        let sql = &self.shared.statements.commands;
        let rows = self
            .shared
            .readers
            .rows(|| sqlx::query(sql.clone()).bind(after).bind(number(limit)))
            .await?;
        rows.iter().map(row::command).collect()
    }
}
