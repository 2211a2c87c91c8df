use super::Comparison;
use crate::alone::Alone;
use crate::error::Error;
use crate::run::TargetRun;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The bench programs, each with its targets.
pub const PROGRAMS: [(&str, &[&str]); 5] = [
    (
        "events",
        &[
            "append",
            "append_if",
            "decide",
            "query",
            "project",
            "streams",
            "projection_limits",
            "subscriptions",
            "performance",
            "operations",
            "sqlite",
        ],
    ),
    ("messages", &["message_store"]),
    ("series", &["tsdb_write", "tsdb_query"]),
    ("http", &["http_events", "http_messages", "http_series"]),
    ("series_peers", &["series_peers"]),
];

fn program_of(target: &str) -> Option<&'static str> {
    let mut programs = PROGRAMS.iter();
    let found = programs.find(|(_, targets)| targets.contains(&target));
    found.map(|(program, _)| *program)
}

/// Two revisions to measure, taking turns.
#[derive(Debug, Clone)]
pub struct Revisions {
    /// The revision before the change, in any notation that git accepts.
    pub before: String,
    /// The revision after the change, in any notation that git accepts.
    pub after: String,
    /// A bench program, or one target of a program. Only the rows of this program or target are
    /// measured.
    pub target: String,
    /// Measures only rows whose name matches this regular expression. `None` measures all rows.
    pub filter: Option<String>,
    /// The number of runs per revision. The first revision of a round alternates.
    pub rounds: usize,
}

/// Checks out both revisions in `folder`, builds both, and runs them in alternation.
///
/// The work trees are removed afterwards. Each revision has a target folder in `folder`,
/// which the next comparison uses again. Only one comparison uses `folder` at a time; the next one
/// waits.
///
/// # Errors
/// [`Error::Command`] if git, a build or a run fails; [`Error::NotComparable`]; errors of files.
pub fn measure_revisions(revisions: &Revisions, folder: &Path) -> Result<Comparison, Error> {
    fs::create_dir_all(folder).map_err(Error::file(folder))?;
    let _alone = Alone::wait(&folder.join("lock"), "compare")?;
    let before = Checkout::new(&revisions.before, folder, "before")?;
    let after = Checkout::new(&revisions.after, folder, "after")?;
    // Both builds come first: a build between two runs would heat up the machine.
    for side in [&before, &after] {
        side.build(revisions)?;
    }
    let mut rounds = Vec::with_capacity(revisions.rounds);
    for round in 0..revisions.rounds {
        eprintln!("round {} of {}", round + 1, revisions.rounds);
        // The first run of a round may find colder caches, so the order alternates.
        rounds.push(if round % 2 == 0 {
            let before = before.run(revisions)?;
            (before, after.run(revisions)?)
        } else {
            let after = after.run(revisions)?;
            (before.run(revisions)?, after)
        });
    }
    Comparison::of_rounds(&rounds)
}

/// A work tree of one revision; removed on drop.
struct Checkout {
    tree: PathBuf,
    target: PathBuf,
}

impl Checkout {
    fn new(revision: &str, folder: &Path, side: &str) -> Result<Self, Error> {
        let tree = folder.join(side);
        if tree.exists() {
            // An interrupted comparison left this tree behind.
            fs::remove_dir_all(&tree).map_err(Error::file(&tree))?;
        }
        let commit = format!("{revision}^{{commit}}");
        let add = [OsStr::new("worktree"), "add".as_ref(), "--force".as_ref()];
        let mut git = Command::new("git");
        git.args(add).arg("--detach").arg(&tree).arg(commit);
        run(git)?;
        // In one folder cargo would take the crates of one side for those of the other: it names
        // crates by their place in the workspace, and the newer build counts as fresh.
        let target = folder.join(format!("{side}-target"));
        Ok(Self { tree, target })
    }

    fn cargo(&self) -> Command {
        let mut cargo = Command::new("cargo");
        cargo
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.target)
            .args(["bench", "--quiet", "--package", "bench"]);
        cargo
    }

    fn build(&self, revisions: &Revisions) -> Result<(), Error> {
        let mut cargo = self.cargo();
        let (program, _) = self.program_and_filter(revisions);
        cargo.args(["--no-run", "--bench", &program]);
        run(cargo).map(|_| ())
    }

    /// The program to run in this tree, and the filter for its rows.
    fn program_and_filter(&self, revisions: &Revisions) -> (String, Option<String>) {
        let Revisions { target, filter, .. } = revisions;
        // In old revisions every target is a separate program. So look for a program of this name
        // before looking for a target.
        let manifest = fs::read_to_string(self.tree.join("crates/bench/Cargo.toml"));
        let is_program = manifest.is_ok_and(|manifest| {
            let programs = manifest.split("[[bench]]").skip(1);
            let mut names = programs.filter_map(|program| program.trim_start().lines().next());
            names.any(|name| name == format!("name = \"{target}\""))
        });
        match program_of(target) {
            Some(program) if !is_program => {
                let filter = filter.as_deref().unwrap_or_default();
                (program.to_owned(), Some(format!("^{target}/.*{filter}")))
            }
            _ => (target.clone(), filter.clone()),
        }
    }

    /// Runs the target once and reads the run that it saved.
    fn run(&self, revisions: &Revisions) -> Result<Vec<TargetRun>, Error> {
        let mut cargo = self.cargo();
        let (program, filter) = self.program_and_filter(revisions);
        cargo.args(["--bench", &program, "--"]).args(filter);
        let process = run(cargo)?;
        let runs = self.target.join("registrar-bench");
        // The name of the run's folder begins with a start time, which is not known here, and ends
        // with cargo's process id.
        let suffix = format!("-{process}");
        let folders = fs::read_dir(&runs).map_err(Error::file(&runs))?.flatten();
        let newest = folders
            .map(|folder| folder.path())
            .filter(|folder| folder.to_string_lossy().ends_with(&suffix))
            // The system reuses process ids, so several runs may match. The largest name has the
            // latest start time.
            .max();
        let newest = newest.ok_or_else(|| Error::Command {
            command: "cargo bench".to_owned(),
            reason: "it saved no run".to_owned(),
        })?;
        TargetRun::load_all(&newest)
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        let mut git = Command::new("git");
        git.args(["worktree", "remove", "--force"]).arg(&self.tree);
        // If this fails, the next comparison replaces the tree.
        let _ = run(git);
    }
}

/// Runs a command to its end and returns its process id.
fn run(mut command: Command) -> Result<u32, Error> {
    let failed = |command: &Command, reason: String| Error::Command {
        command: command.get_program().to_string_lossy().into_owned(),
        reason,
    };
    let mut child = command
        .spawn()
        .map_err(|error| failed(&command, error.to_string()))?;
    let status = child
        .wait()
        .map_err(|error| failed(&command, error.to_string()))?;
    if status.success() {
        Ok(child.id())
    } else {
        Err(failed(&command, status.to_string()))
    }
}
