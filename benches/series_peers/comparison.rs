//! The rows of the comparison.

use crate::data::Data;
use crate::servers::Servers;
use crate::{queries, writes};
use bench::{BoxError, Target};
use std::sync::Arc;

pub(crate) fn declare(target: &mut Target) -> Result<(), BoxError> {
    let data = Data::for_profile(target.profile());
    let servers = Arc::new(Servers::new(data, &target.facts()));
    queries::declare(target, &servers);
    // The writes come last, because they add series to the servers.
    writes::declare(target, &servers);
    Ok(())
}
