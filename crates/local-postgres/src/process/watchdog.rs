//! A process that outlives this one and cleans up after it.
//!
//! Destructors cannot do this. All tests of a process share a server in a static, which is never
//! dropped, and no destructor runs on Ctrl-C or kill -9. A signal handler is not an option for a
//! library, and `PR_SET_PDEATHSIG` would already fire at the end of the *thread* that started the
//! server.
//!
//! So a shell reads from a pipe until the pipe ends, and then cleans up. Only this process holds the
//! pipe's write end: its child processes don't inherit it. However this process ends, the operating
//! system closes the pipe.

use std::{
    io::{self, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Mutex, PoisonError},
};

/// A shell script that reads one line and then runs the program in its arguments, under its own
/// process id. So the watchdog can know the program's id before the program starts: this process
/// starts the script, sends the script's id to the watchdog, and only then sends the line. If this
/// process dies in between, the program never starts.
pub(super) const LAUNCH: &str = r#"read -r _ && exec "$@" </dev/null"#;

/// A shell that cleans up when this value is dropped or this process ends.
#[derive(Debug)]
pub(crate) struct Watchdog {
    shell: Child,
    pipe: Mutex<Option<ChildStdin>>,
}

impl Watchdog {
    /// Runs `script` with one argument. `shell` is the command that starts `sh`.
    pub(crate) fn start(
        mut shell: Command,
        script: &str,
        argument: &std::ffi::OsStr,
        stdout: Stdio,
    ) -> io::Result<Self> {
        shell.args(["-c", script, "watchdog"]).arg(argument);
        shell.stdin(Stdio::piped()).stdout(stdout);
        // A separate process group, because Ctrl-C reaches all processes of the terminal's
        // foreground group.
        shell.stderr(Stdio::null()).process_group(0);
        let mut shell = shell.spawn()?;
        let pipe = Mutex::new(shell.stdin.take());
        Ok(Self { shell, pipe })
    }

    /// Waits for the byte that the script writes to its piped stdout. False if the script ended
    /// without writing it.
    pub(crate) fn answers(&mut self) -> io::Result<bool> {
        let answer = self.shell.stdout.take();
        let mut byte = [0];
        let read = answer.map_or(Ok(0), |mut pipe| pipe.read(&mut byte))?;
        Ok(read == 1)
    }

    /// Sends one line to the script. When the pipe closes, the script acts on the last line that it
    /// received.
    pub(crate) fn tell(&self, line: &str) -> io::Result<()> {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        pipe.as_mut()
            .map_or(Ok(()), |pipe| writeln!(pipe, "{line}"))
    }

    /// Closes the pipe, so that the script cleans up. Does not wait for the script.
    pub(crate) fn release(&self) {
        self.pipe
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.release();
        // The script limits its own time, so this call returns. An error here has no remedy.
        let _ = self.shell.wait();
    }
}
