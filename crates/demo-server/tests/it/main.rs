//! The tests of the HTTP interfaces, in one executable so that they are linked once.

mod auth;
mod compression;
mod dcb;
mod forward;
mod grpc;
mod health;
mod idle;
mod log;
mod messages;
mod observe;
mod openapi;
mod operating;
mod page;
mod projections;
mod readme;
mod refused_start;
mod schemas;
mod series;
mod server;
mod slow_senders;
mod starting;
mod support;
mod versions;
