-- How far each kept projection has got. It is in the file of the projection's own tables, which need
-- not be the log's: state and checkpoint move in one transaction.
CREATE TABLE IF NOT EXISTS dcb_checkpoint (
    name     TEXT    NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL -- 0: nothing yet
) STRICT, WITHOUT ROWID;
