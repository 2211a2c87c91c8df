-- The messages. Positions and global positions are assigned under the lock of the stream's category
-- alone; see functions/announce for the order across categories.
--
-- Names are compared byte for byte, independent of the database's collation. So streams have the same
-- order on every server, and comparisons are cheap.
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
