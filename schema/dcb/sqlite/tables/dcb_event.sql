-- The log. Positions are dense from 1 and in commit order; rows are never updated or deleted.
CREATE TABLE dcb_event (
    position    INTEGER NOT NULL PRIMARY KEY,
    recorded_at INTEGER NOT NULL, -- microseconds since 1970-01-01 UTC
    id          BLOB    NOT NULL, -- a UUID, 16 bytes
    type        TEXT    NOT NULL,
    tags        TEXT    NOT NULL, -- a JSON array of strings, sorted, each once
    metadata    TEXT,             -- a JSON object of strings in the order given; NULL for none
    data        BLOB    NOT NULL
) STRICT;
