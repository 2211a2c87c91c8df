-- The states of decisions, so that a process that starts reads only what is new. Any row may be deleted at
-- any time: the state is then folded from the log again.
CREATE TABLE dcb_kept_state (
    name       TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    boundary   TEXT    NOT NULL, -- what the state depends on, as JSON: its type, queries and upcasts
    generation TEXT    NOT NULL, -- differs if a row was deleted and inserted again
    bookmark   TEXT,             -- position@id of the event up to which the state is folded
    state      TEXT,             -- JSON; NULL until one is stored
    stored_at  TEXT    NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (name, version, boundary)
) STRICT;
