-- What stands before the first hyphen of a stream's name; all of it where there is none.
CREATE FUNCTION message_store.category(stream_name varchar) RETURNS varchar
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT split_part(stream_name, '-', 1)::varchar
$$;
