//! PromQL, tested with cases computed by hand from Prometheus' documentation.

mod aggregations;
mod binary;
mod errors;
mod functions;
mod histograms;
mod json;
mod labels;
mod rates;
mod selectors;
mod subqueries;
