use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use message_store::{Error, Namespace, NamespaceName, Namespaces as _};
use parking_lot::{Mutex as SyncMutex, RwLock};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::Mutex;

use crate::auth::{TokenHash, Tokens, made_for};
use crate::settings::Settings;
use crate::stores::{MessageNamespaces, Messages};

/// The namespace that is there from the start.
pub(crate) const DEFAULT: &str = "default";

/// For so long a namespace that was found is taken to be there. Another server on the same database
/// may have deleted it since.
const FRESH: Duration = Duration::from_secs(2);

/// A namespace that is open, and the token that it takes.
pub(crate) struct OpenNamespace {
    pub(crate) name: NamespaceName,
    pub(crate) store: Messages,
    token: Option<TokenHash>,
    created_at: SystemTime,
    found: SyncMutex<Instant>,
}

impl OpenNamespace {
    /// Whether this is its token.
    pub(crate) fn takes(&self, token: &TokenHash) -> bool {
        self.token.is_some_and(|own| own.is(token))
    }

    fn is_fresh(&self) -> bool {
        self.found.lock().elapsed() < FRESH
    }
}

/// The namespaces that are in use: each is looked up now and then, so that a request costs one hash
/// of its token and hardly ever I/O. One that is deleted is gone from here before it is from the
/// store, and with it its token; one that another server deletes, soon after.
#[derive(Default)]
pub(crate) struct OpenNamespaces {
    open: RwLock<HashMap<Box<str>, Arc<OpenNamespace>>>,
    /// Taken by whoever makes, looks up or deletes one, so that none of them finds the other
    /// halfway.
    changing: Mutex<()>,
    made_for_default: Option<String>,
}

/// What is kept with a namespace.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Attributes {
    /// The SHA-256 of its token, in hexadecimal digits.
    pub(crate) token_sha256: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) metadata: Option<Box<RawValue>>,
}

impl Attributes {
    pub(crate) fn with_token(token: &TokenHash) -> Self {
        Self {
            token_sha256: Some(token.to_hex()),
            ..Self::default()
        }
    }

    /// Those of a namespace; none where another program has put something else there.
    pub(crate) fn of(namespace: &Namespace) -> Self {
        let attributes = namespace.attributes.as_deref();
        attributes
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default()
    }

    fn token(&self) -> Option<TokenHash> {
        self.token_sha256.as_deref().and_then(TokenHash::from_hex)
    }

    fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts and JSON texts are JSON")
    }
}

impl OpenNamespaces {
    /// With the namespace `default`, which is made where there is none: with the token of the
    /// settings, or a new one.
    ///
    /// # Errors
    /// What the store met.
    pub(crate) async fn open(stores: &MessageNamespaces, tokens: &Tokens) -> Result<Self, Error> {
        let name = default_name();
        let made_for_default = match stores.get(&name).await {
            Err(Error::NamespaceNotFound { .. }) if tokens.of_default().is_none() => {
                Some(made_for(&name))
            }
            Ok(_) | Err(Error::NamespaceNotFound { .. }) => None,
            Err(failed) => return Err(failed),
        };
        let mut namespaces = Self {
            made_for_default,
            ..Self::default()
        };
        let open = namespaces.default_namespace(stores, tokens).await?;
        // Another server on the same database may have made it first, with a token of its own.
        let counts = |token: &String| open.takes(&TokenHash::of(token));
        namespaces.made_for_default = namespaces.made_for_default.filter(counts);
        Ok(namespaces)
    }

    /// The token that was made for `default`, where this start made it.
    pub(crate) fn made_for_default(&self) -> Option<&str> {
        self.made_for_default.as_deref()
    }

    /// The token of `default`, where it is known.
    pub(crate) fn token_of_default<'a>(&'a self, settings: &'a Settings) -> Option<&'a str> {
        settings.token.as_deref().or(self.made_for_default())
    }

    /// The namespace `default`, made again where it was deleted.
    ///
    /// # Errors
    /// What the store met.
    pub(crate) async fn default_namespace(
        &self,
        stores: &MessageNamespaces,
        tokens: &Tokens,
    ) -> Result<Arc<OpenNamespace>, Error> {
        let name = default_name();
        if let Some(open) = self.find(stores, &name).await? {
            return Ok(open);
        }
        let made = || TokenHash::of(self.made_for_default().unwrap_or(&made_for(&name)));
        let token = tokens.of_default().copied().unwrap_or_else(made);
        self.ensure(stores, &name, &token).await
    }

    fn get(&self, name: &NamespaceName) -> Option<Arc<OpenNamespace>> {
        self.open.read().get(name.as_str()).cloned()
    }

    /// The namespace of this name, `None` where there is none.
    ///
    /// # Errors
    /// What the store met.
    pub(crate) async fn find(
        &self,
        stores: &MessageNamespaces,
        name: &NamespaceName,
    ) -> Result<Option<Arc<OpenNamespace>>, Error> {
        let _changing = match self.get(name) {
            Some(open) if open.is_fresh() => return Ok(Some(open)),
            // Nobody waits for another's look, or for a namespace that is being deleted.
            Some(open) => match self.changing.try_lock() {
                Ok(changing) => changing,
                Err(_) => return Ok(Some(open)),
            },
            None => self.changing.lock().await,
        };
        self.look_up(stores, name).await
    }

    /// The namespace of this name, made with this token where there is none.
    ///
    /// # Errors
    /// What the store met.
    pub(crate) async fn ensure(
        &self,
        stores: &MessageNamespaces,
        name: &NamespaceName,
        token: &TokenHash,
    ) -> Result<Arc<OpenNamespace>, Error> {
        let _changing = self.changing.lock().await;
        loop {
            if let Some(open) = self.look_up(stores, name).await? {
                return Ok(open);
            }
            let attributes = Attributes::with_token(token).to_json();
            match stores.create(name, Some(&attributes)).await {
                // Another server on the same database was first.
                Ok(_) | Err(Error::NamespaceExists { .. }) => {}
                Err(failed) => return Err(failed),
            }
        }
    }

    /// Under the lock: what is open, or in the store.
    async fn look_up(
        &self,
        stores: &MessageNamespaces,
        name: &NamespaceName,
    ) -> Result<Option<Arc<OpenNamespace>>, Error> {
        if let Some(open) = self.get(name).filter(|open| open.is_fresh()) {
            return Ok(Some(open));
        }
        // In this order: one that is made again in between shows as another the next time. And
        // always both: to open one that is gone closes its store.
        let namespace = stores.get(name).await;
        let store = stores.open(name).await;
        let (namespace, store) = match (namespace, store) {
            (Err(Error::NamespaceNotFound { .. }), _)
            | (_, Err(Error::NamespaceNotFound { .. })) => {
                self.open.write().remove(name.as_str());
                return Ok(None);
            }
            (namespace, store) => (namespace?, store?),
        };
        let mut namespaces = self.open.write();
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

    /// Makes a namespace.
    ///
    /// # Errors
    /// [`Error::NamespaceExists`], or what the store met.
    pub(crate) async fn create(
        &self,
        stores: &MessageNamespaces,
        name: &NamespaceName,
        attributes: &Attributes,
    ) -> Result<Namespace, Error> {
        let _changing = self.changing.lock().await;
        stores.create(name, Some(&attributes.to_json())).await
    }

    /// Deletes a namespace, and returns how many messages it had. Its subscriptions end.
    ///
    /// # Errors
    /// [`Error::NamespaceNotFound`], or what the store met.
    pub(crate) async fn delete(
        &self,
        stores: &MessageNamespaces,
        name: &NamespaceName,
    ) -> Result<u64, Error> {
        let _changing = self.changing.lock().await;
        self.open.write().remove(name.as_str());
        stores.delete(name).await
    }
}

/// The name of [`DEFAULT`].
pub(crate) fn default_name() -> NamespaceName {
    NamespaceName::new(DEFAULT).expect("the name is valid")
}
