//! What an operator relies on: the page `OPERATING.md`, the container file, the unit, the stop.

mod container;
mod page;
mod stop;
mod unit;
