-- Whether a name is a category name, which has no hyphen. NULL has none, as in Message DB.
CREATE OR REPLACE FUNCTION message_store.is_category(stream_name varchar) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(strpos(stream_name, '-') = 0, true)
$$;
