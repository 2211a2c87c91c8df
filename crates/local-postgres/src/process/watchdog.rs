//! A process that outlives this one and cleans up after it.
//!
//! A server that a whole test process shares lives in a static, which is never dropped, and no
//! destructor runs on Ctrl-C or kill -9. `PR_SET_PDEATHSIG` would fire when the *thread* that
//! started the server ends, and a library must not install a signal handler. So a shell waits on a
//! pipe. This process holds the only write end, which is closed on exec: however this process ends,
//! the pipe closes with it, and the shell cleans up.

use std::{
    io::{self, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Mutex, PoisonError},
};

/// A shell script that waits for a line and then becomes the program in its arguments. This process
/// sends the line after it has told the watchdog the shell's process id. If this process dies
/// before that, the pipe ends, and the program never starts.
pub(super) const LAUNCH: &str = r#"read -r _ && exec "$@" </dev/null"#;

/// A shell whose script waits on the pipe. It cleans up when this value is dropped or this process
/// ends.
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
        // Keep the shell out of the terminal's foreground group, because Ctrl-C reaches every
        // member of that group.
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
        // The script limits its own time, so this wait ends. If it fails, there is no remedy.
        let _ = self.shell.wait();
    }
}
