-- Events that a projection did not handle: skipped ones, and parked ones that wait to be replayed.
CREATE TABLE IF NOT EXISTS dcb_projection_event (
    name     TEXT    NOT NULL,
    version  INTEGER NOT NULL,
    position INTEGER NOT NULL,
    slice    INTEGER NOT NULL,
    key      TEXT    NOT NULL,
    parked   INTEGER NOT NULL, -- 0: skipped
    error    TEXT, -- null: parked behind an earlier event of its key
    PRIMARY KEY (name, version, position)
) STRICT, WITHOUT ROWID;
