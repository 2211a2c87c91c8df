-- The key of the advisory lock of a category. In another schema than the default one it also depends
-- on the schema's name, so that the namespaces of a database do not wait for each other. An
-- installation there replaces the schema's name only where a point follows it, so the comparison
-- below tells the two cases apart.
CREATE FUNCTION message_store.category_lock(category varchar) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT message_store.hash_64((
        CASE WHEN 'message_store.' IN ('message_store' || '.', '"message_store"' || '.') THEN ''
             ELSE 'message_store.' END
        || category)::varchar)
$$;
