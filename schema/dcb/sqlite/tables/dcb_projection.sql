-- The versions of each sliced projection, in the file of their tables. At most one is current.
CREATE TABLE IF NOT EXISTS dcb_projection (
    name       TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    slices     INTEGER NOT NULL,
    state      TEXT    NOT NULL, -- building, current or retired
    stop_at    TEXT, -- a bookmark: no slice passes it while others bring the slices to one position
    stop_until REAL, -- seconds since 1970; stop_at has no effect from this time on
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;
