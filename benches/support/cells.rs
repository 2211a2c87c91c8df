//! The cells of a target's tables: every reading of every dataset, for each number of callers and
//! events.

use super::log::Log;
use super::rows::{self, Reading};
use super::server::{Server, Servers};
use super::size::Size;
use bench::{Floor, Op, Row, Target};
use std::sync::Arc;

/// One row of the tables, without its operation.
pub(crate) struct Cell {
    pub(crate) log: Log,
    pub(crate) reading: Reading,
    pub(crate) size: Size,
    pub(crate) callers: usize,
    /// Events that a call writes. For rows that read: events at the end of the log.
    pub(crate) events: usize,
}

impl Cell {
    /// The row of an operation in this cell.
    pub(crate) fn row(&self, operation: &str) -> Row {
        let row = Row::new(operation, self.size.label);
        self.reading
            .mark(row)
            .concurrency(self.callers)
            .events(self.events as u64)
    }

    /// `1 append`, `100 parallel appends`.
    pub(crate) fn calls(&self, one: &str, several: &str) -> String {
        rows::calls(self.callers, one, several)
    }

    /// True for the cells of the comparison between servers.
    pub(crate) fn is_compared(&self) -> bool {
        self.callers == 1
    }
}

/// Whether the rows of a table write to their logs or read from them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Write,
    Read,
}

/// The tables of a target: their server, datasets and kind of access.
pub(crate) struct Tables {
    pub(crate) local: Arc<Server>,
    pub(crate) sizes: Vec<Size>,
    access: Access,
}

impl Tables {
    /// Tables on the local server.
    pub(crate) fn new(target: &Target, servers: &Servers, access: Access) -> Self {
        Self {
            local: servers.local(target),
            sizes: Size::of_tables(target.profile()),
            access,
        }
    }

    /// The cells: all datasets in the first reading, then all datasets in the second. Cells of the
    /// same dataset and reading share a log.
    pub(crate) fn cells(&self, callers: &[usize], events: &[usize]) -> Vec<Cell> {
        self.cells_on(&self.local, callers, events)
    }

    fn cells_on(&self, server: &Arc<Server>, callers: &[usize], events: &[usize]) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (reading, &size) in rows::product(Reading::BOTH, &self.sizes) {
            let log = match self.access {
                Access::Write => reading.write_log(server, size),
                Access::Read => reading.read_log(server, size),
            };
            cells.extend(
                rows::product(callers.iter().copied(), events.iter().copied()).map(
                    |(callers, events)| Cell {
                        log: log.clone(),
                        reading,
                        size,
                        callers,
                        events,
                    },
                ),
            );
        }
        cells
    }

    /// Declares the row of one caller a second time, on a server in Docker. Its floor is the same
    /// op on the local server. These rows fill only the comparison table.
    pub(crate) fn beside_docker(
        &self,
        target: &mut Target,
        servers: &Servers,
        events: usize,
        row: impl Fn(&Cell) -> (Row, Op),
    ) {
        let docker = servers.docker(target);
        let on_docker = self.cells_on(&docker, &[1], &[events]);
        // Both lists have the same order, because they come from the same tables.
        for (on_docker, local) in on_docker.iter().zip(self.cells(&[1], &[events])) {
            let (docker_row, docker_op) = row(on_docker);
            let (_, local_op) = row(&local);
            let floor = Floor::new("local", "the same op on the local server", &local_op);
            let docker_row = docker_row.server("Docker").fills("comparison");
            target.row(docker_row.floor(&floor), &docker_op);
        }
    }
}
