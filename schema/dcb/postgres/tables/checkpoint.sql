-- How far each kept projection has got. It is in the database of the projection's own tables, which
-- need not be the log's: state and checkpoint move in one transaction.
CREATE TABLE IF NOT EXISTS dcb.checkpoint (
    name     text   NOT NULL,
    position bigint NOT NULL, -- 0: nothing yet
    CONSTRAINT checkpoint_pkey PRIMARY KEY (name)
);
