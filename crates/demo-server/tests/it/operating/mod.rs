//! The page `OPERATING.md`, the container file, the unit of systemd, nginx and the stop.

mod container;
mod page;
mod proxy;
mod stop;
mod unit;
