//! The parts of a request in their order.

use super::message::{
    DataHead, ExponentialPoint, HistogramPoint, MetricHead, NumberPoint, Resource, SummaryPoint,
    Unread,
};
use super::parts::{Field, Part};
use super::write::Malformed;

const RESOURCE_METRICS: Field = Field(1, "resourceMetrics");
const RESOURCE: Field = Field(1, "resource");
const SCOPE_METRICS: Field = Field(2, "scopeMetrics");
const METRICS: Field = Field(2, "metrics");
const DATA_POINTS: Field = Field(1, "dataPoints");
/// The kinds of data, of which a metric has one.
const DATA: [(Field, Data); 5] = [
    (Field(5, "gauge"), Data::Gauge),
    (Field(7, "sum"), Data::Sum),
    (Field(9, "histogram"), Data::Histogram),
    (Field(10, "exponentialHistogram"), Data::Exponential),
    (Field(11, "summary"), Data::Summary),
];

/// A kind of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    Gauge,
    Sum,
    Histogram,
    Exponential,
    Summary,
    /// A kind of a later version of the protocol, or none.
    Unknown,
}

/// A part of a request.
pub(super) enum Item {
    /// The following metrics are of this resource.
    Resource(Resource),
    /// The following points are of this metric.
    Metric(MetricHead, Data, DataHead),
    Number(NumberPoint),
    Histogram(HistogramPoint),
    Exponential(ExponentialPoint),
    Summary(SummaryPoint),
    /// A point of a kind that is not stored.
    Unread,
    /// All metrics of the resource were shown.
    End,
}

/// Shows the parts of a request in their order.
///
/// # Errors
/// The request is malformed from some part on.
pub(super) fn read(request: Part<'_>, show: &mut dyn FnMut(Item)) -> Result<(), Malformed> {
    request.each(RESOURCE_METRICS, |metrics| {
        let mut resource = Resource::default();
        metrics.each(RESOURCE, |message| {
            resource = message.decode()?;
            Ok(())
        })?;
        show(Item::Resource(resource));
        metrics.each(SCOPE_METRICS, |scope| {
            scope
                .each(METRICS, |message| metric(message, show))
                .map(drop)
        })?;
        show(Item::End);
        Ok(())
    })?;
    Ok(())
}

fn metric(message: Part<'_>, show: &mut dyn FnMut(Item)) -> Result<(), Malformed> {
    let head: MetricHead = message.decode_head()?;
    for (field, data) in DATA {
        let mut found = None;
        message.each(field, |list| {
            found = Some(list);
            Ok(())
        })?;
        if let Some(list) = found {
            show(Item::Metric(head, data, list.decode_head()?));
            return list
                .each(DATA_POINTS, |message| {
                    show(point(message, data)?);
                    Ok(())
                })
                .map(drop);
        }
    }
    show(Item::Metric(head, Data::Unknown, DataHead::default()));
    show(Item::Unread);
    Ok(())
}

fn point(message: Part<'_>, data: Data) -> Result<Item, Malformed> {
    Ok(match data {
        Data::Gauge | Data::Sum => Item::Number(message.decode()?),
        Data::Histogram => Item::Histogram(message.decode()?),
        Data::Summary => Item::Summary(message.decode()?),
        Data::Exponential => Item::Exponential(message.decode()?),
        Data::Unknown => {
            message.decode::<Unread>()?;
            Item::Unread
        }
    })
}
