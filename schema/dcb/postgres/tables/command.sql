-- What was asked for, beside the events that it led to: they begin at its position. Its time is
-- theirs.
CREATE TABLE dcb.command (
    position bigint NOT NULL,
    events   bigint NOT NULL, -- how many it led to
    type     text   NOT NULL,
    metadata json,            -- as an event's
    data     bytea  NOT NULL,
    CONSTRAINT command_pkey PRIMARY KEY (position)
);
