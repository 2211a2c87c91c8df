-- The id of a stream's name up to the first plus, NULL if the name has no id.
CREATE FUNCTION message_store.cardinal_id(stream_name varchar) RETURNS varchar
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT split_part(message_store.id(stream_name), '+', 1)::varchar
$$;
