-- The messages. A writer holds only the lock of the stream's category while it assigns positions and
-- global positions. functions/announce explains the order across categories.
--
-- Names are compared byte for byte, whatever the database's collation is. So streams have the same
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
