-- The checkpoint of each kept projection. State and checkpoint change in one transaction, so the table
-- is in the database of the projection's tables, which need not be the log's.
CREATE TABLE IF NOT EXISTS dcb.checkpoint (
    name     text   NOT NULL,
    position bigint NOT NULL, -- 0: nothing yet
    bookmark text,            -- position@id of the event there; without meaning if position differs
    CONSTRAINT checkpoint_pkey PRIMARY KEY (name)
);
