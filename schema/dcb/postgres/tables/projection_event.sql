-- Events that a projection did not handle: skipped ones, and parked ones that wait to be replayed.
CREATE TABLE dcb.projection_event (
    name     text    NOT NULL,
    version  integer NOT NULL,
    position bigint  NOT NULL,
    slice    integer NOT NULL,
    key      text    NOT NULL,
    parked   boolean NOT NULL, -- false: skipped
    error    text, -- null: parked behind an earlier event of its key
    CONSTRAINT projection_event_pkey PRIMARY KEY (name, version, position)
);
