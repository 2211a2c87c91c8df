//! Measures the stores and renders the reports.
