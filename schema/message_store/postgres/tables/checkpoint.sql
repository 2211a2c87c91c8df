-- The last position that each consumer has handled. Positions never decrease.
CREATE TABLE message_store.checkpoint (
    consumer text   COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    CONSTRAINT checkpoint_pkey PRIMARY KEY (consumer)
);
