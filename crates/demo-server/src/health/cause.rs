//! Why a store takes no writes.

use store_fault::Fault;

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

impl Refusal for Fault {
    fn cause(&self) -> Option<Cause> {
        match self {
            Self::ReadOnly(_) | Self::ReadOnlyFile { .. } => Some(Cause::ReadOnly),
            Self::DiskFull(_) => Some(Cause::DiskFull),
            Self::FileFailed(_) => Some(Cause::FileFailed),
            Self::FileMoved { .. } => Some(Cause::FileMoved),
            Self::Closed => Some(Cause::Closed),
            _ => None,
        }
    }
}

impl Refusal for dcb_core::Error {
    fn cause(&self) -> Option<Cause> {
        match self {
            Self::Fault(fault) => fault.cause(),
            _ => None,
        }
    }
}

impl Refusal for message_store::Error {
    fn cause(&self) -> Option<Cause> {
        match self {
            // It tells only that the namespace was deleted.
            Self::Fault(Fault::Closed) => None,
            Self::Fault(fault) => fault.cause(),
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

#[cfg(test)]
mod tests {
    use store_fault::Reason;

    use super::*;

    #[test]
    fn only_reasons_of_the_server_are_causes() {
        let reason = || Reason::new("said the system");
        for (fault, cause) in [
            (Fault::DiskFull(reason()), Some(Cause::DiskFull)),
            (Fault::ReadOnly(reason()), Some(Cause::ReadOnly)),
            (Fault::FileFailed(reason()), Some(Cause::FileFailed)),
            (Fault::Closed, Some(Cause::Closed)),
            (Fault::Refused(reason()), None),
            (Fault::Unreachable(reason()), None),
        ] {
            assert_eq!(fault.cause(), cause, "{fault}");
        }
        assert_eq!(message_store::Error::from(Fault::Closed).cause(), None);
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
