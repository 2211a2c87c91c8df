//! The page `OPERATING.md`, the container file, the unit of systemd and the stop.

mod container;
mod page;
mod stop;
mod unit;
