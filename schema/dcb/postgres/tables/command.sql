-- The commands that led to events. The events of a command begin at its position, and their time is
-- the command's time.
CREATE TABLE dcb.command (
    position bigint NOT NULL,
    events   bigint NOT NULL, -- the number of events
    type     text   NOT NULL,
    metadata json,            -- see dcb.event
    data     bytea  NOT NULL,
    CONSTRAINT command_pkey PRIMARY KEY (position)
);
