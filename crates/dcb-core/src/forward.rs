/// Defines methods of [`EventStore`](crate::EventStore) as calls of the same methods of another
/// store, for stores that wrap one or several others.
///
/// Takes `self`, match arms that each yield an inner store, and the methods to forward. Without a
/// list of methods it forwards all of them. `tracked` stands for `all_tracked` too. The methods that the trait implements by calling others
/// need no forwarding.
///
/// ```
/// use std::time::Duration;
///
/// use dcb_core::{Append, Appended, Error, EventStore};
///
/// /// Delays every append.
/// struct Slow<S>(S);
///
/// impl<S: EventStore> EventStore for Slow<S> {
///     async fn submit(&self, append: Append) -> Result<Appended, Error> {
///         tokio::time::sleep(Duration::from_millis(3)).await;
///         self.0.submit(append).await
///     }
///
///     dcb_core::forward_event_store! { self { Self(store) => store }
///         query_stream query head count extent exists tracked commands
///         projection_limit lanes outage notifications metrics health stats close
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward_event_store {
    ($self:ident $arms:tt) => {
        $crate::forward_event_store! { $self $arms
            submit query_stream query head count extent exists tracked commands
            projection_limit lanes outage notifications metrics health stats close
        }
    };
    ($self:ident $arms:tt $($method:ident)+) => {
        $($crate::forward_event_store! { @$method $self $arms })+
    };
    (@submit $self:ident $arms:tt) => {
        async fn submit(&$self, append: $crate::Append) -> Result<$crate::Appended, $crate::Error> {
            $crate::forward_event_store!(@await $self $arms submit (append))
        }
    };
    (@query_stream $self:ident $arms:tt) => {
        async fn query_stream(
            &$self,
            query: &$crate::Query,
            options: $crate::ReadOptions,
        ) -> Result<$crate::EventStream, $crate::Error> {
            $crate::forward_event_store!(@await $self $arms query_stream (query, options))
        }
    };
    (@query $self:ident $arms:tt) => {
        async fn query(
            &$self,
            query: &$crate::Query,
            options: $crate::ReadOptions,
        ) -> Result<$crate::Events, $crate::Error> {
            $crate::forward_event_store!(@await $self $arms query (query, options))
        }
    };
    (@head $self:ident $arms:tt) => {
        async fn head(&$self) -> Result<Option<$crate::Position>, $crate::Error> {
            $crate::forward_event_store!(@await $self $arms head ())
        }
    };
    (@count $self:ident $arms:tt) => {
        async fn count(&$self, query: &$crate::Query) -> Result<u64, $crate::Error> {
            $crate::forward_event_store!(@await $self $arms count (query))
        }
    };
    (@extent $self:ident $arms:tt) => {
        async fn extent(
            &$self,
            query: &$crate::Query,
            range: impl std::ops::RangeBounds<$crate::Position> + Send,
        ) -> Result<$crate::Extent, $crate::Error> {
            $crate::forward_event_store!(@await $self $arms extent (query, range))
        }
    };
    (@exists $self:ident $arms:tt) => {
        async fn exists(&$self, query: &$crate::Query) -> Result<bool, $crate::Error> {
            $crate::forward_event_store!(@await $self $arms exists (query))
        }
    };
    (@tracked $self:ident $arms:tt) => {
        async fn tracked(&$self, source: &str) -> Result<Option<u64>, $crate::Error> {
            $crate::forward_event_store!(@await $self $arms tracked (source))
        }

        async fn all_tracked(&$self) -> Result<Vec<$crate::Tracking>, $crate::Error> {
            $crate::forward_event_store!(@await $self $arms all_tracked ())
        }
    };
    (@commands $self:ident $arms:tt) => {
        async fn commands(
            &$self,
            after: Option<$crate::Position>,
            limit: u64,
        ) -> Result<Vec<$crate::RecordedCommand>, $crate::Error> {
            $crate::forward_event_store!(@await $self $arms commands (after, limit))
        }
    };
    (@projection_limit $self:ident $arms:tt) => {
        fn projection_limit(&$self) -> &$crate::ProjectionLimit {
            $crate::forward_event_store!(@call $self $arms projection_limit ())
        }
    };
    (@lanes $self:ident $arms:tt) => {
        fn lanes(&$self) -> Option<&$crate::Lanes> {
            $crate::forward_event_store!(@call $self $arms lanes ())
        }
    };
    (@outage $self:ident $arms:tt) => {
        fn outage(&$self, since: std::time::Instant) -> Option<$crate::Error> {
            $crate::forward_event_store!(@call $self $arms outage (since))
        }
    };
    (@notifications $self:ident $arms:tt) => {
        fn notifications(&$self) -> $crate::Notifications {
            $crate::forward_event_store!(@call $self $arms notifications ())
        }
    };
    (@metrics $self:ident $arms:tt) => {
        fn metrics(&$self) -> $crate::Metrics {
            $crate::forward_event_store!(@call $self $arms metrics ())
        }
    };
    (@health $self:ident $arms:tt) => {
        async fn health(&$self) -> Result<$crate::Health, $crate::Error> {
            $crate::forward_event_store!(@await $self $arms health ())
        }
    };
    (@stats $self:ident $arms:tt) => {
        fn stats(&$self) -> $crate::Stats {
            $crate::forward_event_store!(@call $self $arms stats ())
        }
    };
    (@close $self:ident $arms:tt) => {
        async fn close(&$self) {
            $crate::forward_event_store!(@await $self $arms close ())
        }
    };
    (
        @await $self:ident
        { $($(#[$attribute:meta])* $pattern:pat => $store:expr),+ $(,)? }
        $method:ident $arguments:tt
    ) => {
        match $self {
            $($(#[$attribute])* $pattern => $store.$method $arguments.await,)+
        }
    };
    (
        @call $self:ident
        { $($(#[$attribute:meta])* $pattern:pat => $store:expr),+ $(,)? }
        $method:ident $arguments:tt
    ) => {
        match $self {
            $($(#[$attribute])* $pattern => $store.$method $arguments,)+
        }
    };
}
