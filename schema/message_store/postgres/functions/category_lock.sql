-- The key of the advisory lock under which a category is written to. Another namespace in the same
-- database mixes its name in: the first literal is qualified when the function is installed.
CREATE FUNCTION message_store.category_lock(category varchar) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT message_store.hash_64((
        CASE WHEN 'message_store.' IN ('message_store' || '.', '"message_store"' || '.') THEN ''
             ELSE 'message_store.' END
        || category)::varchar)
$$;
