//! Finds or starts a PostgreSQL for tests, benchmarks and demos.
