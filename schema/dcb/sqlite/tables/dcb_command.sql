-- Commands. The position is that of the first event that the command caused. The commit time is that
-- event's.
CREATE TABLE dcb_command (
    position INTEGER NOT NULL PRIMARY KEY,
    events   INTEGER NOT NULL, -- how many it led to
    type     TEXT    NOT NULL,
    metadata TEXT,             -- as an event's
    data     BLOB    NOT NULL
) STRICT;
