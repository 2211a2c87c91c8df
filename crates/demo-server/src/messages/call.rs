use std::sync::Arc;

use super::arguments::Arguments;
use crate::auth::Caller;
use crate::guard::Guard;
use crate::health::Health;
use crate::namespaces::OpenNamespaces;
use crate::outbox::Outbox;

/// A call, its caller, and the parts of the server that calls use.
pub(super) struct Call<'a> {
    pub(super) namespaces: &'a OpenNamespaces,
    pub(super) health: &'a Health,
    pub(super) guard: &'a Guard,
    pub(super) outbox: &'a Arc<Outbox>,
    pub(super) caller: &'a Caller,
    pub(super) arguments: Arguments<'a>,
}
