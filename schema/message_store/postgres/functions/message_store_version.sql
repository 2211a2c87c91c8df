-- The version of the Message DB interface that these functions implement.
CREATE FUNCTION message_store.message_store_version() RETURNS varchar
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT '1.3.0'::varchar
$$;
