use std::cell::RefCell;
use std::io::Write;
use std::sync::Once;

thread_local! {
    /// The lines of the test on this thread; `None` if it does not look at them.
    static LINES: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Collects the lines that this thread logs, from the level `info` on. With a runtime of one thread,
/// these are the lines of all tasks.
pub struct Log(());

/// Writes to the lines of the thread.
struct ToThread;

impl Log {
    /// Begins to collect. A test has one of these at a time.
    ///
    /// # Panics
    /// If the program has another subscriber already.
    pub fn begin() -> Self {
        static GLOBAL: Once = Once::new();
        // A subscriber for this thread only would miss events that another thread was the first to
        // reach: tracing then takes them as disabled.
        GLOBAL.call_once(|| {
            let log = tracing_subscriber::fmt().with_ansi(false);
            log.with_writer(|| ToThread).init();
        });
        LINES.set(Some(Vec::new()));
        Self(())
    }

    /// The lines with all of these parts.
    ///
    /// # Panics
    /// If a line is not UTF-8.
    pub fn lines(&self, parts: &[&str]) -> Vec<String> {
        let Self(()) = self;
        let bytes = LINES.with_borrow(|lines| lines.clone().unwrap_or_default());
        let text = std::str::from_utf8(&bytes).expect("the log is text");
        let has_all = |line: &&str| parts.iter().all(|part| line.contains(part));
        text.lines().filter(has_all).map(str::to_owned).collect()
    }

    /// Asserts that the log has one line with this message, and that the line has these parts.
    ///
    /// # Panics
    /// If it does not.
    #[track_caller]
    pub fn assert_one(&self, message: &str, parts: &[&str]) {
        let lines = self.lines(&[message]);
        assert_eq!(lines.len(), 1, "{message}: {:#?}", self.lines(&[]));
        for part in parts {
            assert!(lines[0].contains(part), "{part}: {}", lines[0]);
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        LINES.set(None);
    }
}

impl Write for ToThread {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LINES.with_borrow_mut(|lines| {
            if let Some(lines) = lines {
                lines.extend_from_slice(bytes);
            }
        });
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
