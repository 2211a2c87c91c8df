use std::fmt;
use std::io;
use std::sync::Arc;

/// An action on a file that failed.
#[derive(Clone, Debug)]
pub struct StorageFailure {
    /// What was tried: "write", "sync", …
    pub action: &'static str,
    /// The file's name; empty for the folder itself.
    pub file: String,
    /// What the operating system said.
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

    /// Whether there is no space left, on the disk or in the quota.
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
