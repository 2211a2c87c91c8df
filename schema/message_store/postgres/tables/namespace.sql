-- The namespaces of a database, each in a schema of its own. This table stands beside them.
CREATE TABLE message_store_namespaces.namespace (
    number     bigint GENERATED ALWAYS AS IDENTITY, -- its schema is message_store_<number>
    name       text COLLATE "C" NOT NULL,
    created_at timestamptz      NOT NULL DEFAULT clock_timestamp(),
    attributes text,                                -- a JSON text of the creator's
    CONSTRAINT namespace_pkey PRIMARY KEY (number),
    CONSTRAINT namespace_name_key UNIQUE (name)
);
