//! The calls of a store that wraps another one.

/// Calls a method of the store that the matching arm yields, with `await` for an async one.
macro_rules! call {
    (await $self:ident { $($(#[$attribute:meta])* $pattern:pat => $store:expr,)+ } $name:ident $arguments:tt) => {
        match $self { $($(#[$attribute])* $pattern => $store.$name $arguments.await,)+ }
    };
    ($self:ident { $($(#[$attribute:meta])* $pattern:pat => $store:expr,)+ } $name:ident $arguments:tt) => {
        match $self { $($(#[$attribute])* $pattern => $store.$name $arguments,)+ }
    };
}

/// Defines the async methods of this list.
macro_rules! forward_async {
    ($self:ident $arms:tt $(fn $name:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {
        $(async fn $name(&$self, $($argument: $type),*) -> $output {
            $crate::forward::call!(await $self $arms $name ($($argument),*))
        })*
    };
}

/// Defines every method of [`MessageStore`](crate::MessageStore) as a call of the same method of another store, which
/// the match arms in braces yield: `forward_message_store!(self { Self { store } => store, });`
macro_rules! forward_message_store {
    ($self:ident $arms:tt) => {
        $crate::forward::forward_async! {
            $self $arms
            fn write_streams(writes: Vec<$crate::StreamWrite>) -> Result<Vec<Vec<$crate::Written>>, $crate::Error>;
            fn write_batch(stream: &$crate::StreamName, messages: Vec<$crate::Message>, expected_version: $crate::ExpectedVersion) -> Result<Vec<$crate::Written>, $crate::Error>;
            fn write_message(stream: &$crate::StreamName, message: $crate::Message, expected_version: $crate::ExpectedVersion) -> Result<$crate::Written, $crate::Error>;
            fn import_messages(messages: Vec<$crate::RecordedMessage>) -> Result<u64, $crate::Error>;
            fn get_stream_messages(stream: &$crate::StreamName, read: $crate::StreamRead) -> Result<Vec<$crate::RecordedMessage>, $crate::Error>;
            fn get_category_messages(category: &$crate::Category, read: $crate::CategoryRead) -> Result<Vec<$crate::RecordedMessage>, $crate::Error>;
            fn get_last_stream_message(stream: &$crate::StreamName, message_type: Option<&str>) -> Result<Option<$crate::RecordedMessage>, $crate::Error>;
            fn stream_version(stream: &$crate::StreamName) -> Result<Option<$crate::Position>, $crate::Error>;
            fn head() -> Result<Option<$crate::Bookmark>, $crate::Error>;
            fn list_streams(list: $crate::ListStreams) -> Result<Vec<$crate::StreamInfo>, $crate::Error>;
            fn list_categories() -> Result<Vec<$crate::CategoryInfo>, $crate::Error>;
            fn info() -> Result<$crate::StoreInfo, $crate::Error>;
            fn truncate_stream(stream: &$crate::StreamName, before: $crate::Position) -> Result<u64, $crate::Error>;
            fn expire_messages(category: &$crate::Category, before: std::time::SystemTime) -> Result<u64, $crate::Error>;
            fn checkpoint(consumer: &str) -> Result<Option<$crate::Bookmark>, $crate::Error>;
            fn all_checkpoints() -> Result<Vec<$crate::Checkpoint>, $crate::Error>;
            fn save_checkpoint(consumer: &str, handled: impl Into<$crate::Bookmark> + Send) -> Result<$crate::Bookmark, $crate::Error>;
            fn delete_checkpoint(consumer: &str) -> Result<bool, $crate::Error>;
            fn settled() -> Result<Option<$crate::Settled>, $crate::Error>;
            fn health() -> Result<$crate::Health, $crate::Error>;
            fn close() -> ();
        }

        fn notifications(&$self) -> $crate::Notifications {
            $crate::forward::call!($self $arms notifications ())
        }

        fn metrics(&$self) -> $crate::Metrics {
            $crate::forward::call!($self $arms metrics ())
        }

        fn stats(&$self) -> $crate::Stats {
            $crate::forward::call!($self $arms stats ())
        }
    };
}

pub(crate) use {call, forward_async, forward_message_store};
