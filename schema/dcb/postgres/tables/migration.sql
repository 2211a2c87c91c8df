-- The installed migrations.
CREATE TABLE dcb.migration (
    version      integer     NOT NULL,
    checksum     text        NOT NULL, -- of the library's files and of the objects, as the server prints them
    installed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT migration_pkey PRIMARY KEY (version)
);
