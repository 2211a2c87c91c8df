-- One row for each key of an event's tags, and one for the event itself, with an empty tag; of all
-- events up to the position in dcb_indexed, and of some after it. Key: 40 bits of the tag's hash,
-- then 24 bits of the type's (XXH3). So the first event with a tag and a type after a position is
-- found in one descent, however often the tag occurs. Keys are hashes: whoever finds a position here
-- checks the event itself.
CREATE TABLE dcb_event_tag (
    key      INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (key, position)
) STRICT, WITHOUT ROWID;
