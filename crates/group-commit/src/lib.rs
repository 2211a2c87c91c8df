//! One bounded, fair, cancellation-safe commit queue for durable writers.
