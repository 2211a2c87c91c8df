-- The messages. A position is drawn under the lock of the stream's category and of no other, a
-- global position under the same lock; see functions/announce for the order over all categories.
--
-- Names are compared byte for byte, whatever the database's collation: so streams are listed in the
-- same order on every server, and comparing costs least.
CREATE TABLE message_store.messages (
    global_position bigserial NOT NULL,
    position        bigint    NOT NULL,
    time            timestamp without time zone NOT NULL DEFAULT (now() AT TIME ZONE 'utc'),
    stream_name     text      COLLATE "C" NOT NULL,
    type            text      COLLATE "C" NOT NULL,
    data            jsonb,
    metadata        jsonb,
    id              uuid      NOT NULL DEFAULT gen_random_uuid(),
    CONSTRAINT messages_pkey PRIMARY KEY (global_position)
);
