-- The tag index: one row for each tag of an event, and one for the event itself with an empty tag. It
-- is complete up to the position in dcb_indexed. Rows after that position are ignored. A key has 40
-- bits of the tag's hash, then 24 bits of the type's hash (XXH3). So one descent finds the first event
-- with a tag and a type after a position, however often the tag occurs. Keys are hashes, so a search
-- has to check the event itself.
CREATE TABLE dcb_event_tag (
    key      INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (key, position)
) STRICT, WITHOUT ROWID;
