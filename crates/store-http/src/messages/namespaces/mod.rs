//! The namespaces of messages and their tokens.

mod default;
mod token;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use message_store::{AnyNamespaces, AnyStore, Error, Namespace, NamespaceName, Namespaces as _};
use parking_lot::{Mutex as SyncMutex, RwLock};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::Mutex;

pub use default::{DEFAULT, default_name};
pub(super) use token::made_for;
pub use token::{TokenHash, namespace_of, secret};

/// How long a lookup stays valid. Another server on the same database may delete the namespace in
/// the meantime.
const FRESH: Duration = Duration::from_secs(2);

/// An open namespace and the hash of its token.
pub struct OpenNamespace {
    /// Its name.
    pub name: NamespaceName,
    /// Its messages.
    pub store: AnyStore,
    token: Option<TokenHash>,
    created_at: SystemTime,
    /// Time of the last lookup.
    found: SyncMutex<Instant>,
}

impl OpenNamespace {
    /// Whether this is the namespace's token.
    pub fn takes(&self, token: &TokenHash) -> bool {
        self.token.is_some_and(|hash| hash.is(token))
    }

    fn is_fresh(&self) -> bool {
        self.found.lock().elapsed() < FRESH
    }
}

/// Cache of the namespaces in use. With it, most requests only hash their token and do no I/O. A
/// namespace leaves the cache before it is deleted from the store, so its token stops working at
/// once. If another server deletes it, the token works for up to two seconds.
pub struct OpenNamespaces {
    pub(super) stores: Arc<AnyNamespaces>,
    open: RwLock<HashMap<Box<str>, Arc<OpenNamespace>>>,
    /// Held while a namespace is created, looked up or deleted, so that no lookup sees half of a
    /// change.
    changing: Mutex<()>,
    /// The token of `default` in the settings. It replaces the token that is stored with the
    /// namespace.
    token_of_default: Option<TokenHash>,
    made_for_default: Option<String>,
}

/// The attributes stored with a namespace.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Attributes {
    /// SHA-256 of the token, in hexadecimal.
    pub(super) token_sha256: Option<String>,
    pub(super) description: Option<String>,
    pub(super) metadata: Option<Box<RawValue>>,
}

impl Attributes {
    pub(super) fn with_token(token: &TokenHash) -> Self {
        Self {
            token_sha256: Some(token.to_hex()),
            ..Self::default()
        }
    }

    /// The attributes of a namespace, or defaults if another program stored something else there.
    pub(super) fn of(namespace: &Namespace) -> Self {
        let attributes = namespace.attributes.as_deref();
        attributes
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default()
    }

    fn token(&self) -> Option<TokenHash> {
        self.token_sha256.as_deref().and_then(TokenHash::from_hex)
    }

    fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings and raw JSON have a JSON form")
    }
}

impl OpenNamespaces {
    /// Opens the cache and the namespace `default`. Creates `default` if it is missing, with the
    /// token in the settings or a new one.
    ///
    /// # Errors
    /// [`Error::Fault`] if the store fails.
    pub async fn open(
        stores: Arc<AnyNamespaces>,
        token_of_default: Option<&str>,
    ) -> Result<Self, Error> {
        let name = default_name();
        let made_for_default = match stores.get(&name).await {
            Err(Error::NamespaceNotFound { .. }) if token_of_default.is_none() => {
                Some(made_for(&name))
            }
            Ok(_) | Err(Error::NamespaceNotFound { .. }) => None,
            Err(failed) => return Err(failed),
        };
        let mut namespaces = Self {
            stores,
            open: RwLock::default(),
            changing: Mutex::default(),
            token_of_default: token_of_default.map(TokenHash::of),
            made_for_default,
        };
        let open = namespaces.default_namespace().await?;
        // If another server created `default` in the meantime, the token of that server is valid,
        // and ours must not be shown.
        let counts = |token: &String| open.takes(&TokenHash::of(token));
        namespaces.made_for_default = namespaces.made_for_default.filter(counts);
        Ok(namespaces)
    }

    /// The token of `default`, if this server created it.
    pub fn made_for_default(&self) -> Option<&str> {
        self.made_for_default.as_deref()
    }

    /// The token of `default` in the settings.
    pub fn token_of_default(&self) -> Option<&TokenHash> {
        self.token_of_default.as_ref()
    }

    /// The namespace `default`, created again if it was deleted.
    ///
    /// # Errors
    /// [`Error::Fault`] if the store fails.
    pub async fn default_namespace(&self) -> Result<Arc<OpenNamespace>, Error> {
        let name = default_name();
        if let Some(open) = self.find(&name).await? {
            return Ok(open);
        }
        let made = || TokenHash::of(self.made_for_default().unwrap_or(&made_for(&name)));
        let token = self.token_of_default.unwrap_or_else(made);
        self.ensure(&name, &token).await
    }

    fn get(&self, name: &NamespaceName) -> Option<Arc<OpenNamespace>> {
        self.open.read().get(name.as_str()).cloned()
    }

    /// The namespace with this name, or `None` if it does not exist.
    ///
    /// # Errors
    /// [`Error::Fault`] if the store fails.
    pub async fn find(&self, name: &NamespaceName) -> Result<Option<Arc<OpenNamespace>>, Error> {
        let _changing = match self.get(name) {
            Some(open) if open.is_fresh() => return Ok(Some(open)),
            // Stale, but usable: do not wait for another caller's lookup or for a deletion.
            Some(open) => match self.changing.try_lock() {
                Ok(changing) => changing,
                Err(_) => return Ok(Some(open)),
            },
            None => self.changing.lock().await,
        };
        self.look_up(name).await
    }

    /// The namespace with this name, created with this token if it does not exist.
    ///
    /// # Errors
    /// [`Error::Fault`] if the store fails.
    pub async fn ensure(
        &self,
        name: &NamespaceName,
        token: &TokenHash,
    ) -> Result<Arc<OpenNamespace>, Error> {
        let _changing = self.changing.lock().await;
        loop {
            if let Some(open) = self.look_up(name).await? {
                return Ok(open);
            }
            let attributes = Attributes::with_token(token).to_json();
            match self.stores.create(name, Some(&attributes)).await {
                // Another server on the same database may have created the namespace first. The
                // next lookup finds it.
                Ok(_) | Err(Error::NamespaceExists { .. }) => {}
                Err(failed) => return Err(failed),
            }
        }
    }

    /// Looks in the cache, then in the store. The caller holds `changing`.
    async fn look_up(&self, name: &NamespaceName) -> Result<Option<Arc<OpenNamespace>>, Error> {
        if let Some(open) = self.get(name).filter(|open| open.is_fresh()) {
            return Ok(Some(open));
        }
        // `get` runs before `open`: if the namespace is deleted and created again in between, the
        // next lookup sees another creation time. Both always run, because opening a deleted
        // namespace closes its store.
        let namespace = self.stores.get(name).await;
        let store = self.stores.open(name).await;
        let (namespace, store) = match (namespace, store) {
            (Err(Error::NamespaceNotFound { .. }), _)
            | (_, Err(Error::NamespaceNotFound { .. })) => {
                self.open.write().remove(name.as_str());
                return Ok(None);
            }
            (namespace, store) => (namespace?, store?),
        };
        let mut namespaces = self.open.write();
        // The same namespace as before: keep its store, which requests and subscriptions share.
        if let Some(open) = namespaces.get(name.as_str())
            && open.created_at == namespace.created_at
        {
            *open.found.lock() = Instant::now();
            return Ok(Some(Arc::clone(open)));
        }
        let open = Arc::new(OpenNamespace {
            name: name.clone(),
            store,
            token: Attributes::of(&namespace).token(),
            created_at: namespace.created_at,
            found: SyncMutex::new(Instant::now()),
        });
        namespaces.insert(name.as_str().into(), Arc::clone(&open));
        Ok(Some(open))
    }

    /// Creates a namespace.
    ///
    /// # Errors
    /// [`Error::NamespaceExists`] if it exists; [`Error::Fault`] if the store fails.
    pub(super) async fn create(
        &self,
        name: &NamespaceName,
        attributes: &Attributes,
    ) -> Result<Namespace, Error> {
        let _changing = self.changing.lock().await;
        self.stores.create(name, Some(&attributes.to_json())).await
    }

    /// Deletes a namespace and returns its number of messages. Its subscriptions end.
    ///
    /// # Errors
    /// [`Error::NamespaceNotFound`] if it does not exist; [`Error::Fault`] if the store fails.
    pub(super) async fn delete(&self, name: &NamespaceName) -> Result<u64, Error> {
        let _changing = self.changing.lock().await;
        // Leaves the cache first, so that no new request can use the token during the deletion.
        self.open.write().remove(name.as_str());
        self.stores.delete(name).await
    }
}
