//! `category.get`.

use axum::response::Response;
use message_store::{Category, CategoryRead, ConsumerGroup, GlobalPosition};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::answer::json_answer;
use super::arguments::{after, integer, object, position, renamed, text};
use super::call::Call;
use super::rows::{self, BatchSize, Rows};
use crate::error::ApiError;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Options<'a> {
    #[serde(borrow)]
    position: Option<&'a RawValue>,
    #[serde(borrow)]
    global_position: Option<&'a RawValue>,
    #[serde(borrow)]
    after: Option<&'a RawValue>,
    #[serde(borrow)]
    batch_size: Option<&'a RawValue>,
    #[serde(borrow)]
    correlation: Option<&'a RawValue>,
    #[serde(borrow)]
    consumer_group: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group<'a> {
    #[serde(borrow)]
    member: Option<&'a RawValue>,
    #[serde(borrow)]
    size: Option<&'a RawValue>,
}

/// `["category.get", category or "", {position? | globalPosition? | after?, batchSize?, correlation?,
/// consumerGroup?: {member, size}}?]`. `position` and `globalPosition` both mean the first global
/// position, `after` the last message that the client has handled. A category with a hyphen in its
/// name is empty.
pub(super) async fn get(call: Call<'_>) -> Result<Response, ApiError> {
    let category = call.arguments.category(1)?;
    let options: Options<'_> = call.arguments.options(2)?;
    let size = BatchSize::of(options.batch_size)?;
    let read = CategoryRead::new();
    let mut read = match (options.position, options.global_position, options.after) {
        (None, None, None) => read,
        (Some(value), None, None) => read.position(global("position", value)?),
        (None, Some(value), None) => read.position(global("globalPosition", value)?),
        (None, None, Some(value)) => read.start(after("after", value)?),
        // Two values would contradict each other.
        _ => return Err(rows::one_position(options.after.is_some())),
    };
    if let Some(correlation) = options.correlation {
        let correlation = Category::new(text("correlation", correlation)?);
        read = read.correlation(correlation.map_err(renamed("correlation"))?);
    }
    if let Some(group) = options.consumer_group {
        read = read.consumer_group(group_of(&object(
            "consumerGroup",
            "consumerGroup.",
            group,
        )?)?);
    }
    let store = call.caller.namespace()?.store.clone();
    let Some(category) = category else {
        return Ok(json_answer("[]"));
    };
    let rows = Rows::of_category(store, category, read, size).await?;
    rows.answer(call.service).await
}

fn global(field: &str, value: &RawValue) -> Result<GlobalPosition, ApiError> {
    position(field, value).map(GlobalPosition::new)
}

fn group_of(group: &Group<'_>) -> Result<ConsumerGroup, ApiError> {
    let number = |field: &str, value: Option<&RawValue>| match value {
        Some(value) => integer(field, value),
        None => Err(ApiError::invalid_field(
            field,
            format!("{field} is missing"),
        )),
    };
    let member = number("consumerGroup.member", group.member)?;
    let size = number("consumerGroup.size", group.size)?;
    Ok(ConsumerGroup::new(member, size)?)
}
