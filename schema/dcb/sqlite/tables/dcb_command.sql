-- What was asked for, beside the events that it led to: they begin at its position. Its time is
-- theirs.
CREATE TABLE dcb_command (
    position INTEGER NOT NULL PRIMARY KEY,
    events   INTEGER NOT NULL, -- how many it led to
    type     TEXT    NOT NULL,
    metadata TEXT,             -- as an event's
    data     BLOB    NOT NULL
) STRICT;
