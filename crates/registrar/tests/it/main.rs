//! The tests run the program, and read what it prints.

mod backup;
mod comparing;
mod events;
mod every_command;
mod exit_codes;
mod guides;
mod imports;
mod long_moves;
mod messages;
mod moving;
mod projections;
mod readme;
mod schema;
mod series;
mod session;
mod support;
