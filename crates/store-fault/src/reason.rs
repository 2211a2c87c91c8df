use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The source of an error that each caller of a failed batch gets a copy of.
pub type SharedError = Arc<dyn Error + Send + Sync>;

/// An error or a text as the source of an error.
pub fn shared(source: impl Into<Box<dyn Error + Send + Sync>>) -> SharedError {
    source.into().into()
}

/// The words of the database, its driver or the operating system about a fault. The fault that has it says
/// what to do. Cheap to clone.
///
/// Its source is an error that tells more than the message: in PostgreSQL, the store's
/// `postgres::ConnectError` if no connection could be opened, with the cause at each host.
#[derive(Clone, Debug)]
pub struct Reason {
    code: Option<Arc<str>>,
    message: Arc<str>,
    source: Option<SharedError>,
}

impl Reason {
    /// A message without a code.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self {
            code: None,
            message: message.into(),
            source: None,
        }
    }

    /// Adds the database's code.
    #[must_use]
    pub fn with_code(self, code: impl Into<Arc<str>>) -> Self {
        Self {
            code: Some(code.into()),
            ..self
        }
    }

    /// Adds the error that tells more than the message.
    #[must_use]
    pub fn with_source(self, source: impl Error + Send + Sync + 'static) -> Self {
        Self {
            source: Some(Arc::new(source)),
            ..self
        }
    }

    /// The SQLSTATE, or the name of an SQLite result code such as `SQLITE_BUSY`, if there is one.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// The message. It may name hosts, paths and SQL.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.code {
            Some(code) => write!(f, " (code {code})"),
            None => Ok(()),
        }
    }
}

impl Error for Reason {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let source = self.source.as_deref()?;
        Some(source)
    }
}
