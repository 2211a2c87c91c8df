use super::arguments::Arguments;
use super::caller::Caller;
use super::namespaces::OpenNamespaces;
use crate::service::Service;

/// A call, its caller, and what calls use.
pub(super) struct Call<'a> {
    pub(super) namespaces: &'a OpenNamespaces,
    pub(super) service: &'a Service,
    pub(super) caller: &'a Caller,
    pub(super) arguments: Arguments<'a>,
}
