//! The cells that the tables of all targets are made of: every reading of every dataset, for each
//! number of callers and of events.

use super::log::Log;
use super::rows::{self, Reading, Size};
use super::server::Server;
use bench::pages::local_postgresql as page;
use bench::{BoxError, Floor, Op, Row, Target};
use std::sync::Arc;

/// One row of the tables, without what it does.
pub(crate) struct Cell {
    pub(crate) log: Log,
    pub(crate) reading: Reading,
    pub(crate) size: Size,
    pub(crate) callers: usize,
    /// Events that a call writes, or that the log of a reading row ends with.
    pub(crate) events: usize,
}

impl Cell {
    /// The row of this operation in this cell.
    pub(crate) fn row(&self, operation: &str) -> Row {
        let row = Row::new(operation, self.size.label);
        self.reading
            .of(row)
            .concurrency(self.callers)
            .events(self.events as u64)
    }

    /// `1 append`, `100 parallel appends`.
    pub(crate) fn calls(&self, one: &str, several: &str) -> String {
        rows::calls(self.callers, one, several)
    }

    /// Whether it is the one of a comparison between servers.
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

/// The tables of a target: what their cells have in common.
pub(crate) struct Tables {
    pub(crate) local: Arc<Server>,
    pub(crate) sizes: Vec<Size>,
    access: Access,
}

impl Tables {
    /// Tables on a server of the target's own.
    pub(crate) fn start(target: &mut Target, access: Access) -> Result<Self, BoxError> {
        Ok(Self {
            local: Server::local(target)?,
            sizes: Size::of_tables(target.profile()),
            access,
        })
    }

    /// The cells, dataset by dataset. Those of one dataset and reading share a log.
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

    /// Declares the row of one caller a second time, on Docker, by turns with the same op on the
    /// local server; where there is no Docker, the rows say why. They fill the comparison alone.
    pub(crate) fn beside_docker(
        &self,
        target: &mut Target,
        events: usize,
        row: impl Fn(&Cell) -> (Row, Op),
    ) -> Result<(), BoxError> {
        let docker = Server::docker(target)?;
        let of_docker = |row: Row| row.server("Docker").fills(page::COMPARISON);
        let local = self
            .cells(&[1], &[events])
            .into_iter()
            .map(|cell| row(&cell));
        match docker {
            Ok(docker) => {
                let there = self.cells_on(&docker, &[1], &[events]);
                for (there, (_, here)) in there.into_iter().zip(local) {
                    let (row, op) = row(&there);
                    let floor = Floor::new("local", "the same op on the local server", &here);
                    target.row(of_docker(row).floor(&floor), &op);
                }
            }
            Err(reason) => {
                for (row, _) in local {
                    target.unmeasured(of_docker(row), reason.clone());
                }
            }
        }
        Ok(())
    }
}
