-- The members that work on a projection, and when each gave its last sign of life.
CREATE TABLE dcb.projection_member (
    name    text        NOT NULL,
    version integer     NOT NULL,
    member  text        NOT NULL,
    seen    timestamptz NOT NULL,
    CONSTRAINT projection_member_pkey PRIMARY KEY (name, version, member)
);
