-- The part of a stream's name after the first hyphen, NULL if it has none.
CREATE FUNCTION message_store.id(stream_name varchar) RETURNS varchar
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN strpos(stream_name, '-') > 0
                THEN substr(stream_name, strpos(stream_name, '-') + 1) END::varchar
$$;
