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

/// Other allocators have no such setting.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn share_arenas() {}
