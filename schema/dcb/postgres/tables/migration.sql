-- The installed migrations.
CREATE TABLE dcb.migration (
    version      integer     NOT NULL,
    checksum     text        NOT NULL, -- MD5 of its SQL
    installed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT migration_pkey PRIMARY KEY (version)
);

-- Each object as the catalog showed it right after its installation, to detect later changes.
CREATE TABLE dcb.installed_object (
    kind       text NOT NULL,
    name       text NOT NULL,
    definition text NOT NULL,
    CONSTRAINT installed_object_pkey PRIMARY KEY (kind, name)
);
