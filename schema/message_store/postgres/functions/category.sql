-- The part of a stream's name before the first hyphen, or the whole name if it has none.
CREATE FUNCTION message_store.category(stream_name varchar) RETURNS varchar
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT split_part(stream_name, '-', 1)::varchar
$$;
