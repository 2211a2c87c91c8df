-- Replaced in version 2: see functions/is_category.
CREATE FUNCTION message_store.is_category(stream_name varchar) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT strpos(stream_name, '-') = 0
$$;
