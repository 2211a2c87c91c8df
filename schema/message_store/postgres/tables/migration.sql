-- What was installed, and when.
CREATE TABLE message_store.migration (
    version      integer     NOT NULL,
    checksum     text        NOT NULL, -- MD5 of its SQL
    installed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT migration_pkey PRIMARY KEY (version)
);

-- Each object as the catalog showed it when it was installed, to tell a later change.
CREATE TABLE message_store.installed_object (
    kind       text NOT NULL,
    name       text NOT NULL,
    definition text NOT NULL,
    CONSTRAINT installed_object_pkey PRIMARY KEY (kind, name)
);
