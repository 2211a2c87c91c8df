//! The stores of namespaces that are open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::OwnedMutexGuard;

use super::PostgresStore;
use crate::{MessageStore as _, NamespaceName, Stats};

/// The open stores. Each name has a separate place: a namespace that is slow to open or to delete, for
/// example because a transaction uses it, delays no other.
#[derive(Default)]
pub(super) struct OpenStores {
    places: Places,
}

type Places = Arc<Mutex<ByName>>;
type ByName = HashMap<NamespaceName, Arc<tokio::sync::Mutex<Option<Open>>>>;

/// An open store of a namespace.
pub(super) struct Open {
    pub(super) store: PostgresStore,
    /// Tells a namespace that was deleted and created again, perhaps in the same schema.
    pub(super) created_at: SystemTime,
}

/// The place of a namespace, which other calls for it wait for. An empty place goes away with its last
/// user.
pub(super) struct Place {
    name: NamespaceName,
    /// `None` only while it is dropped.
    open: Option<OwnedMutexGuard<Option<Open>>>,
    places: Places,
}

impl OpenStores {
    /// The place of a namespace, once no other call uses it.
    pub(super) async fn place(&self, name: &NamespaceName) -> Place {
        let place = Arc::clone(lock(&self.places).entry(name.clone()).or_default());
        Place {
            name: name.clone(),
            open: Some(place.lock_owned().await),
            places: Arc::clone(&self.places),
        }
    }

    /// The places of all open stores, once no other call uses them.
    pub(super) async fn all(&self) -> Vec<Place> {
        let names: Vec<NamespaceName> = lock(&self.places).keys().cloned().collect();
        let mut places = Vec::with_capacity(names.len());
        for name in &names {
            places.push(self.place(name).await);
        }
        places
    }

    /// The sum of the counters, `None` while a store is being opened or deleted.
    pub(super) fn stats(&self) -> Option<Stats> {
        let places = lock(&self.places);
        places.values().try_fold(Stats::default(), |sum, place| {
            let place = place.try_lock().ok()?;
            let stats = place.as_ref().map(|open| open.store.stats());
            Some(sum.and(stats.unwrap_or_default()))
        })
    }
}

impl Place {
    /// Takes the open store out.
    pub(super) fn take(&mut self) -> Option<Open> {
        self.open.as_mut()?.take()
    }

    /// Puts an open store in.
    pub(super) fn set(&mut self, open: Open) {
        if let Some(place) = &mut self.open {
            **place = Some(open);
        }
    }
}

fn lock(places: &Places) -> MutexGuard<'_, ByName> {
    places.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = lock(&self.places);
        let is_empty = self.open.take().is_none_or(|open| open.is_none());
        // Only this map hands out clones, and it is locked.
        let is_unused = |place: &Arc<_>| Arc::strong_count(place) == 1;
        if is_empty && places.get(&self.name).is_some_and(is_unused) {
            places.remove(&self.name);
        }
    }
}
