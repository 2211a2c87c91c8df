use crate::alone::Alone;
use crate::environment::Environment;
use crate::error::Error;
use crate::pages;
use crate::profile::Profile;
use crate::profiler::RowProfiler;
use crate::report::Page;
use crate::run::{Parent, RunId};
use crate::workers;
use criterion::Criterion;
use std::path::{Path, PathBuf};

/// The settings of a run: its identity, its folders and its sampling.
pub struct Settings {
    /// The time per row.
    pub profile: Profile,
    /// The folder of all saved runs.
    pub runs: PathBuf,
    /// The folder that pages are written to.
    pub reports: PathBuf,
    /// The run that the target is part of.
    pub run: RunId,
    /// Machine and build.
    pub environment: Environment,
    /// The command that began the run.
    pub command: String,
    /// The reason why the run cannot fill pages; `None` if it can.
    pub partial: Option<String>,
    /// The file to lock so that no other run measures at the same time; `None` for a smoke run,
    /// whose figures are not kept.
    pub alone: Option<PathBuf>,
    /// The numbers of worker threads to measure all rows with, one after the other.
    pub workers: Vec<usize>,
    /// The pages that are rendered once the run has all their targets.
    pub pages: Vec<Page>,
    /// Filters and samples. The profile's times and sample count are set row by row.
    pub criterion: Criterion,
}

impl Settings {
    /// The settings of a program that `cargo bench` started: Criterion's arguments,
    /// `BENCH_PROFILE`, `BENCH_CPUS`, the parent process as the run, the workspace's `reports`
    /// folder and `target/registrar-bench`.
    ///
    /// # Errors
    /// [`Error::UnknownProfile`], [`Error::UnknownWorkers`].
    pub fn from_process() -> Result<Self, Error> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let has = |wanted: &str| arguments.iter().any(|argument| argument == wanted);
        // `cargo test --benches` passes no `--bench`, and a test run must not take minutes.
        let once = has("--test") || !has("--bench");
        let profile = if once {
            Profile::smoke()
        } else {
            Profile::from_env()?
        };
        let asked_workers = workers::from_env()?;
        let parent = Parent::find();
        let runs = runs_folder();
        Ok(Self {
            partial: partial(&profile, &parent, &arguments).or_else(|| {
                let asked = !asked_workers.is_empty();
                asked.then(|| "BENCH_CPUS was set".to_owned())
            }),
            alone: profile.fills_pages.then(Alone::file),
            workers: match asked_workers.is_empty() {
                true => vec![workers::all()],
                false => asked_workers,
            },
            run: parent.id.joined(&runs),
            environment: Environment::capture(),
            command: command(&profile, &parent),
            profile,
            runs,
            reports: reports_folder(),
            pages: pages::ALL.to_vec(),
            criterion: Criterion::default()
                // Criterion's own statistics are only printed, so few resamples are enough.
                .nresamples(2_000)
                .with_profiler(RowProfiler)
                .configure_from_args(),
        })
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

fn partial(profile: &Profile, parent: &Parent, arguments: &[String]) -> Option<String> {
    if !profile.fills_pages {
        return Some(format!("the profile {} fills no pages", profile.name));
    }
    if !parent.is_cargo {
        return Some("it was not started by cargo bench".to_owned());
    }
    // Any argument may filter rows or change the sampling.
    let further = arguments.iter().find(|argument| *argument != "--bench")?;
    Some(format!("it was started with the argument {further}"))
}

fn command(profile: &Profile, parent: &Parent) -> String {
    match profile.name.as_str() {
        "quick" => parent.command.clone(),
        name => format!("BENCH_PROFILE={name} {}", parent.command),
    }
}

/// The folder that the workspace's pages are written to.
pub fn reports_folder() -> PathBuf {
    workspace().join("reports")
}

/// Cargo passes the package's folder to the programs that it runs. Without cargo the current folder
/// stands for the workspace.
fn workspace() -> PathBuf {
    match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(package) => Path::new(&package).join("../.."),
        None => PathBuf::from("."),
    }
}

/// The folder of all saved runs, next to the build of this program:
/// `<target>/release/deps/<program>` or `<target>/release/<program>`.
pub fn runs_folder() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let mut folders = program.ancestors().skip(1);
    let target = folders
        // Benches lie in `deps`, the `report` program lies one folder above.
        .find(|folder| folder.file_name() != Some("deps".as_ref()))
        .and_then(|profile| profile.parent())
        .map(Path::to_owned);
    target
        .unwrap_or_else(|| workspace().join("target"))
        .join("registrar-bench")
}
