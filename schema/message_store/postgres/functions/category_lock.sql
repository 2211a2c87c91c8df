-- The key of the advisory lock of a category. Other namespaces in the same database mix in their
-- schema name: installation replaces the schema name in the first literal.
CREATE FUNCTION message_store.category_lock(category varchar) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT message_store.hash_64((
        CASE WHEN 'message_store.' IN ('message_store' || '.', '"message_store"' || '.') THEN ''
             ELSE 'message_store.' END
        || category)::varchar)
$$;
