-- One row: how far dcb_event_tag goes. The keys of the events after it are in the memory of each
-- process that has the log open, made from the events themselves; they come into the table sorted
-- and many at once, so that a page of it is written once for many events.
CREATE TABLE dcb_indexed (
    only      INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
    through   INTEGER NOT NULL, -- the last position whose keys are all there, and those before it
    clearings INTEGER NOT NULL  -- how often the log was emptied
) STRICT;
INSERT INTO dcb_indexed (only, through, clearings) VALUES (1, 0, 0);
