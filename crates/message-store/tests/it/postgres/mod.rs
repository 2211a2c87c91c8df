//! The PostgreSQL store, on a real server.

mod adoption;
mod backup;
mod clients;
mod closing;
mod conformance;
mod crash;
mod disk_full;
mod encryption;
mod events;
mod hosts;
mod installation;
mod interface;
mod namespaces;
mod order;
mod outages;
mod plans;
mod pooled;
mod replica;
mod restored;
mod roles;
mod schema;
mod sequence;
mod sessions;
mod silence;
mod write_until_known;
mod writes;
