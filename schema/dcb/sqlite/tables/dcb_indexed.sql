-- One row: the end of the tag index, dcb_event_tag. Each process that has the log open derives the keys
-- of later events and keeps them in memory. They move into the table sorted and many at once, so that a
-- page is written once for many events.
CREATE TABLE dcb_indexed (
    only      INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
    through   INTEGER NOT NULL, -- the last position whose keys are all there, and those before it
    clearings INTEGER NOT NULL  -- how often the log was emptied
) STRICT;
INSERT INTO dcb_indexed (only, through, clearings) VALUES (1, 0, 0);
