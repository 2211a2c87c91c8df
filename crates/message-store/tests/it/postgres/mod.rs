//! The PostgreSQL store, on a real server.

mod adoption;
mod backup;
mod clients;
mod closing;
mod conformance;
mod crash;
mod disk_full;
mod events;
mod idle;
mod installation;
mod interface;
mod namespaces;
mod notifications;
mod order;
mod plans;
mod pooled;
mod replica;
mod restored;
mod retention;
mod roles;
mod runtimes;
mod schema;
mod sequence;
mod shared_connections;
mod write_until_known;
mod writes;
