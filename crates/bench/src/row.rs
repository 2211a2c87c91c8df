use crate::floor::Floor;
use crate::goal::Goal;
use crate::op::Expect;
use serde::{Deserialize, Serialize};

/// How to read a published row: as the op that its benchmark runs, or as the op that its heading
/// describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The op of the published benchmark, including its shortcuts.
    AsInTheSeed,
    /// The op of the heading: the dataset is loaded, past events exist, and conflicts are real.
    OnTheDataset,
}

/// The speed and steadiness of a row's ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    Usual,
    /// Only the processor determines the time of an op.
    Steady,
    /// An op takes about a second.
    LongOps,
}

/// The declaration of a row. A table finds the published figures for the row by its operation,
/// dataset, concurrency and events.
#[derive(Debug, Clone)]
pub struct Row {
    pub(crate) declared: Declared,
    pub(crate) expect: Expect,
    pub(crate) pace: Pace,
    pub(crate) floors: Vec<Floor>,
}

/// The part of a row that is saved with its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Declared {
    /// The name of the operation on the published page.
    pub operation: String,
    /// The dataset.
    pub dataset: String,
    /// Callers of one op.
    pub concurrency: usize,
    /// Events that a call writes or reads.
    pub events: u64,
    /// Events appended before an op to conflict with its calls.
    pub conflict_events: u64,
    /// See [`Reading`].
    pub reading: Reading,
    /// The difference from other rows with the same operation, dataset, concurrency and events.
    pub variant: Option<String>,
    /// The server, unless it is the page's usual one: `"Docker"`.
    pub server: Option<String>,
    /// One op in words.
    pub one_op: String,
    /// The tables that the row fills.
    pub fills: Vec<String>,
    /// The goals of the row.
    pub goals: Vec<Goal>,
}

impl Row {
    /// A row with one caller, one event and [`Reading::AsInTheSeed`] that fills no table yet.
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
            pace: Pace::Usual,
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

    /// Events appended before an op to conflict with its calls.
    #[must_use]
    pub fn conflict_events(mut self, events: u64) -> Self {
        self.declared.conflict_events = events;
        self
    }

    /// Marks the row as [`Reading::OnTheDataset`].
    #[must_use]
    pub fn on_the_dataset(mut self) -> Self {
        self.declared.reading = Reading::OnTheDataset;
        self
    }

    /// The difference from other rows with the same operation, dataset, concurrency and events.
    #[must_use]
    pub fn variant(mut self, variant: impl Into<String>) -> Self {
        self.declared.variant = Some(variant.into());
        self
    }

    /// The server, unless it is the page's usual one.
    #[must_use]
    pub fn server(mut self, server: impl Into<String>) -> Self {
        self.declared.server = Some(server.into());
        self
    }

    /// One op in words, listed under the table.
    #[must_use]
    pub fn one_op(mut self, text: impl Into<String>) -> Self {
        self.declared.one_op = text.into();
        self
    }

    /// Adds a table that the row fills, by its name on the pages.
    #[must_use]
    pub fn fills(mut self, table: &str) -> Self {
        self.declared.fills.push(table.to_owned());
        self
    }

    /// Adds a floor, which takes turns with the row. The table shows the ratio to the first floor.
    #[must_use]
    pub fn floor(mut self, floor: &Floor) -> Self {
        self.floors.push(floor.clone());
        self
    }

    /// The expected outcomes of the calls; [`Expect::AllSucceed`] by default.
    #[must_use]
    pub fn expect(mut self, expect: Expect) -> Self {
        self.expect = expect;
        self
    }

    /// Marks a row whose ops involve neither a disk nor another process. Its interval is narrow, so
    /// a quick run measures it for a shorter time.
    #[must_use]
    pub fn steady(mut self) -> Self {
        self.pace = Pace::Steady;
        self
    }

    /// Marks a row whose ops take about a second. A quick run takes as few samples as
    /// Criterion allows.
    #[must_use]
    pub fn long_ops(mut self) -> Self {
        self.pace = Pace::LongOps;
        self
    }

    /// Adds a goal. If it names a floor, the row must have that floor.
    #[must_use]
    pub fn goal(mut self, goal: Goal) -> Self {
        self.declared.goals.push(goal);
        self
    }

    /// The name of the row, which is the same in every run; see [`Declared::id`].
    pub fn id(&self) -> String {
        self.declared.id()
    }
}

impl Declared {
    /// `Append/Tiny/C100/E1`, followed by `on_the_dataset`, the variant and the server if the row
    /// has them. Spaces become underscores.
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
