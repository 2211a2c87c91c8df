//! Comparisons of runs.

use crate::common::{FIRST, Folders, SECOND};
use bench::compare::{Comparison, PROGRAMS, Travel, Verdict};
use bench::{Error, Interval, Measured, TargetRun};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A copy of the run whose row times are multiplied by `factor`, plus or minus `noise`.
fn slowed(run: &TargetRun, factor: f64, noise: f64) -> TargetRun {
    let mut run = run.clone();
    for row in &mut run.rows {
        let Measured::Figures(figures) = &mut row.measured else {
            continue;
        };
        for (index, sample) in figures.samples.iter_mut().enumerate() {
            let side = if index % 2 == 0 { 1.0 } else { -1.0 };
            sample.ns_per_op = 1_000.0 * factor * (1.0 + side * noise);
        }
        figures.mean_ns.value = 1_000.0 * factor;
    }
    run
}

fn measured() -> TargetRun {
    let folders = Folders::new();
    folders.measure("alpha", folders.settings(FIRST)).unwrap()
}

#[test]
fn verdict_requires_interval_that_excludes_one() {
    let base = slowed(&measured(), 1.0, 0.02);
    let verdict = |after: TargetRun| {
        let comparison = Comparison::of_runs(std::slice::from_ref(&base), &[after]).unwrap();
        (comparison.rows[0].verdict(), comparison.summary())
    };
    assert_eq!(verdict(slowed(&base, 1.1, 0.02)).0, Verdict::Slower);
    assert_eq!(verdict(slowed(&base, 0.9, 0.02)).0, Verdict::Faster);
    assert_eq!(verdict(slowed(&base, 1.01, 0.02)).0, Verdict::NotKnown);
    assert_eq!(verdict(slowed(&base, 1.1, 0.3)).0, Verdict::NotKnown);
    let (_, summary) = verdict(slowed(&base, 0.5, 0.0));
    let expected = "1 rows: 1 faster, 0 slower, 0 not known; together 0.500 ";
    assert!(summary.starts_with(expected), "{summary}");
}

#[test]
fn ratios_of_two_runs_are_compared_by_row() {
    let with_ratios = |ratios: &[f64]| {
        let mut run = measured();
        let row = run.rows.remove(0);
        for (number, ratio) in ratios.iter().enumerate() {
            let mut row = row.clone();
            row.id = format!("row {number}");
            let Measured::Figures(figures) = &mut row.measured else {
                panic!("{row:?}");
            };
            figures.floors[0].ratio = Interval {
                value: *ratio,
                low: ratio * 0.98,
                high: ratio * 1.02,
            };
            run.rows.push(row);
        }
        vec![run]
    };
    let mut other_machine = with_ratios(&[1.03, 2.0, 0.5, 1.5, 9.0]);
    other_machine[0].environment.cpu = "Another processor".to_owned();
    let travel = Travel::of_runs(&with_ratios(&[1.0, 2.0, 1.0, 1.4]), &other_machine).unwrap();
    // 3, 0, 100 and 7.1 %: the row that only one run has does not count.
    assert_eq!((travel.rows, travel.within, travel.overlap), (4, 0.75, 0.5));
    assert!((travel.median - 0.071).abs() < 0.001, "{travel:?}");
    assert_eq!(Travel::of_runs(&[], &other_machine), None);
}

#[test]
fn rounds_are_compared_pairwise() {
    let run = measured();
    // From round to round the machine slows down by up to a factor of four, for both sides alike.
    let weather = [1.0, 3.0, 0.8, 2.0, 1.4, 4.0];
    let rounds = |change: &dyn Fn(usize) -> f64| {
        let round = |(index, weather): (usize, &f64)| {
            let before = slowed(&run, *weather, 0.0);
            (
                vec![before],
                vec![slowed(&run, weather * change(index), 0.0)],
            )
        };
        let rounds: Vec<_> = weather.iter().enumerate().map(round).collect();
        Comparison::of_rounds(&rounds).unwrap().rows[0].clone()
    };
    let steady = rounds(&|index| 1.05 + 0.01 * (index % 2) as f64);
    assert_eq!(steady.verdict(), Verdict::Slower, "{steady:?}");
    let wild = rounds(&|index| if index % 2 == 0 { 1.3 } else { 0.8 });
    assert_eq!(wild.verdict(), Verdict::NotKnown, "{wild:?}");
}

#[test]
fn single_round_gives_no_verdict() {
    let run = measured();
    let rounds = [(vec![run.clone()], vec![slowed(&run, 9.0, 0.0)])];
    let comparison = Comparison::of_rounds(&rounds).unwrap();
    assert_eq!(comparison.rows[0].verdict(), Verdict::NotKnown);
}

#[test]
fn runs_of_different_machine_or_profile_are_not_comparable() {
    let run = measured();
    let mut elsewhere = run.clone();
    elsewhere.environment.cores += 1;
    let mut longer = run.clone();
    longer.invocation.profile.samples += 1;
    for other in [elsewhere, longer] {
        let refused = Comparison::of_runs(std::slice::from_ref(&run), &[other]);
        assert!(matches!(refused, Err(Error::NotComparable { .. })));
    }
}

#[test]
fn rows_missing_on_one_side_are_listed() {
    let folders = Folders::new();
    folders.measure("alpha", folders.settings(FIRST)).unwrap();
    folders.measure("alpha", folders.settings(SECOND)).unwrap();
    folders.measure("beta", folders.settings(SECOND)).unwrap();
    let load = |run: bench::RunId| TargetRun::load_all(&folders.runs().join(run.folder())).unwrap();
    let comparison = Comparison::of_runs(&load(FIRST), &load(SECOND)).unwrap();
    assert_eq!(comparison.rows.len(), 1);
    assert_eq!(comparison.missing, ["beta: beta/none/C1/E1 on 2 workers"]);
}

/// A repository in a temporary folder, and a copy of `compare` that keeps its builds there.
struct Repository {
    folder: TempDir,
}

impl Repository {
    /// `None` without git.
    fn new() -> Option<Self> {
        unmet::need("git", Command::new("git").arg("--version").output().ok())?;
        let folder = tempfile::tempdir().unwrap();
        let repository = Self { folder };
        fs::create_dir_all(repository.root()).unwrap();
        fs::create_dir_all(repository.program().parent().unwrap()).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_compare"), repository.program()).unwrap();
        repository.git(&["init", "--quiet"]);
        Some(repository)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("target/release/compare")
    }

    fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]);
        let done = git.current_dir(self.root()).args(arguments).status();
        assert!(done.unwrap().success(), "{arguments:?}");
    }

    fn write(&self, file: &str, content: &str) {
        let file = self.root().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }

    fn compare(&self, arguments: &[&str]) -> Output {
        let mut compare = Command::new(self.program());
        compare.current_dir(self.root()).args(arguments);
        compare.output().unwrap()
    }
}

/// After Ctrl-C a comparison ends without removing its work trees.
#[test]
fn leftover_work_tree_is_replaced() {
    let Some(repository) = Repository::new() else {
        return;
    };
    let runs = repository.folder.path().join("target/registrar-bench");
    let left = runs.join("revisions/before");
    repository.git(&["commit", "--quiet", "--allow-empty", "--message=empty"]);
    let path = left.to_str().unwrap();
    repository.git(&["worktree", "add", "--quiet", "--detach", path]);
    assert!(left.exists());
    let said = repository.compare(&["--bench", "append", "HEAD", "HEAD"]);
    let said = String::from_utf8_lossy(&said.stderr);
    // The revision is empty, so the build fails.
    assert!(said.contains("cargo failed"), "{said}");
    assert!(!left.exists(), "the work tree is still there");
}

/// The revisions of this toy differ in one function of a library.
#[cfg(unix)]
#[test]
fn each_revision_runs_its_own_code() {
    const PROGRAM: &str = r#"
        fn main() {
            let program = std::env::current_exe().unwrap();
            let target = program.ancestors().nth(3).unwrap();
            let cargo = std::os::unix::process::parent_id();
            let folder = target.join(format!("registrar-bench/1-{cargo}"));
            std::fs::create_dir_all(&folder).unwrap();
            let run = include_str!("run.json").replace("12345.5", &format!("{:?}", bench::time()));
            std::fs::write(folder.join("alpha.json"), run).unwrap();
        }
    "#;
    const MANIFEST: &str = r#"
        [package]
        name = "bench"
        edition = "2024"
        [lib]
        bench = false
        [[bench]]
        name = "append"
        harness = false
    "#;
    let Some(repository) = Repository::new() else {
        return;
    };
    let mut run = measured();
    for row in &mut run.rows {
        if let Measured::Figures(figures) = &mut row.measured {
            figures.mean_ns.value = 12345.5;
        }
    }
    let workspace = "[workspace]\nmembers = [\"crates/bench\"]\nresolver = \"3\"";
    repository.write("Cargo.toml", workspace);
    repository.write("crates/bench/Cargo.toml", MANIFEST);
    repository.write("crates/bench/benches/append.rs", PROGRAM);
    let run = serde_json::to_string(&run).unwrap();
    repository.write("crates/bench/benches/run.json", &run);
    for time in ["1000.0", "3000.0"] {
        let library = format!("pub fn time() -> f64 {{ {time} }}");
        repository.write("crates/bench/src/lib.rs", &library);
        repository.git(&["add", "."]);
        repository.git(&["commit", "--quiet", "--message", time]);
    }
    let said = repository.compare(&["--bench", "append", "--rounds", "1", "HEAD~1", "HEAD"]);
    let [table, errors] = [&said.stdout, &said.stderr].map(|said| String::from_utf8_lossy(said));
    assert!(table.contains("| 3.00"), "{table}{errors}");
}

/// `compare --bench` finds the program of a target in this list.
#[test]
fn program_list_matches_benches_and_pages() {
    let benches = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches");
    for (program, targets) in PROGRAMS {
        let main = fs::read_to_string(benches.join(program).join("main.rs")).unwrap();
        assert_eq!(main.matches("declare").count(), targets.len(), "{program}");
        for target in targets {
            assert!(main.contains(&format!("(\"{target}\", &")), "{target}");
        }
    }
    let known: Vec<&str> = PROGRAMS
        .iter()
        .flat_map(|(_, targets)| *targets)
        .copied()
        .collect();
    for page in bench::pages::ALL {
        for target in page.targets {
            assert!(known.contains(target), "{} needs {target}", page.slug);
        }
    }
}
