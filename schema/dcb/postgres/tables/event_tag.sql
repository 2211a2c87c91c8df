-- One row per key of an event's tags. One descent finds the first event with a tag and a type after a
-- position, with any cached plan and for any number of events with the tag. Keys are hashes (see
-- dcb.tag_key): a position found here is only a candidate, so check the event's type and tags.
CREATE TABLE dcb.event_tag (
    key      bigint NOT NULL,
    position bigint NOT NULL,
    CONSTRAINT event_tag_pkey PRIMARY KEY (key, position)
);
