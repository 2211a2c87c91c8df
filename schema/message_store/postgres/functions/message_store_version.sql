-- The version of Message DB whose interface this is.
CREATE FUNCTION message_store.message_store_version() RETURNS varchar
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT '1.3.0'::varchar
$$;
