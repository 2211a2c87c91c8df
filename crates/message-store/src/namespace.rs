use std::future::Future;
use std::time::SystemTime;

use crate::text::{check, invalid};
use crate::{Error, MessageStore};

/// The name of a namespace: 1 to 64 bytes without NUL.
///
/// Names are compared byte for byte. Each backend maps a name to a file or a schema. Two names
/// never map to the same file or schema, and no name reaches a file outside the folder of the
/// namespaces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "String", into = "String")
)]
pub struct NamespaceName(Box<str>);

impl NamespaceName {
    /// Maximum length of a name in bytes.
    pub const MAX_BYTES: usize = 64;

    /// Validates a name.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `namespace` if the name is empty, too long, or contains a NUL.
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

store_fault::text_conversions!(NamespaceName, Error);

/// A namespace that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// The name.
    pub name: NamespaceName,
    /// When the namespace was created, in whole microseconds.
    pub created_at: SystemTime,
    /// Data that the creator attached to the namespace, as a JSON text.
    pub attributes: Option<String>,
}

/// Message stores that are physically separate: one file each in SQLite, one schema each in
/// PostgreSQL.
pub trait Namespaces: Send + Sync {
    /// The store of one namespace.
    type Store: MessageStore;

    /// Creates an empty namespace. If several callers create the same namespace at once, one
    /// succeeds.
    ///
    /// # Errors
    /// [`Error::NamespaceExists`]; [`Error::TooManyNamespaces`]; [`Error::Invalid`] with field `attributes` if `attributes` is not
    /// JSON; [`Fault::Unreachable`](crate::Fault), [`Fault::Refused`](crate::Fault) or [`Error::Io`] if
    /// the backend fails.
    fn create(
        &self,
        name: &NamespaceName,
        attributes: Option<&str>,
    ) -> impl Future<Output = Result<Namespace, Error>> + Send;

    /// Opens the store of a namespace. Later calls return the same store until it is closed. On
    /// PostgreSQL each call checks whether another process deleted the namespace, and closes the
    /// store if so.
    ///
    /// # Errors
    /// [`Error::NamespaceNotFound`]; [`Error::TooManyNamespaces`]; [`Fault::SchemaChanged`](crate::Fault) if something else changed
    /// its schema, or [`Fault::SchemaTooNew`](crate::Fault) if a newer version of this library did;
    /// [`Fault::Unreachable`](crate::Fault), [`Fault::TimedOut`](crate::Fault) or
    /// [`Fault::Refused`](crate::Fault) if the backend fails.
    fn open(&self, name: &NamespaceName)
    -> impl Future<Output = Result<Self::Store, Error>> + Send;

    /// Describes a namespace. For its content, see [`MessageStore::info`] of its store.
    ///
    /// # Errors
    /// [`Error::NamespaceNotFound`]; [`Fault::Unreachable`](crate::Fault) or
    /// [`Fault::Refused`](crate::Fault) if the backend fails.
    fn get(&self, name: &NamespaceName) -> impl Future<Output = Result<Namespace, Error>> + Send;

    /// Lists all namespaces, ordered by the bytes of their names.
    ///
    /// # Errors
    /// [`Error::TooManyNamespaces`]; [`Fault::Unreachable`](crate::Fault), [`Fault::Refused`](crate::Fault) or [`Error::Io`] if the
    /// backend fails.
    fn list(&self) -> impl Future<Output = Result<Vec<Namespace>, Error>> + Send;

    /// Closes the store of a namespace and deletes it with all its messages. Returns the number of
    /// deleted messages.
    ///
    /// # Errors
    /// [`Error::NamespaceNotFound`]; [`Fault::Unreachable`](crate::Fault),
    /// [`Fault::Refused`](crate::Fault) or [`Error::Io`] if the backend fails.
    fn delete(&self, name: &NamespaceName) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Closes all open stores.
    fn close(&self) -> impl Future<Output = ()> + Send;
}
