-- One row for each key of an event's tags: the first event with a tag and a type after a position
-- is found in one descent, whatever plan is cached and however often the tag occurs. Keys are
-- hashes (see dcb.tag_key), so whoever finds a position here checks the event itself.
CREATE TABLE dcb.event_tag (
    key      bigint NOT NULL,
    position bigint NOT NULL,
    CONSTRAINT event_tag_pkey PRIMARY KEY (key, position)
);
