-- The last upstream position of each source that appends have tracked.
CREATE TABLE dcb.tracking (
    source   text   NOT NULL,
    position bigint NOT NULL,
    CONSTRAINT tracking_pkey PRIMARY KEY (source)
);
