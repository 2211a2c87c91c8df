-- The log. Positions are dense from 1 and in commit order; rows are never updated or deleted.
CREATE TABLE dcb.event (
    position    bigint      NOT NULL,
    recorded_at timestamptz NOT NULL,
    id          uuid        NOT NULL,
    type        text        NOT NULL,
    tags        text[]      NOT NULL, -- sorted, without duplicates
    metadata    json,                 -- an object of strings, in the caller's order; NULL for none
    data        bytea       NOT NULL,
    CONSTRAINT event_pkey PRIMARY KEY (position),
    CONSTRAINT event_id_key UNIQUE (id)
);
