use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use super::measured::Measured;

pub(super) const COUNTERS: [(&str, &str); 1] = [(
    "process_cpu_seconds_total",
    "Processor time of the process, in user and system mode",
)];

pub(super) const GAUGES: [(&str, &str); 5] = [
    (
        "process_start_time_seconds",
        "Start of the process, in seconds since 1970",
    ),
    ("process_resident_memory_bytes", "Resident memory"),
    ("process_virtual_memory_bytes", "Virtual memory"),
    ("process_open_fds", "Open file descriptors"),
    ("process_max_fds", "Maximum number of open file descriptors"),
];

/// Adds what the operating system knows of this process. A value that it does not tell is left out.
/// Costs some 100 µs, so only `/metrics` has it.
pub(super) fn add(measured: &mut Measured) {
    let id = Pid::from_u32(std::process::id());
    let Ok(mut system) = System::new() else {
        return;
    };
    let what = ProcessRefreshKind::nothing().with_cpu().with_memory();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[id]), false, what);
    let Some(process) = system.process(id) else {
        return;
    };
    let number = |count: Option<usize>| count.map(|count| count as f64);
    for (metric, value) in [
        (
            COUNTERS[0].0,
            Some(process.accumulated_cpu_time() as f64 / 1000.0),
        ),
        (GAUGES[0].0, Some(process.start_time() as f64)),
        (GAUGES[1].0, Some(process.memory() as f64)),
        (GAUGES[2].0, Some(process.virtual_memory() as f64)),
        (GAUGES[3].0, number(process.open_files())),
        (GAUGES[4].0, number(process.open_files_limit())),
    ] {
        if let Some(value) = value {
            measured.add(metric, &[], value);
        }
    }
}
