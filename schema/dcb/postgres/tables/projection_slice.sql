-- The checkpoint of each slice. It changes in the transaction that changes the projection's tables, and
-- only for the holder of the epoch.
CREATE TABLE dcb.projection_slice (
    name     text    NOT NULL,
    version  integer NOT NULL,
    slice    integer NOT NULL,
    epoch    bigint  NOT NULL, -- grows whenever the slice changes hands
    member   text, -- null: free
    position bigint  NOT NULL DEFAULT 0, -- 0: nothing yet
    bookmark text, -- position@id of the event there
    parked   integer NOT NULL DEFAULT 0, -- events that wait in projection_event to be replayed
    failure  text, -- why the slice stands still
    CONSTRAINT projection_slice_pkey PRIMARY KEY (name, version, slice)
) WITH (fillfactor = 50);
