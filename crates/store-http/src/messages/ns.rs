//! `ns.*`.

use std::time::SystemTime;

use axum::response::Response;
use message_store::{
    ListStreams, MessageStore as _, Namespace, NamespaceName, Namespaces as _, StoreInfo,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::answer::json_answer;
use super::arguments::{integer, object, renamed, text};
use super::call::Call;
use super::namespaces::{Attributes, TokenHash, made_for, namespace_of};
use super::rows::utc;
use crate::error::ApiError;

/// Maximum number of streams in a page.
const MAX_STREAMS: i64 = 1000;
/// Page size if the caller gives none.
const DEFAULT_STREAMS: u64 = 100;

impl Call<'_> {
    fn require_admin(&self) -> Result<(), ApiError> {
        match self.caller.is_admin {
            true => Ok(()),
            false => Err(ApiError::unauthorized(
                "this method requires the admin token",
            )),
        }
    }

    /// The namespace in the first argument.
    fn named(&self) -> Result<NamespaceName, ApiError> {
        Ok(NamespaceName::new(self.arguments.text(1, "namespace")?)?)
    }

    /// The counts of a namespace, or zeros if somebody deleted it since it was listed.
    async fn info_of(&self, name: &NamespaceName) -> Result<StoreInfo, ApiError> {
        Ok(match self.namespaces.find(name).await? {
            Some(open) => open.store.info().await?,
            None => StoreInfo::default(),
        })
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CreateOptions<'a> {
    #[serde(borrow)]
    token: Option<&'a RawValue>,
    #[serde(borrow)]
    description: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

/// `["ns.create", namespace, {token?, description?, metadata?}?]`.
pub(super) async fn create(call: Call<'_>) -> Result<Response, ApiError> {
    call.require_admin()?;
    let name = call.named()?;
    let options: CreateOptions<'_> = call.arguments.options(2)?;
    let token = match options.token {
        Some(token) => given_token(token, &name)?,
        None => made_for(&name),
    };
    let description = options.description.map(|value| text("description", value));
    let metadata = options.metadata.map(|value| {
        object::<serde::de::IgnoredAny>("metadata", "", value).map(|_| value.to_owned())
    });
    let attributes = Attributes {
        description: description.transpose()?.map(Into::into),
        metadata: metadata.transpose()?,
        ..Attributes::with_token(&TokenHash::of(&token))
    };
    let made = call.namespaces.create(&name, &attributes).await;
    call.service.watch.wrote_messages(made.as_ref().err());
    // Name and token are checked above, so an invalid field can only be the metadata.
    let made = made.map_err(renamed("metadata"))?;
    let answer = json!({
        "namespace": name.as_str(),
        "token": token,
        "createdAt": utc(made.created_at),
    });
    Ok(json_answer(answer.to_string()))
}

fn given_token(token: &RawValue, name: &NamespaceName) -> Result<String, ApiError> {
    let token = text("token", token)?;
    match namespace_of(&token) {
        Some(namespace) if namespace == *name => Ok(token.into_owned()),
        Some(_) => Err(ApiError::invalid_field(
            "token",
            "token must name the new namespace",
        )),
        None => Err(ApiError::invalid_field(
            "token",
            "token must have the form ns_<namespace in base64url>_<64 hexadecimal digits>",
        )),
    }
}

/// `["ns.delete", namespace]`.
pub(super) async fn delete(call: Call<'_>) -> Result<Response, ApiError> {
    call.require_admin()?;
    let name = call.named()?;
    let answer = json!({
        "messagesDeleted": call.namespaces.delete(&name).await?,
        "namespace": name.as_str(),
        "deletedAt": utc(SystemTime::now()),
    });
    Ok(json_answer(answer.to_string()))
}

/// `["ns.list"]`. Counts the messages of each namespace.
pub(super) async fn list(call: Call<'_>) -> Result<Response, ApiError> {
    call.require_admin()?;
    let namespaces = call.namespaces.stores.list().await?;
    let mut list = Vec::with_capacity(namespaces.len());
    for namespace in &namespaces {
        let info = call.info_of(&namespace.name).await?;
        list.push(described(namespace, &info));
    }
    Ok(json_answer(Value::from(list).to_string()))
}

/// `["ns.info", namespace]`.
pub(super) async fn info(call: Call<'_>) -> Result<Response, ApiError> {
    let name = call.named()?;
    // This check comes before the lookup, so that a caller can't learn which other namespaces
    // exist.
    if !call.caller.is_of(name.as_str()) {
        call.require_admin()?;
    }
    let namespace = call.namespaces.stores.get(&name).await?;
    let info = call.info_of(&name).await?;
    let mut answer = described(&namespace, &info);
    answer["streamCount"] = info.stream_count.into();
    answer["lastActivity"] = info.last_activity.map(utc).into();
    Ok(json_answer(answer.to_string()))
}

fn described(namespace: &Namespace, info: &StoreInfo) -> Value {
    let attributes = Attributes::of(namespace);
    json!({
        "namespace": namespace.name.as_str(),
        "description": attributes.description.unwrap_or_default(),
        "metadata": attributes.metadata,
        "createdAt": utc(namespace.created_at),
        "messageCount": info.message_count,
    })
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StreamsOptions<'a> {
    #[serde(borrow)]
    prefix: Option<&'a RawValue>,
    #[serde(borrow)]
    limit: Option<&'a RawValue>,
    #[serde(borrow)]
    cursor: Option<&'a RawValue>,
}

/// `["ns.streams", {prefix?, limit?, cursor?}?]`: the streams after the cursor, ordered by name.
pub(super) async fn streams(call: Call<'_>) -> Result<Response, ApiError> {
    let options: StreamsOptions<'_> = call.arguments.options(1)?;
    let mut list = ListStreams::new().limit(match options.limit {
        Some(limit) => limit_of(limit)?,
        None => DEFAULT_STREAMS,
    });
    if let Some(prefix) = options.prefix {
        list = list.prefix(text("prefix", prefix)?);
    }
    if let Some(cursor) = options.cursor {
        list = list.after(text("cursor", cursor)?);
    }
    let store = &call.caller.namespace()?.store;
    let streams = store.list_streams(list).await?;
    let streams = streams.into_iter().map(|stream| {
        json!({
            "stream": stream.stream_name,
            "version": stream.version.get(),
            "lastActivity": utc(stream.last_activity),
        })
    });
    Ok(json_answer(streams.collect::<Value>().to_string()))
}

fn limit_of(limit: &RawValue) -> Result<u64, ApiError> {
    match integer("limit", limit)? {
        limit @ 1..=MAX_STREAMS => Ok(limit.unsigned_abs()),
        limit => Err(ApiError::invalid_field(
            "limit",
            format!("limit must be 1 to {MAX_STREAMS}, got {limit}"),
        )),
    }
}

/// `["ns.categories"]`.
pub(super) async fn categories(call: Call<'_>) -> Result<Response, ApiError> {
    let store = &call.caller.namespace()?.store;
    let categories = store.list_categories().await?;
    let categories = categories.into_iter().map(|category| {
        json!({
            "category": category.category,
            "streamCount": category.stream_count,
            "messageCount": category.message_count,
        })
    });
    Ok(json_answer(categories.collect::<Value>().to_string()))
}

/// `["ns.checkpoints"]`: the consumers, and how far each is behind the last message.
pub(super) async fn checkpoints(call: Call<'_>) -> Result<Response, ApiError> {
    let store = &call.caller.namespace()?.store;
    let checkpoints = store.all_checkpoints().await?;
    // Read after the checkpoints, which are never beyond it then.
    let head = store.head().await?.map_or(0, |head| head.position.get());
    let checkpoints = checkpoints.into_iter().map(|checkpoint| {
        let handled = checkpoint.handled.position.get();
        json!({
            "consumer": checkpoint.consumer,
            "globalPosition": handled,
            "behind": head.saturating_sub(handled),
        })
    });
    Ok(json_answer(checkpoints.collect::<Value>().to_string()))
}
