use std::error::Error;
use std::fmt;
use std::io;
use std::iter::successors;
use std::sync::Arc;

use crate::FaultKind;

type Source = Arc<dyn Error + Send + Sync>;

/// A fault of the world below a store: its server, its file, its disk or its schema. The kind says what
/// the caller can do.
///
/// The stores' errors have it as their source, so [`Fault::in_chain`] finds it in any error that one of
/// them caused. Cheap to clone: each caller of a failed batch gets a copy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// The database's code, if it sent one: an SQLSTATE, or the name of an SQLite result code such as
    /// `SQLITE_BUSY`.
    pub code: Option<Arc<str>>,
    /// What the database, the driver or the operating system said. Empty if the kind says all. It may
    /// name hosts, paths and SQL.
    pub message: Arc<str>,
    /// The driver's error, if it tells more than the message. In PostgreSQL, the cause at each host if no
    /// connection could be opened.
    pub cause: Option<Source>,
}

impl Fault {
    /// A fault with the message of the database, the driver or the operating system.
    pub fn new(kind: FaultKind, message: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            code: None,
            message: message.into(),
            cause: None,
        }
    }

    /// Adds the database's code.
    #[must_use]
    pub fn with_code(self, code: Option<impl Into<Arc<str>>>) -> Self {
        Self {
            code: code.map(Into::into),
            ..self
        }
    }

    /// Adds the driver's error.
    #[must_use]
    pub fn with_cause(self, cause: impl Error + Send + Sync + 'static) -> Self {
        Self {
            cause: Some(Arc::new(cause)),
            ..self
        }
    }

    /// Whether the same call may succeed later, although neither the call nor the program changes.
    pub fn is_transient(&self) -> bool {
        self.kind.is_transient()
    }

    /// The first fault among an error and its sources.
    pub fn in_chain<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        successors(Some(error), |error| source(*error)).find_map(of)
    }
}

/// The fault that the error is. A shared error hides its type behind the `Arc`.
fn of<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Fault> {
    error.downcast_ref().or_else(|| {
        let shared = error.downcast_ref::<Source>()?;
        shared.downcast_ref()
    })
}

/// The source of an error. `io::Error` leaves out the error that it wraps, and names that error's source.
fn source<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match wrapped {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

/// A fault that needs no more words than its kind.
impl From<FaultKind> for Fault {
    fn from(kind: FaultKind) -> Self {
        Self::new(kind, "")
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        match &self.code {
            Some(code) => write!(f, " (code {code})"),
            None => Ok(()),
        }
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let cause = self.cause.as_deref()?;
        Some(cause)
    }
}
