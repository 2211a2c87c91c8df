//! The course-enrollment domain and datasets that examples and benchmarks share.
