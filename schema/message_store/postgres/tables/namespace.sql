-- The namespaces of a database. Each one has its own schema; this table is in a separate one.
CREATE TABLE message_store_namespaces.namespace (
    number     bigint GENERATED ALWAYS AS IDENTITY, -- the schema is message_store_<number>
    name       text COLLATE "C" NOT NULL,
    created_at timestamptz      NOT NULL DEFAULT clock_timestamp(),
    attributes text,                                -- the creator's own data, JSON
    CONSTRAINT namespace_pkey PRIMARY KEY (number),
    CONSTRAINT namespace_name_key UNIQUE (name)
);
