use crate::error::Error;
use tokio::runtime::{Builder, Runtime};

/// The worker counts in `BENCH_CPUS`, such as `1,2,4,8`; empty if it is not set.
pub(crate) fn from_env() -> Result<Vec<usize>, Error> {
    let Ok(list) = std::env::var("BENCH_CPUS") else {
        return Ok(Vec::new());
    };
    let counts = list.split(',').map(|count| count.trim().parse());
    let counts: Option<Vec<usize>> = counts.map(|count| count.ok().filter(|n| *n > 0)).collect();
    counts.ok_or(Error::UnknownWorkers { list })
}

/// The number of processors of this process.
pub(crate) fn all() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A runtime with this many worker threads.
pub(crate) fn runtime(workers: usize) -> Result<Runtime, Error> {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .map_err(Error::file("async runtime"))
}
