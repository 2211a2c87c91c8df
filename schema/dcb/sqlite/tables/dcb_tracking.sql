-- The last upstream position of each source that an append was the consequence of.
CREATE TABLE dcb_tracking (
    source   TEXT    NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
