use std::fmt;
use std::io;

use store_fault::Fault;

/// Why a command failed, and the exit code that scripts see.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    text: String,
}

/// The kinds of failures. The README and `--help` list their codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A condition does not hold, an id is used, or two places differ. Nothing was written.
    Refused,
    /// The arguments or the input are wrong.
    Input,
    /// The place can't be reached now, or is busy.
    Unreachable,
    /// The place is missing, damaged, full, of another version or without rights.
    Unusable,
    /// The write may have happened.
    Unknown,
    /// The reader of the output has gone. No failure.
    NoReader,
}

impl Kind {
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::NoReader => 0,
            Self::Refused => 1,
            Self::Input => 2,
            Self::Unreachable => 3,
            Self::Unusable => 4,
            Self::Unknown => 5,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NoReader => "no reader",
            Self::Refused => "refused",
            Self::Input => "input",
            Self::Unreachable => "unreachable",
            Self::Unusable => "unusable",
            Self::Unknown => "unknown outcome",
        }
    }
}

impl Failure {
    pub(crate) fn new(kind: Kind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { kind, text }
    }

    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self::new(Kind::Refused, text)
    }

    pub(crate) fn input(text: impl Into<String>) -> Self {
        Self::new(Kind::Input, text)
    }

    pub(crate) fn unusable(text: impl Into<String>) -> Self {
        Self::new(Kind::Unusable, text)
    }

    /// The same failure, with a text before its own.
    pub(crate) fn in_context(self, context: impl fmt::Display) -> Self {
        let text = format!("{context}: {}", self.text);
        Self { text, ..self }
    }

    /// The same failure, with advice at its end.
    pub(crate) fn advise(self, advice: impl fmt::Display) -> Self {
        let text = format!("{}; {advice}", self.text);
        Self { text, ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

fn of_fault(fault: &Fault) -> Kind {
    match fault.is_transient() {
        true => Kind::Unreachable,
        false => Kind::Unusable,
    }
}

fn of_io(source: &io::Error) -> Kind {
    match source.kind() {
        io::ErrorKind::BrokenPipe => Kind::NoReader,
        _ => Kind::Unusable,
    }
}

impl From<io::Error> for Failure {
    fn from(failed: io::Error) -> Self {
        Self::new(of_io(&failed), failed.to_string())
    }
}

impl From<dcb_core::Error> for Failure {
    fn from(failed: dcb_core::Error) -> Self {
        use dcb_core::Error;
        let kind = match &failed {
            Error::Conflict { .. }
            | Error::AfterBeyondHead { .. }
            | Error::PastReplaced { .. }
            | Error::DuplicateId { .. }
            | Error::AlreadyTracked { .. } => Kind::Refused,
            Error::Invalid { .. } | Error::Import { .. } | Error::Json { .. } => Kind::Input,
            Error::OutcomeUnknown { .. } => Kind::Unknown,
            Error::Io { source } => of_io(source),
            Error::Fault(fault) => of_fault(fault),
            _ => Kind::Unusable,
        };
        Self::new(kind, failed.to_string())
    }
}

impl From<message_store::Error> for Failure {
    fn from(failed: message_store::Error) -> Self {
        use message_store::Error;
        let kind = match &failed {
            Error::WrongExpectedVersion { .. }
            | Error::AfterBeyondHead { .. }
            | Error::PastReplaced { .. }
            | Error::DuplicateId { .. }
            | Error::ImportConflict { .. }
            | Error::NamespaceExists { .. } => Kind::Refused,
            Error::Invalid { .. } | Error::Import { .. } | Error::Json { .. } => Kind::Input,
            Error::OutcomeUnknown { .. } => Kind::Unknown,
            Error::Io { source } => of_io(source),
            Error::Fault(fault) => of_fault(fault),
            _ => Kind::Unusable,
        };
        Self::new(kind, failed.to_string())
    }
}

impl From<tsdb::Error> for Failure {
    fn from(failed: tsdb::Error) -> Self {
        let kind = match &failed {
            tsdb::Error::FolderInUse { .. } => Kind::Unreachable,
            _ => Kind::Unusable,
        };
        Self::new(kind, failed.to_string())
    }
}
