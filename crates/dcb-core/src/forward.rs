/// Defines methods of [`EventStore`](crate::EventStore) as calls of the same methods of another
/// store, for stores that wrap one or several others.
///
/// Takes `self`, match arms that each yield an inner store, and the methods to forward. Without a
/// list of methods it forwards all of them. `tracked` stands for `all_tracked` too. The methods that the trait implements by calling others
/// need no forwarding. `for_follower` returns the wrapping store, so it is not forwarded.
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
///         projection_limit lanes kept_states outage notifications metrics health stats close
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward_event_store {
    ($self:ident $arms:tt) => {
        $crate::forward_event_store! { $self $arms
            submit query_stream query head count extent exists tracked commands
            projection_limit lanes kept_states outage notifications metrics health stats close
        }
    };
    ($self:ident $arms:tt $($method:ident)+) => {
        $($crate::forward_event_store! { @$method $self $arms })+
    };
    (@submit $self:ident $arms:tt) => { $crate::forward_event_store! { @async $self $arms
        submit(append: $crate::Append) -> Result<$crate::Appended, $crate::Error>
    } };
    (@query_stream $self:ident $arms:tt) => { $crate::forward_event_store! { @async $self $arms
        query_stream(query: &$crate::Query, options: $crate::ReadOptions) -> Result<$crate::EventStream, $crate::Error>
    } };
    (@query $self:ident $arms:tt) => { $crate::forward_event_store! { @async $self $arms
        query(query: &$crate::Query, options: $crate::ReadOptions) -> Result<$crate::Events, $crate::Error>
    } };
    (@head $self:ident $arms:tt) => { $crate::forward_event_store! { @async $self $arms
        head() -> Result<Option<$crate::Bookmark>, $crate::Error>
    } };
    (@count $self:ident $arms:tt) => { $crate::forward_event_store! { @async $self $arms
        count(query: &$crate::Query) -> Result<u64, $crate::Error>
    } };
    (@extent $self:ident $arms:tt) => { $crate::forward_event_store! { @async $self $arms
        extent(query: &$crate::Query, range: impl std::ops::RangeBounds<$crate::Position> + Send) -> Result<$crate::Extent, $crate::Error>
    } };
    (@exists $self:ident $arms:tt) => { $crate::forward_event_store! { @async $self $arms
        exists(query: &$crate::Query) -> Result<bool, $crate::Error>
    } };
    (@tracked $self:ident $arms:tt) => {
        $crate::forward_event_store! { @async $self $arms
            tracked(source: &str) -> Result<Option<u64>, $crate::Error>
        }
        $crate::forward_event_store! { @async $self $arms
            all_tracked() -> Result<Vec<$crate::Tracking>, $crate::Error>
        }
    };
    (@commands $self:ident $arms:tt) => { $crate::forward_event_store! { @async $self $arms
        commands(after: Option<$crate::Position>, limit: u64) -> Result<Vec<$crate::RecordedCommand>, $crate::Error>
    } };
    (@projection_limit $self:ident $arms:tt) => { $crate::forward_event_store! { @plain $self $arms
        projection_limit() -> &$crate::ProjectionLimit
    } };
    (@lanes $self:ident $arms:tt) => { $crate::forward_event_store! { @plain $self $arms
        lanes() -> Option<&$crate::Lanes>
    } };
    (@kept_states $self:ident $arms:tt) => { $crate::forward_event_store! { @plain $self $arms
        kept_states() -> Option<$crate::KeptStates>
    } };
    (@outage $self:ident $arms:tt) => { $crate::forward_event_store! { @plain $self $arms
        outage(since: std::time::Instant) -> Option<$crate::Error>
    } };
    (@notifications $self:ident $arms:tt) => { $crate::forward_event_store! { @plain $self $arms
        notifications() -> $crate::Notifications
    } };
    (@metrics $self:ident $arms:tt) => { $crate::forward_event_store! { @plain $self $arms
        metrics() -> $crate::Metrics
    } };
    (@health $self:ident $arms:tt) => { $crate::forward_event_store! { @async $self $arms
        health() -> Result<$crate::Health, $crate::Error>
    } };
    (@stats $self:ident $arms:tt) => { $crate::forward_event_store! { @plain $self $arms
        stats() -> $crate::Stats
    } };
    (@close $self:ident $arms:tt) => { $crate::forward_event_store! { @async $self $arms
        close() -> ()
    } };
    (@async $self:ident $arms:tt $name:ident($($argument:ident: $type:ty),*) -> $output:ty) => {
        async fn $name(&$self, $($argument: $type),*) -> $output {
            $crate::forward_event_store!(@await $self $arms $name ($($argument),*))
        }
    };
    (@plain $self:ident $arms:tt $name:ident($($argument:ident: $type:ty),*) -> $output:ty) => {
        fn $name(&$self, $($argument: $type),*) -> $output {
            $crate::forward_event_store!(@call $self $arms $name ($($argument),*))
        }
    };
    (
        @await $self:ident
        { $($(#[$attribute:meta])* $pattern:pat => $store:expr),+ $(,)? }
        $name:ident $arguments:tt
    ) => {
        match $self { $($(#[$attribute])* $pattern => $store.$name $arguments.await,)+ }
    };
    (
        @call $self:ident
        { $($(#[$attribute:meta])* $pattern:pat => $store:expr),+ $(,)? }
        $name:ident $arguments:tt
    ) => {
        match $self { $($(#[$attribute])* $pattern => $store.$name $arguments,)+ }
    };
}
