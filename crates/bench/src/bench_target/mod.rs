//! Targets: each target declares rows, which are then measured, saved and published.
//!
//! A target is a group of rows, such as `append`; a run saves one file per target. One bench
//! program holds several targets, so that they share slow set-up: the build, servers, loaded
//! datasets.

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
use crate::report::Page;
use crate::row::Row;
use crate::run::TargetRun;
use crate::workers;
use running::MeasuredRows;
use std::collections::HashSet;
use std::process::ExitCode;
use tokio::runtime::Runtime;

pub use settings::{Settings, reports_folder, runs_folder};

/// Declares the rows of a target.
pub type Declare<'a> = dyn Fn(&mut Target) -> Result<(), BoxError> + 'a;

/// The `main` of a bench program with one target, named like the program in Cargo.toml.
/// See [`targets`].
pub fn target(name: &str, declare: impl Fn(&mut Target) -> Result<(), BoxError>) -> ExitCode {
    targets(name, &[(name, &declare)])
}

/// The `main` of a bench program: for each target in turn, runs its declaration, measures the
/// declared rows, saves them with the run and renders each page that the run now completes.
///
/// `program` is the program's name in Cargo.toml. A target saves nothing if the filter leaves out
/// all its rows. A declaration should only declare rows. Servers and data belong in the set-up of a
/// row, which runs only if the row is measured.
///
/// The exit code is 0 on success and 130 after Ctrl-C. After any other error it is 1, and the error
/// is printed on standard error.
pub fn targets(program: &str, targets: &[(&str, &Declare<'_>)]) -> ExitCode {
    match measure_each(program, targets) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            // 130 is the shell's convention for a program that SIGINT ended.
            ExitCode::from(if matches!(error, Error::Interrupted) {
                130
            } else {
                1
            })
        }
    }
}

fn measure_each(program: &str, targets: &[(&str, &Declare<'_>)]) -> Result<(), Error> {
    let mut settings = Settings::from_process()?;
    let alone = settings.alone.as_deref();
    let _alone = alone.map(|file| Alone::wait(file, program)).transpose()?;
    for (name, declare) in targets {
        let measured = measure_rows(name, &mut settings, declare)?;
        // A target that the filter leaves out would save an empty file.
        if measured.has_rows() {
            running::save_and_publish(name, &settings, measured)?;
        }
    }
    Ok(())
}

/// Measures one target with the given settings and returns its saved results. Calls `declare` once
/// for each number of workers in the settings.
///
/// # Errors
/// Before anything is measured: the declaration's error, [`Error::DuplicateRow`],
/// [`Error::MixedKinds`], [`Error::UnknownFloor`] or [`Error::UnknownTable`]. Later: the errors of rows and of files, and
/// [`Error::Interrupted`].
pub fn measure(
    name: &str,
    mut settings: Settings,
    declare: impl Fn(&mut Target) -> Result<(), BoxError>,
) -> Result<TargetRun, Error> {
    let alone = settings.alone.as_deref();
    let _alone = alone.map(|file| Alone::wait(file, name)).transpose()?;
    let measured = measure_rows(name, &mut settings, &declare)?;
    running::save_and_publish(name, &settings, measured)
}

fn measure_rows(
    name: &str,
    settings: &mut Settings,
    declare: &Declare<'_>,
) -> Result<MeasuredRows, Error> {
    let mut measured = MeasuredRows::default();
    for workers in settings.workers.clone() {
        let target = Target::declared(name, workers, &settings.profile, declare)?;
        target.verify(&settings.pages)?;
        target.measure_rows(name, &mut settings.criterion, &mut measured)?;
    }
    Ok(measured)
}

/// Collects the rows of a target, and owns their runtime.
pub struct Target {
    // Dropped before the runtime: rows hold connections, which may need it.
    entries: Vec<Entry>,
    facts: Facts,
    profile: Profile,
    interrupt: Interrupt,
    workers: usize,
    runtime: Runtime,
}

enum Entry {
    Measure(Row, Op),
    /// One load, or several that take turns.
    Loads(Vec<(Row, Load)>),
    Unmeasured(Row, String),
}

impl Entry {
    fn rows(&self) -> Vec<&Row> {
        match self {
            Self::Measure(row, _) | Self::Unmeasured(row, _) => vec![row],
            Self::Loads(loads) => loads.iter().map(|(row, _)| row).collect(),
        }
    }
}

impl Target {
    /// A target with the rows of `declare`, to run on `workers` threads.
    fn declared(
        name: &str,
        workers: usize,
        profile: &Profile,
        declare: &Declare<'_>,
    ) -> Result<Self, Error> {
        let runtime = workers::runtime(workers)?;
        let mut target = Self {
            entries: Vec::new(),
            facts: Facts::default(),
            profile: profile.clone(),
            interrupt: Interrupt::listen(),
            workers,
            runtime,
        };
        let declared = declare(&mut target);
        // Ctrl-C makes declarations fail with various errors. Report the cause.
        target.interrupt.check().map_err(|_| Error::Interrupted)?;
        declared.map_err(|source| Error::Declaration {
            target: name.to_owned(),
            source,
        })?;
        Ok(target)
    }

    /// Adds a row. Once the declaration is done, the rows are measured in the order in which they
    /// were added.
    pub fn row(&mut self, row: Row, op: &Op) {
        self.entries.push(Entry::Measure(row, op.clone()));
    }

    /// Adds a load: a row without floors that counts the outcomes of its calls itself.
    pub fn load(&mut self, row: Row, load: Load) {
        self.take_turns(vec![(row, load)]);
    }

    /// Adds loads that take turns, such as a row and the row that bounds it, so that a machine that slows down
    /// for a while slows down all of them. Their set-ups run first, one after the other.
    pub fn take_turns(&mut self, loads: Vec<(Row, Load)>) {
        self.entries.push(Entry::Loads(loads));
    }

    /// Adds a row that cannot be measured here. The tables show the reason in its place.
    pub fn unmeasured(&mut self, row: Row, reason: impl Into<String>) {
        self.entries.push(Entry::Unmeasured(row, reason.into()));
    }

    /// The facts that the head of the pages prints.
    pub fn facts(&self) -> Facts {
        self.facts.clone()
    }

    /// The profile: the time per row and the amount of data.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Runs a future on the runtime of the rows, until Ctrl-C.
    ///
    /// # Errors
    /// The error of the future, or "interrupted" after Ctrl-C.
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

    fn verify(&self, pages: &[Page]) -> Result<(), Error> {
        let mut ids = HashSet::new();
        let tables: HashSet<&str> = pages.iter().flat_map(Page::tables).collect();
        for entry in &self.entries {
            if let Entry::Measure(row, op) = entry {
                verify_floors(&row.id(), row, op)?;
            }
        }
        for row in self.entries.iter().flat_map(Entry::rows) {
            let id = row.id();
            let mut fills = row.declared.fills.iter();
            // The row would be on no page.
            if let Some(table) = fills.find(|table| !tables.contains(table.as_str())) {
                let table = table.clone();
                return Err(Error::UnknownTable { id, table });
            }
            // Saved runs and comparisons identify rows by id.
            if !ids.insert(id.clone()) {
                return Err(Error::DuplicateRow { id });
            }
        }
        self.verify_compared_rows(&ids)
    }

    fn verify_compared_rows(&self, ids: &HashSet<String>) -> Result<(), Error> {
        for row in self.entries.iter().flat_map(Entry::rows) {
            let goals = row.declared.goals.iter();
            let mut compared = goals.filter_map(|goal| goal.bound.other_row());
            if let Some(other) = compared.find(|other| !ids.contains(*other)) {
                let other = other.to_owned();
                return Err(Error::UnknownRow {
                    id: row.id(),
                    other,
                });
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
    // A goal refers to a floor by name. Without this check, a typo would only show up on the page.
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
