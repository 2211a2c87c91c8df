//! The messages interface over HTTP.

mod calls;
mod import;
mod invalid;
mod names;
mod postgres;
mod races;
mod restored;
mod subscribe;
