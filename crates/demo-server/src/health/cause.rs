//! Why a store takes no writes.

/// A reason of the server for which writes fail until an operator acts. A fault of a request has no
/// cause here, and neither has a database that can't be reached: the probe finds that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    DiskFull = 1,
    ReadOnly,
    FileFailed,
    FileMoved,
    Closed,
}

impl Cause {
    /// The cause as the health checks show it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::DiskFull => "the disk is full",
            Self::ReadOnly => "it is read-only",
            Self::FileFailed => "a file could not be written",
            Self::FileMoved => "its file was moved, removed or replaced",
            Self::Closed => "it is closed",
        }
    }

    /// The cause of a number that a [`Cause`] was cast to.
    pub(super) fn of_number(number: u8) -> Option<Self> {
        let all = [
            Self::DiskFull,
            Self::ReadOnly,
            Self::FileFailed,
            Self::FileMoved,
            Self::Closed,
        ];
        all.into_iter().find(|cause| *cause as u8 == number)
    }
}

/// An error of a store that may have a [`Cause`].
pub(crate) trait Refusal {
    /// The cause, or `None` if the error tells nothing about the next write.
    fn cause(&self) -> Option<Cause>;
}

impl Refusal for dcb_core::Error {
    fn cause(&self) -> Option<Cause> {
        match self {
            Self::ReadOnly { .. } | Self::ReadOnlyFile { .. } => Some(Cause::ReadOnly),
            Self::DiskFull { .. } => Some(Cause::DiskFull),
            Self::FileMoved { .. } => Some(Cause::FileMoved),
            Self::Closed => Some(Cause::Closed),
            Self::Unavailable { source } => of_text(&source.to_string()),
            Self::Database { message, .. } => of_text(message),
            _ => None,
        }
    }
}

impl Refusal for message_store::Error {
    fn cause(&self) -> Option<Cause> {
        match self {
            Self::ReadOnly { .. } | Self::ReadOnlyFile { .. } => Some(Cause::ReadOnly),
            Self::DiskFull { .. } => Some(Cause::DiskFull),
            Self::FileMoved { .. } => Some(Cause::FileMoved),
            Self::Unavailable { source } => of_text(&source.to_string()),
            Self::Database { message, .. } => of_text(message),
            // `Closed` tells only that the namespace was deleted.
            _ => None,
        }
    }
}

impl Refusal for tsdb::Error {
    fn cause(&self) -> Option<Cause> {
        match self {
            Self::DiskFull(_) => Some(Cause::DiskFull),
            Self::Storage(_) => Some(Cause::FileFailed),
            Self::Closed => Some(Cause::Closed),
            _ => None,
        }
    }
}

/// The cause of SQLite's own message for a result code. The errors of the stores have no code of
/// SQLite.
fn of_text(message: &str) -> Option<Cause> {
    match message {
        "database or disk is full" => Some(Cause::DiskFull),
        "attempt to write a readonly database" => Some(Cause::ReadOnly),
        "disk I/O error" => Some(Cause::FileFailed),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(code: Option<&str>, message: &str) -> dcb_core::Error {
        dcb_core::Error::Database {
            code: code.map(Into::into),
            message: message.into(),
        }
    }

    #[test]
    fn only_reasons_of_the_server_are_causes() {
        let full = dcb_core::Error::DiskFull {
            message: "could not extend file: No space left on device".into(),
        };
        let read_only = dcb_core::Error::ReadOnlyFile {
            path: "log.db".into(),
            reason: "the system allows only reads of the file".into(),
        };
        for (error, cause) in [
            (full, Some(Cause::DiskFull)),
            (read_only, Some(Cause::ReadOnly)),
            (
                database(None, "database or disk is full"),
                Some(Cause::DiskFull),
            ),
            (database(None, "disk I/O error"), Some(Cause::FileFailed)),
            (database(Some("22021"), "invalid byte sequence"), None),
            (dcb_core::Error::Closed, Some(Cause::Closed)),
            (
                dcb_core::Error::RetriesExhausted {
                    attempts: 1,
                    position: dcb_core::Position::FIRST,
                },
                None,
            ),
        ] {
            assert_eq!(error.cause(), cause, "{error}");
        }
        assert_eq!(message_store::Error::Closed.cause(), None);
    }

    #[test]
    fn number_of_a_cause_leads_back_to_it() {
        for cause in [
            Cause::DiskFull,
            Cause::ReadOnly,
            Cause::FileFailed,
            Cause::FileMoved,
            Cause::Closed,
        ] {
            assert_eq!(Cause::of_number(cause as u8), Some(cause));
        }
        assert_eq!(Cause::of_number(0), None);
    }
}
