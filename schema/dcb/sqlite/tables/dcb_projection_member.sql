-- The members that work on a projection, and when each gave its last sign of life.
CREATE TABLE IF NOT EXISTS dcb_projection_member (
    name    TEXT    NOT NULL,
    version INTEGER NOT NULL,
    member  TEXT    NOT NULL,
    seen    REAL    NOT NULL, -- seconds since 1970
    PRIMARY KEY (name, version, member)
) STRICT, WITHOUT ROWID;
