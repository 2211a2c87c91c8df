-- The checkpoint of each stored projection. It is in the file of the projection's tables, which may
-- differ from the log's, so that state and checkpoint move in one transaction.
CREATE TABLE IF NOT EXISTS dcb_checkpoint (
    name     TEXT    NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL, -- 0: nothing yet
    bookmark TEXT -- position@id of the event there; without meaning if position differs
) STRICT, WITHOUT ROWID;
