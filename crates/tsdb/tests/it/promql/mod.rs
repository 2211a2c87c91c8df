//! PromQL, tested with cases computed by hand from Prometheus' documentation.

mod aggregations;
mod binary;
mod durations;
mod errors;
mod extended;
mod functions;
mod histograms;
mod info;
mod json;
mod labels;
mod names;
mod rates;
mod selectors;
mod stopped;
mod subqueries;
mod threads;
mod windows;
