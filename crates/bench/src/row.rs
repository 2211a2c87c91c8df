use crate::error::BoxError;
use crate::floor::Floor;
use crate::goal::Goal;
use serde::{Deserialize, Serialize};

/// Whether a row does what the published row really did, or what its heading says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The same op as the published row, its shortcuts included.
    AsInTheSeed,
    /// With the dataset loaded, past events there and conflicts that conflict.
    OnTheDataset,
}

/// What must come of the calls of every op; seen otherwise, the run fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Every call succeeds.
    AllSucceed,
    /// Every call is refused.
    AllRefused,
    /// Exactly so many calls of an op succeed, the others are refused.
    Winners(u64),
    /// Any mixture; the rates are reported.
    Any,
}

impl Expect {
    pub(crate) fn check(self, successes: u64, calls: u64) -> Result<(), BoxError> {
        let expected = match self {
            Self::AllSucceed => calls,
            Self::AllRefused => 0,
            Self::Winners(winners) => winners,
            Self::Any => return Ok(()),
        };
        if successes == expected {
            return Ok(());
        }
        Err(format!("{successes} of {calls} calls succeeded, expected were {expected}").into())
    }
}

/// A table of a page that rows fill, by a name of its own: `"append"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub &'static str);

/// What a benchmark declares of a row. Its published figures are found by operation, dataset,
/// concurrency and events in the tables that it fills.
#[derive(Debug, Clone)]
pub struct Row {
    pub(crate) declared: Declared,
    pub(crate) expect: Expect,
    pub(crate) floors: Vec<Floor>,
}

/// The part of a row that is saved with its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Declared {
    /// The operation as the published page names it.
    pub operation: String,
    /// The dataset.
    pub dataset: String,
    /// Callers of one op.
    pub concurrency: usize,
    /// Events that a call writes or reads.
    pub events: u64,
    /// Events made before to conflict with the call.
    pub conflict_events: u64,
    /// See [`Reading`].
    pub reading: Reading,
    /// What tells this row from another with the same operation, dataset, concurrency and events.
    pub variant: Option<String>,
    /// The server where it is not the page's own: `"Docker"`.
    pub server: Option<String>,
    /// What one op is, in words.
    pub one_op: String,
    /// The tables that the row fills.
    pub fills: Vec<String>,
    /// What the row is to reach.
    pub goals: Vec<Goal>,
}

impl Row {
    /// A row of one caller and one event, as in the seed, that fills no table yet.
    pub fn new(operation: &str, dataset: &str) -> Self {
        let declared = Declared {
            operation: operation.to_owned(),
            dataset: dataset.to_owned(),
            concurrency: 1,
            events: 1,
            conflict_events: 0,
            reading: Reading::AsInTheSeed,
            variant: None,
            server: None,
            one_op: String::new(),
            fills: Vec::new(),
            goals: Vec::new(),
        };
        Self {
            declared,
            expect: Expect::AllSucceed,
            floors: Vec::new(),
        }
    }

    /// Callers of one op.
    #[must_use]
    pub fn concurrency(mut self, callers: usize) -> Self {
        self.declared.concurrency = callers;
        self
    }

    /// Events that a call writes or reads.
    #[must_use]
    pub fn events(mut self, events: u64) -> Self {
        self.declared.events = events;
        self
    }

    /// Events made before to conflict with the call.
    #[must_use]
    pub fn conflict_events(mut self, events: u64) -> Self {
        self.declared.conflict_events = events;
        self
    }

    /// Says that the row does what its heading says; see [`Reading::OnTheDataset`].
    #[must_use]
    pub fn on_the_dataset(mut self) -> Self {
        self.declared.reading = Reading::OnTheDataset;
        self
    }

    /// What tells this row from another with the same operation, dataset, concurrency and events.
    #[must_use]
    pub fn variant(mut self, variant: impl Into<String>) -> Self {
        self.declared.variant = Some(variant.into());
        self
    }

    /// The server where it is not the page's own.
    #[must_use]
    pub fn server(mut self, server: impl Into<String>) -> Self {
        self.declared.server = Some(server.into());
        self
    }

    /// What one op is, in words, listed under the table.
    #[must_use]
    pub fn one_op(mut self, text: impl Into<String>) -> Self {
        self.declared.one_op = text.into();
        self
    }

    /// A table that the row fills, besides those named before.
    #[must_use]
    pub fn fills(mut self, table: TableId) -> Self {
        self.declared.fills.push(table.0.to_owned());
        self
    }

    /// A floor measured between the ops of this row, besides those named before. The first is
    /// the one whose ratio stands in the row's table.
    #[must_use]
    pub fn floor(mut self, floor: &Floor) -> Self {
        self.floors.push(floor.clone());
        self
    }

    /// What must come of the calls; [`Expect::AllSucceed`] where nothing is said.
    #[must_use]
    pub fn expect(mut self, expect: Expect) -> Self {
        self.expect = expect;
        self
    }

    /// A figure to reach. A floor that it names must be a floor of this row.
    #[must_use]
    pub fn goal(mut self, goal: Goal) -> Self {
        self.declared.goals.push(goal);
        self
    }

    /// The name of the row, stable over runs: see [`Declared::id`].
    pub fn id(&self) -> String {
        self.declared.id()
    }
}

impl Declared {
    /// `Append/Tiny/C100/E1`, then the variant, `on_the_dataset` and the server where the row has
    /// them, without spaces.
    pub fn id(&self) -> String {
        let mut id = format!(
            "{}/{}/C{}/E{}",
            self.operation, self.dataset, self.concurrency, self.events
        );
        if self.reading == Reading::OnTheDataset {
            id.push_str("/on_the_dataset");
        }
        for part in [&self.variant, &self.server].into_iter().flatten() {
            id.push('/');
            id.push_str(part);
        }
        id.replace(char::is_whitespace, "_")
    }
}
