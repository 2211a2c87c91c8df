-- The checkpoint of each slice. It changes in the transaction that changes the projection's tables, and
-- only for the holder of the epoch.
CREATE TABLE IF NOT EXISTS dcb_projection_slice (
    name     TEXT    NOT NULL,
    version  INTEGER NOT NULL,
    slice    INTEGER NOT NULL,
    epoch    INTEGER NOT NULL, -- grows whenever the slice changes hands
    member   TEXT, -- null: free
    position INTEGER NOT NULL DEFAULT 0, -- 0: nothing yet
    bookmark TEXT, -- position@id of the event there
    parked   INTEGER NOT NULL DEFAULT 0, -- events that wait in dcb_projection_event to be replayed
    failure  TEXT, -- why the slice stands still
    PRIMARY KEY (name, version, slice)
) STRICT, WITHOUT ROWID;
