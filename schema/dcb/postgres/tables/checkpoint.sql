-- The checkpoint of each kept projection. State and checkpoint change in one transaction, so the table
-- is in the database of the projection's tables, which need not be the log's. Before version 4 of the
-- schema, each projection made the table itself, at first without a bookmark.
CREATE TABLE IF NOT EXISTS dcb.checkpoint (
    name     text   NOT NULL,
    position bigint NOT NULL, -- 0: nothing yet
    CONSTRAINT checkpoint_pkey PRIMARY KEY (name)
);
-- position@id of the event there; without meaning if position differs
ALTER TABLE dcb.checkpoint ADD COLUMN IF NOT EXISTS bookmark text;
