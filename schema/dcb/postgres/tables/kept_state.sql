-- The states of decisions, so that a process that starts reads only what is new. Any row may be deleted at
-- any time: the state is then folded from the log again.
CREATE TABLE dcb.kept_state (
    name       text        NOT NULL,
    version    bigint      NOT NULL,
    key        bigint      NOT NULL, -- hashtextextended(boundary, 0)
    boundary   text        NOT NULL, -- what the state depends on, as JSON: its type, queries and upcasts
    generation text        NOT NULL, -- differs if a row was deleted and inserted again
    bookmark   text,                 -- position@id of the event up to which the state is folded
    state      text,                 -- JSON; NULL until one is stored
    stored_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT kept_state_pkey PRIMARY KEY (name, version, key)
);
