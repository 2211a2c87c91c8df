//! Exemplars in requests of version 1.

use super::message::{read_exemplar, read_labels};
use super::protobuf::{Fields, Truncated, Value};
use super::received::store_exemplar;
use crate::wire::points::Points;
use crate::{Exemplars, LabelsBuilder};

/// Calls `show` with the exemplars of a series.
fn each<'m>(
    series: &'m [u8],
    mut show: impl FnMut(&'m [u8]) -> Result<(), Truncated>,
) -> Result<(), Truncated> {
    let mut fields = Fields::new(series);
    while let Some(field) = fields.next()? {
        if let (3, Value::Bytes(exemplar)) = field {
            show(exemplar)?;
        }
    }
    Ok(())
}

/// Checks that the exemplars of a series can be read.
pub(super) fn check(series: &[u8]) -> Result<(), Truncated> {
    let mut labels = LabelsBuilder::default();
    each(series, |exemplar| {
        labels.clear();
        read_exemplar(exemplar, &mut labels).map(drop)
    })
}

/// Stores the exemplars of a series. Returns their number.
pub(super) fn store(
    series: &[u8],
    exemplars: &Exemplars,
    points: &mut Points,
) -> Result<usize, Truncated> {
    let mut builder = LabelsBuilder::default();
    read_labels(series, &mut builder)?;
    // A series whose labels are wrong was refused before.
    let labels = builder.build().unwrap_or_default();
    if labels.metric().is_empty() {
        return Ok(0);
    }
    let mut stored = 0;
    each(series, |exemplar| {
        builder.clear();
        let sample = read_exemplar(exemplar, &mut builder)?;
        match store_exemplar(exemplars, &labels, &mut builder, sample) {
            Ok(()) => stored += 1,
            Err(fault) => points.refuse(fault),
        }
        Ok(())
    })?;
    Ok(stored)
}
