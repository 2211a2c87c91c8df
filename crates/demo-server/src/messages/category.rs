//! `category.get`.

use axum::response::Response;
use message_store::{Category, CategoryRead, ConsumerGroup, GlobalPosition};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::answer::json_answer;
use super::arguments::{integer, object, position, renamed, text};
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

/// `["category.get", category or "", {position? | globalPosition?, batchSize?, correlation?,
/// consumerGroup?: {member, size}}?]`. `position` and `globalPosition` both mean a global position.
/// A category with a hyphen in its name is empty.
pub(super) async fn get(call: Call<'_>) -> Result<Response, ApiError> {
    let category = call.arguments.category(1)?;
    let options: Options<'_> = call.arguments.options(2)?;
    let size = BatchSize::of(options.batch_size)?;
    let from = match (options.position, options.global_position) {
        (None, None) => GlobalPosition::START,
        (Some(value), None) => GlobalPosition::new(position("position", value)?),
        (None, Some(value)) => GlobalPosition::new(position("globalPosition", value)?),
        // Both mean the same here, so two values would contradict each other.
        (Some(_), Some(_)) => return Err(rows::either_position()),
    };
    let mut read = CategoryRead::new().position(from);
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
    rows.answer(call.guard, call.outbox).await
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
