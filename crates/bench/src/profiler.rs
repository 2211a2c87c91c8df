//! CPU and heap profiles of single rows, if `--profile-time` asks Criterion for them.

use criterion::profiler::Profiler;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The profile of the current row.
static ROW: Mutex<State> = Mutex::new(State::Idle);

enum State {
    Idle,
    /// A profile is wanted in this folder, but the row's set-up may still run.
    Requested(PathBuf),
    /// The recording writes its file when it is dropped.
    Running {
        _recording: recording::Recording,
    },
}

/// Passes Criterion's requests for profiles on to the rows.
pub(crate) struct RowProfiler;

impl Profiler for RowProfiler {
    fn start_profiling(&mut self, _row: &str, folder: &Path) {
        set(State::Requested(folder.to_owned()));
    }

    fn stop_profiling(&mut self, _row: &str, _folder: &Path) {
        set(State::Idle);
    }
}

fn set(state: State) {
    *ROW.lock().unwrap_or_else(PoisonError::into_inner) = state;
}

/// Marks the end of a row's set-up. If a profile is wanted, recording starts here.
pub(crate) fn set_up_is_done() {
    let mut row = ROW.lock().unwrap_or_else(PoisonError::into_inner);
    // Without `--profile-time` the state stays idle.
    if let State::Requested(folder) = &*row {
        let started = recording::Recording::start(folder);
        *row = started.map_or(State::Idle, |recording| State::Running {
            _recording: recording,
        });
    }
}

#[cfg(feature = "cpu-profile")]
mod recording {
    use pprof::ProfilerGuard;
    use std::fs::{File, create_dir_all};
    use std::path::{Path, PathBuf};

    // A prime, so that sampling does not fall into step with periodic work.
    const SAMPLES_PER_SECOND: i32 = 997;

    /// Samples all threads.
    pub(super) struct Recording {
        guard: ProfilerGuard<'static>,
        file: PathBuf,
    }

    impl Recording {
        pub(super) fn start(folder: &Path) -> Option<Self> {
            let file = folder.join("flamegraph.svg");
            let guard = ProfilerGuard::new(SAMPLES_PER_SECOND);
            let guard = guard.inspect_err(|error| eprintln!("no CPU profile: {error}"));
            let guard = guard.ok()?;
            Some(Self { guard, file })
        }

        fn write(&self) -> Result<(), Box<dyn std::error::Error>> {
            self.file.parent().map_or(Ok(()), create_dir_all)?;
            let report = self.guard.report().build()?;
            report.flamegraph(File::create(&self.file)?)?;
            Ok(())
        }
    }

    impl Drop for Recording {
        fn drop(&mut self) {
            match self.write() {
                Ok(()) => eprintln!("CPU profile: {}", self.file.display()),
                Err(error) => eprintln!("no CPU profile: {error}"),
            }
        }
    }
}

#[cfg(all(feature = "heap-profile", not(feature = "cpu-profile")))]
mod recording {
    use std::path::Path;

    /// Records every allocation with its call stack; writes its file when it is dropped.
    pub(super) struct Recording {
        _profiler: dhat::Profiler,
    }

    impl Recording {
        pub(super) fn start(folder: &Path) -> Option<Self> {
            let made = std::fs::create_dir_all(folder);
            made.inspect_err(|error| eprintln!("no heap profile: {error}"))
                .ok()?;
            let file = folder.join("dhat-heap.json");
            eprintln!("heap profile, for DHAT's viewer: {}", file.display());
            let profiler = dhat::Profiler::builder().file_name(file).build();
            Some(Self {
                _profiler: profiler,
            })
        }
    }
}

#[cfg(not(any(feature = "cpu-profile", feature = "heap-profile")))]
mod recording {
    use std::path::Path;

    /// The program was built without a profiler.
    pub(super) struct Recording;

    impl Recording {
        pub(super) fn start(_folder: &Path) -> Option<Self> {
            eprintln!("no profile: build with the feature cpu-profile or heap-profile");
            None
        }
    }
}
