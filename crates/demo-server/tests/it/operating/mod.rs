//! The page `OPERATING.md`, the dashboard, the container file, the unit of systemd, nginx and the stop.

mod container;
mod dashboard;
mod page;
mod proxy;
mod stop;
mod unit;
