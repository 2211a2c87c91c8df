# The workspace's tasks. Every line is a plain cargo command.

# List the tasks.
default:
    @just --list

# Format, lint, document: the checks before the tests.
check:
    cargo fmt --all --check
    cargo run -q -p tidy --bin prose
    cargo clippy --workspace --all-targets --all-features -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features

# All tests.
test *args:
    cargo test --workspace {{args}}

# The tests in their large form: `effort` times the crashes, random histories and rows.
torture effort="10":
    REGISTRAR_EFFORT={{effort}} cargo test --workspace

# The benchmarks; writes reports/. With a filter, measures only the rows that match.
bench filter="":
    cargo bench {{ if filter == "" { "" } else { "-- " + filter } }}

# The benchmarks with tight intervals and the large dataset.
bench-full:
    BENCH_PROFILE=full cargo bench

# Render the pages of a saved complete run again.
report run:
    cargo run --release -p bench --bin report -- {{run}}

# Two saved runs side by side, or with --bench two revisions measured in turns.
compare *args:
    cargo run --release -p bench --bin compare -- {{args}}

# Our stores beside those that a reader would take instead; writes reports/peers.md.
peers *args:
    cargo run --release -p bench --bin peers -- {{args}}

# A flame graph and a heap profile of the matching rows of a bench program.
profile target filter:
    CARGO_PROFILE_BENCH_DEBUG=line-tables-only cargo bench -p bench --features cpu-profile --bench {{target}} -- --profile-time 5 "{{filter}}"
    CARGO_PROFILE_BENCH_DEBUG=line-tables-only cargo bench -p bench --features heap-profile --bench {{target}} -- --profile-time 5 "{{filter}}"

# The demo server, by default on port 8080.
serve *args:
    cargo run --release -p demo-server -- {{args}}

# Load a dataset into a database, for example: just load medium postgres://localhost/test
load dataset url:
    cargo run --release -p course-enrollment --features load-dataset --bin load-dataset -- {{dataset}} --database-url {{url}}

# A PostgreSQL for experiments, until Ctrl-C.
postgres:
    cargo run -p local-postgres --example serve

# The tests of the demo server's page in Chromium. Needs Node and Chromium.
browser:
    crates/demo-server/browser/run

# The whole gate, from formatting to packages. The workflow on GitHub runs its parts as jobs.
ci:
    bash .ci/run
