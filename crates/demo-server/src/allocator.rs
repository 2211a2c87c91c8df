//! Settings of the allocator.

/// Lets all threads share two arenas of glibc's allocator. By default each thread keeps the memory
/// that it has freed in one of up to eight arenas for each core. Samples of one series then lie in
/// many arenas, and a server with 64 MiB of series took 50 MB more.
///
/// Call it before the process starts threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "glibc has no other interface to its allocator")]
pub(crate) fn share_arenas() {
    const ARENAS: i32 = 2;
    // The variable has the same effect, so whoever sets it has made a choice.
    if std::env::var_os("MALLOC_ARENA_MAX").is_none() {
        // SAFETY: the call takes two numbers and refers to no memory.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, ARENAS) };
    }
}

/// Starts a thread that gives freed memory back to the system. glibc keeps what lies between
/// allocations that are still in use, after large queries several hundred MB.
///
/// # Errors
/// The thread can't be started.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn return_freed_memory() -> std::io::Result<()> {
    std::thread::Builder::new()
        .name("freed-memory".into())
        .spawn(trim::whenever_work_has_ended)?;
    Ok(())
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod trim {
    use std::fs;
    use std::thread::sleep;
    use std::time::Duration;

    const PAUSE: Duration = Duration::from_secs(2);
    /// A smaller change of the memory is no sign of work.
    const CHANGE_KB: u64 = 1 << 10;

    /// Looks at the memory of the process now and then. It trims the heap if the memory grows no more, and
    /// is not what the last trim began with: so it trims again until a trim finds nothing.
    pub(super) fn whenever_work_has_ended() {
        let (mut last_trim, mut before) = (0, 0);
        while let Some(now) = resident_kb() {
            if now <= before && now.abs_diff(last_trim) >= CHANGE_KB {
                trim();
                last_trim = now;
            }
            before = now;
            sleep(PAUSE);
        }
    }

    /// The memory in use, in kB. `None` without `/proc`.
    fn resident_kb() -> Option<u64> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    }

    #[expect(unsafe_code, reason = "glibc has no other interface to its allocator")]
    fn trim() {
        // SAFETY: the call takes a number. It only gives back pages that no allocation uses.
        unsafe { libc::malloc_trim(0) };
    }
}

/// Other allocators have no such setting.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn share_arenas() {}

/// Other allocators give freed memory back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn return_freed_memory() -> std::io::Result<()> {
    Ok(())
}
