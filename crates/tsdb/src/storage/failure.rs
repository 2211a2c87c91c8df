use std::fmt;
use std::io;
use std::sync::Arc;

/// A failed action on a file. The error that has it as its source says what to do.
#[derive(Clone, Debug)]
pub struct StorageFailure {
    /// The action: "write", "sync", …
    pub action: &'static str,
    /// The name of the file; empty for the folder itself.
    pub file: String,
    /// The error of the operating system.
    pub cause: Arc<io::Error>,
}

impl StorageFailure {
    pub(crate) fn new(action: &'static str, file: &str, cause: io::Error) -> Self {
        Self {
            action,
            file: file.to_owned(),
            cause: Arc::new(cause),
        }
    }

    /// Returns `true` if the disk or the quota is full.
    pub fn is_full(&self) -> bool {
        matches!(
            self.cause.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    }
}

impl fmt::Display for StorageFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = match self.file.as_str() {
            "" => "the folder",
            file => file,
        };
        write!(f, "can't {} {file}", self.action)
    }
}

impl std::error::Error for StorageFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.cause)
    }
}
