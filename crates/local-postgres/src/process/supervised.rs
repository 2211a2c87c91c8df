//! Programs that end with this process.

use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Runs a command until its standard input ends. A value in a `static` is never dropped, but the pipe
/// closes when this process ends for any reason, and that ends the program.
const UNTIL_INPUT_ENDS: &str = r#""$0" "$@" & cat > /dev/null; kill $!; wait"#;

/// A program that ends when the value is dropped or this process ends.
#[derive(Debug)]
pub(crate) struct Supervised {
    shell: Child,
}

impl Supervised {
    /// Starts `program`. `shell` is the command that starts `sh`; `arguments` adds those of the
    /// program.
    pub(crate) fn start(
        mut shell: Command,
        program: &Path,
        arguments: impl FnOnce(&mut Command),
    ) -> std::io::Result<Self> {
        shell.args(["-c", UNTIL_INPUT_ENDS]).arg(program);
        arguments(&mut shell);
        let shell = shell.stdin(Stdio::piped()).spawn()?;
        Ok(Self { shell })
    }

    /// The id of the shell, whose child the program is.
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.shell.id()).unwrap_or(i32::MAX)
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // Closing the pipe ends the process.
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}
