//! A bench target: it declares rows, then all of them are measured, saved and published.

mod running;
mod settings;

use crate::alone::Alone;
use crate::environment::Facts;
use crate::error::{BoxError, Error};
use crate::floor::Floor;
use crate::goal::Bound;
use crate::interrupt::Interrupt;
use crate::load::Load;
use crate::op::Op;
use crate::profile::Profile;
use crate::row::Row;
use crate::run::TargetRun;
use crate::workers;
use running::MeasuredRows;
use std::any::Any;
use std::collections::HashSet;
use std::process::ExitCode;
use tokio::runtime::Runtime;

pub use settings::{Settings, reports_folder, runs_folder};

/// The `main` of a bench target: runs `declare`, measures the rows that it declared, saves them
/// with the run and renders each page that the run is now complete for.
///
/// `name` is the target's name in Cargo.toml. The exit code is 0, 130 after Ctrl-C, and 1 with
/// the error on standard error otherwise.
pub fn target(name: &str, declare: impl Fn(&mut Target) -> Result<(), BoxError>) -> ExitCode {
    let ran = Settings::from_process().and_then(|settings| measure(name, settings, declare));
    match ran {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(if matches!(error, Error::Interrupted) {
                130
            } else {
                1
            })
        }
    }
}

/// [`target`] with settings of its own, returning what was saved.
/// `declare` is called once for each number of workers of the settings.
///
/// # Errors
/// The declaration's and the rows' errors; [`Error::DuplicateRow`], [`Error::MixedKinds`] and
/// [`Error::UnknownFloor`] before anything is measured; [`Error::Interrupted`]; errors of files.
pub fn measure(
    name: &str,
    mut settings: Settings,
    declare: impl Fn(&mut Target) -> Result<(), BoxError>,
) -> Result<TargetRun, Error> {
    let alone = settings.alone.as_deref();
    let _alone = alone.map(|file| Alone::wait(file, name)).transpose()?;
    let mut measured = MeasuredRows::default();
    for workers in settings.workers.clone() {
        let target = Target::declared(name, workers, &settings.profile, &declare)?;
        target.measure_rows(name, &mut settings.criterion, &mut measured)?;
    }
    running::save_and_publish(name, settings, measured)
}

/// Collects the rows of a bench target, and owns what they run on.
pub struct Target {
    // Dropped in this order: rows hold connections, `kept` the servers, both may need the runtime.
    entries: Vec<Entry>,
    kept: Vec<Box<dyn Any>>,
    facts: Facts,
    profile: Profile,
    interrupt: Interrupt,
    workers: usize,
    runtime: Runtime,
}

enum Entry {
    Measure(Row, Op),
    Load(Row, Load),
    Unmeasured(Row, String),
}

impl Entry {
    fn row(&self) -> &Row {
        let (Self::Measure(row, _) | Self::Load(row, _) | Self::Unmeasured(row, _)) = self;
        row
    }
}

impl Target {
    /// With the rows that `declare` declares, to run on so many workers.
    fn declared(
        name: &str,
        workers: usize,
        profile: &Profile,
        declare: impl Fn(&mut Self) -> Result<(), BoxError>,
    ) -> Result<Self, Error> {
        let runtime = workers::runtime(workers)?;
        let mut target = Self {
            entries: Vec::new(),
            kept: Vec::new(),
            facts: Facts::default(),
            profile: profile.clone(),
            interrupt: Interrupt::listen(&runtime),
            workers,
            runtime,
        };
        let declared = declare(&mut target);
        target.interrupt.check().map_err(|_| Error::Interrupted)?;
        declared.map_err(|source| Error::Declaration {
            target: name.to_owned(),
            source,
        })?;
        target.verify()?;
        Ok(target)
    }

    /// A row to measure, after all rows are declared and in their order.
    pub fn row(&mut self, row: Row, op: &Op) {
        self.entries.push(Entry::Measure(row, op.clone()));
    }

    /// A row that is a load: it has no floors, and says what came of the calls itself.
    pub fn load(&mut self, row: Row, load: Load) {
        self.entries.push(Entry::Load(row, load));
    }

    /// A row that can't be had here; its place in the tables says why.
    pub fn unmeasured(&mut self, row: Row, reason: impl Into<String>) {
        self.entries.push(Entry::Unmeasured(row, reason.into()));
    }

    /// The list that the head of the pages prints.
    pub fn facts(&self) -> Facts {
        self.facts.clone()
    }

    /// How long and on how much data to measure.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Runs a future on the runtime that the rows will run on, until Ctrl-C.
    ///
    /// # Errors
    /// The future's own, or that it was interrupted.
    pub fn block_on<T>(
        &self,
        future: impl Future<Output = Result<T, BoxError>>,
    ) -> Result<T, BoxError> {
        self.runtime.block_on(async {
            tokio::select! {
                done = future => done,
                stopped = self.interrupt.wait() => Err(stopped),
            }
        })
    }

    /// Keeps a value, such as a server, until the last row has been measured.
    pub fn keep(&mut self, value: impl Any) {
        self.kept.push(Box::new(value));
    }

    fn verify(&self) -> Result<(), Error> {
        let mut ids = HashSet::new();
        for entry in &self.entries {
            let id = entry.row().id();
            if let Entry::Measure(row, op) = entry {
                verify_floors(&id, row, op)?;
            }
            if !ids.insert(id.clone()) {
                return Err(Error::DuplicateRow { id });
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target")
            .field("rows", &self.entries.len())
            .finish_non_exhaustive()
    }
}

fn verify_floors(id: &str, row: &Row, op: &Op) -> Result<(), Error> {
    if let Some(floor) = row
        .floors
        .iter()
        .find(|f| f.op.is_blocking() != op.is_blocking())
    {
        return Err(Error::MixedKinds {
            id: id.to_owned(),
            floor: floor.name.to_string(),
        });
    }
    let is_floor = |name: &str| row.floors.iter().any(|floor: &Floor| &*floor.name == name);
    for goal in &row.declared.goals {
        if let Bound::TimesFloor { floor, .. }
        | Bound::ShareOfFloor { floor, .. }
        | Bound::AllocationsAboveFloor { floor, .. } = &goal.bound
            && !is_floor(floor)
        {
            return Err(Error::UnknownFloor {
                id: id.to_owned(),
                floor: floor.clone(),
            });
        }
    }
    Ok(())
}
