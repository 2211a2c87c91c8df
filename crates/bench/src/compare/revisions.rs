use super::Comparison;
use crate::alone::Alone;
use crate::error::Error;
use crate::run::TargetRun;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Two revisions to measure in turns.
#[derive(Debug, Clone)]
pub struct Revisions {
    /// The revision before, as git names it.
    pub before: String,
    /// The revision after.
    pub after: String,
    /// The bench target.
    pub target: String,
    /// Only rows whose name has this in it.
    pub filter: Option<String>,
    /// How often each is measured; who begins alternates.
    pub rounds: usize,
}

/// Checks both revisions out beside each other, builds both, and runs the target of each in turns.
///
/// Work trees lie in `folder` and are removed afterwards; the builds share the target folder that
/// this program was built in. One comparison uses `folder` at a time, the next waits.
///
/// # Errors
/// [`Error::Command`] where git, a build or a run fails; [`Error::NotComparable`]; errors of files.
pub fn measure_revisions(revisions: &Revisions, folder: &Path) -> Result<Comparison, Error> {
    fs::create_dir_all(folder).map_err(Error::file(folder))?;
    let _alone = Alone::wait(&folder.join("lock"), "compare")?;
    let before = Checkout::new(&revisions.before, folder, "before")?;
    let after = Checkout::new(&revisions.after, folder, "after")?;
    for side in [&before, &after] {
        side.build(&revisions.target)?;
    }
    let mut rounds = Vec::with_capacity(revisions.rounds);
    for round in 0..revisions.rounds {
        eprintln!("round {} of {}", round + 1, revisions.rounds);
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
            // Left by a comparison that was interrupted.
            fs::remove_dir_all(&tree).map_err(Error::file(&tree))?;
        }
        let commit = format!("{revision}^{{commit}}");
        let add = [OsStr::new("worktree"), "add".as_ref(), "--force".as_ref()];
        let mut git = Command::new("git");
        git.args(add).arg("--detach").arg(&tree).arg(commit);
        run(git)?;
        let target = folder.ancestors().nth(2).unwrap_or(folder).to_owned();
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

    fn build(&self, target: &str) -> Result<(), Error> {
        let mut cargo = self.cargo();
        cargo.args(["--no-run", "--bench", target]);
        run(cargo).map(|_| ())
    }

    /// What one run of the target saved, in the folder that the process id of cargo names.
    fn run(&self, revisions: &Revisions) -> Result<Vec<TargetRun>, Error> {
        let mut cargo = self.cargo();
        cargo.args(["--bench", &revisions.target, "--"]);
        cargo.args(&revisions.filter);
        let process = run(cargo)?;
        let runs = self.target.join("registrar-bench");
        let suffix = format!("-{process}");
        let folders = fs::read_dir(&runs).map_err(Error::file(&runs))?.flatten();
        let newest = folders
            .map(|folder| folder.path())
            .filter(|folder| folder.to_string_lossy().ends_with(&suffix))
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
        // A tree that can't be removed is one that the next comparison replaces.
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
