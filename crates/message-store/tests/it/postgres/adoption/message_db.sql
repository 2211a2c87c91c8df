-- A Message DB 1.3.0 from the facts of its interface: the same table, indexes, signatures and views,
-- and a write that takes the category's lock, then reads the version, then inserts.
CREATE SCHEMA message_store;

CREATE TABLE message_store.messages (
    global_position bigserial NOT NULL PRIMARY KEY,
    position bigint NOT NULL,
    time timestamp NOT NULL DEFAULT (now() AT TIME ZONE 'utc'),
    stream_name text NOT NULL,
    type text NOT NULL,
    data jsonb,
    metadata jsonb,
    id uuid NOT NULL DEFAULT gen_random_uuid()
);

CREATE FUNCTION message_store.category(stream_name varchar) RETURNS varchar
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN split_part(category.stream_name, '-', 1);
END $$;

CREATE UNIQUE INDEX messages_id ON message_store.messages (id);
CREATE UNIQUE INDEX messages_stream ON message_store.messages (stream_name, position);
CREATE INDEX messages_category ON message_store.messages (
    message_store.category(stream_name), global_position,
    message_store.category(metadata->>'correlationStreamName'));

CREATE TYPE message_store.message AS (
    id varchar, stream_name varchar, type varchar, position bigint, global_position bigint,
    data varchar, metadata varchar, time timestamp);

CREATE FUNCTION message_store.id(stream_name varchar) RETURNS varchar
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN nullif(substr(id.stream_name, nullif(strpos(id.stream_name, '-'), 0) + 1), '');
END $$;

CREATE FUNCTION message_store.cardinal_id(stream_name varchar) RETURNS varchar
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN split_part(id(cardinal_id.stream_name), '+', 1);
END $$;

CREATE FUNCTION message_store.is_category(stream_name varchar) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN strpos(is_category.stream_name, '-') = 0;
END $$;

CREATE FUNCTION message_store.hash_64(value varchar) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN ('x' || left(md5(hash_64.value), 16))::bit(64)::bigint;
END $$;

CREATE FUNCTION message_store.message_store_version() RETURNS varchar
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN '1.3.0';
END $$;

CREATE FUNCTION message_store.acquire_lock(stream_name varchar) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    key bigint := hash_64(category(acquire_lock.stream_name));
BEGIN
    PERFORM pg_advisory_xact_lock(key);
    RETURN key;
END $$;

CREATE FUNCTION message_store.stream_version(stream_name varchar) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT max(m.position) FROM messages m WHERE m.stream_name = stream_version.stream_name);
END $$;

CREATE FUNCTION message_store.write_message(
    id varchar, stream_name varchar, type varchar, data jsonb,
    metadata jsonb DEFAULT NULL, expected_version bigint DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    version bigint;
BEGIN
    PERFORM acquire_lock(write_message.stream_name);
    version := coalesce(stream_version(write_message.stream_name), -1);
    IF expected_version <> version THEN
        RAISE EXCEPTION 'Wrong expected version: % (Stream: %, Stream Version: %)',
            expected_version, write_message.stream_name, version;
    END IF;
    INSERT INTO messages (id, stream_name, position, type, data, metadata)
    VALUES (write_message.id::uuid, write_message.stream_name, version + 1, write_message.type,
            write_message.data, write_message.metadata);
    RETURN version + 1;
END $$;

CREATE FUNCTION message_store.get_stream_messages(
    stream_name varchar, "position" bigint DEFAULT 0, batch_size bigint DEFAULT 1000,
    condition varchar DEFAULT NULL) RETURNS SETOF message_store.message
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY SELECT m.id::varchar, m.stream_name::varchar, m.type::varchar, m.position,
           m.global_position, m.data::varchar, m.metadata::varchar, m.time
      FROM messages m
     WHERE m.stream_name = get_stream_messages.stream_name
       AND m.position >= get_stream_messages.position
     ORDER BY m.position LIMIT batch_size;
END $$;

CREATE FUNCTION message_store.get_category_messages(
    category varchar, "position" bigint DEFAULT 1, batch_size bigint DEFAULT 1000,
    correlation varchar DEFAULT NULL, consumer_group_member bigint DEFAULT NULL,
    consumer_group_size bigint DEFAULT NULL, condition varchar DEFAULT NULL
) RETURNS SETOF message_store.message
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY SELECT m.id::varchar, m.stream_name::varchar, m.type::varchar, m.position,
           m.global_position, m.data::varchar, m.metadata::varchar, m.time
      FROM messages m
     WHERE category(m.stream_name) = get_category_messages.category
       AND m.global_position >= get_category_messages.position
     ORDER BY m.global_position LIMIT batch_size;
END $$;

CREATE FUNCTION message_store.get_last_stream_message(
    stream_name varchar, type varchar DEFAULT NULL) RETURNS SETOF message_store.message
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY SELECT m.id::varchar, m.stream_name::varchar, m.type::varchar, m.position,
           m.global_position, m.data::varchar, m.metadata::varchar, m.time
      FROM messages m
     WHERE m.stream_name = get_last_stream_message.stream_name
     ORDER BY m.position DESC LIMIT 1;
END $$;

CREATE VIEW message_store.stream_summary AS
SELECT stream_name, count(id) AS message_count, 1.00 AS percent
  FROM message_store.messages GROUP BY stream_name ORDER BY stream_name;
CREATE VIEW message_store.type_summary AS
SELECT type, count(id) AS message_count, 1.00 AS percent
  FROM message_store.messages GROUP BY type ORDER BY type;
CREATE VIEW message_store.stream_type_summary AS
SELECT stream_name, type, count(id) AS message_count, 1.00 AS percent
  FROM message_store.messages GROUP BY stream_name, type ORDER BY stream_name, type;
CREATE VIEW message_store.type_stream_summary AS
SELECT type, stream_name, count(id) AS message_count, 1.00 AS percent
  FROM message_store.messages GROUP BY type, stream_name ORDER BY type, stream_name;
CREATE VIEW message_store.category_type_summary AS
SELECT message_store.category(stream_name) AS category, type, count(id) AS message_count, 1.00 AS percent
  FROM message_store.messages GROUP BY message_store.category(stream_name), type ORDER BY 1, 2;
CREATE VIEW message_store.type_category_summary AS
SELECT type, message_store.category(stream_name) AS category, count(id) AS message_count, 1.00 AS percent
  FROM message_store.messages GROUP BY type, message_store.category(stream_name) ORDER BY 1, 2;

-- The role belongs to the server, where another test may have created it.
DO $$
BEGIN
    CREATE ROLE message_store LOGIN;
EXCEPTION
    WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
GRANT USAGE ON SCHEMA message_store TO message_store;
GRANT SELECT, INSERT ON message_store.messages TO message_store;
GRANT USAGE, SELECT ON SEQUENCE message_store.messages_global_position_seq TO message_store;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA message_store TO message_store;
GRANT SELECT ON message_store.stream_summary, message_store.type_summary TO message_store;
