-- The last upstream position tracked for each source.
CREATE TABLE dcb_tracking (
    source   TEXT    NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
