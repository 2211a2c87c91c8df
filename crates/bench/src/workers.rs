use crate::error::Error;
use tokio::runtime::{Builder, Runtime};

/// The worker counts that `BENCH_CPUS` asks for, `1,2,4,8`; none where it is not set.
pub(crate) fn from_env() -> Result<Vec<usize>, Error> {
    let Ok(list) = std::env::var("BENCH_CPUS") else {
        return Ok(Vec::new());
    };
    let counts = list.split(',').map(|count| count.trim().parse());
    let counts: Option<Vec<usize>> = counts.map(|count| count.ok().filter(|n| *n > 0)).collect();
    counts.ok_or(Error::UnknownWorkers { list })
}

/// As many as this process has processors.
pub(crate) fn all() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A runtime with so many threads for the rows' tasks.
pub(crate) fn runtime(workers: usize) -> Result<Runtime, Error> {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .map_err(Error::file("async runtime"))
}
