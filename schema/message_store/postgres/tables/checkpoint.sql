-- Where each consumer has got to. A position only ever increases.
CREATE TABLE message_store.checkpoint (
    consumer text   COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    CONSTRAINT checkpoint_pkey PRIMARY KEY (consumer)
);
