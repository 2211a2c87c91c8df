-- The versions of each sliced projection, in the database of their tables. At most one is current.
CREATE TABLE dcb.projection (
    name       text    NOT NULL,
    version    integer NOT NULL,
    slices     integer NOT NULL,
    state      text    NOT NULL, -- building, current or retired
    stop_at    text, -- a bookmark: no slice passes it while others bring the slices to one position
    stop_until timestamptz, -- stop_at has no effect from this time on
    CONSTRAINT projection_pkey PRIMARY KEY (name, version)
);
