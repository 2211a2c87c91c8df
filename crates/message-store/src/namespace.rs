use std::fmt;
use std::future::Future;
use std::str::FromStr;
use std::time::SystemTime;

use crate::text::{check, invalid};
use crate::{Error, MessageStore};

/// The name of a namespace: 1 to 64 bytes of any characters but NUL.
///
/// Names are compared byte for byte. What a backend makes of them, a file or a schema, is its own:
/// two names never share one, and none reaches beyond its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespaceName(Box<str>);

impl NamespaceName {
    /// The most bytes of a name.
    pub const MAX_BYTES: usize = 64;

    /// Checks a name.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `namespace`.
    pub fn new(name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        check(&name, Self::MAX_BYTES).map_err(invalid("namespace"))?;
        Ok(Self(name.into_boxed_str()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for NamespaceName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::new(name)
    }
}

impl fmt::Display for NamespaceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A namespace that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Its name.
    pub name: NamespaceName,
    /// When it was created, in whole microseconds.
    pub created_at: SystemTime,
    /// What its creator keeps with it, a JSON text.
    pub attributes: Option<String>,
}

/// Message stores that are physically apart: a file each in SQLite, a schema each in PostgreSQL.
pub trait Namespaces: Send + Sync + 'static {
    /// The store of one namespace.
    type Store: MessageStore;

    /// Makes an empty namespace. Of several callers at once, one succeeds.
    ///
    /// # Errors
    /// [`Error::NamespaceExists`]; [`Error::Invalid`] with field `attributes` where they are not
    /// JSON.
    fn create(
        &self,
        name: &NamespaceName,
        attributes: Option<&str>,
    ) -> impl Future<Output = Result<Namespace, Error>> + Send;

    /// The store of a namespace. Opened once: further calls share it, until it is closed. On PostgreSQL each call looks
    /// whether another process deleted it, and closes its store then.
    ///
    /// # Errors
    /// [`Error::NamespaceNotFound`].
    fn open(&self, name: &NamespaceName)
    -> impl Future<Output = Result<Self::Store, Error>> + Send;

    /// What is known of a namespace; [`MessageStore::info`] of its store says what is in it.
    ///
    /// # Errors
    /// [`Error::NamespaceNotFound`].
    fn get(&self, name: &NamespaceName) -> impl Future<Output = Result<Namespace, Error>> + Send;

    /// All namespaces, in the order of the bytes of their names.
    ///
    /// # Errors
    /// What the backend met.
    fn list(&self) -> impl Future<Output = Result<Vec<Namespace>, Error>> + Send;

    /// Closes the store of a namespace and deletes it with all its messages. Returns how many
    /// there were.
    ///
    /// # Errors
    /// [`Error::NamespaceNotFound`].
    fn delete(&self, name: &NamespaceName) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Closes every store that was opened.
    fn close(&self) -> impl Future<Output = ()> + Send;
}
