-- The last global position that was deleted. A function, so that a reader needs no right to the table.
-- A data-only restore adds a row to the one of the installation.
CREATE FUNCTION message_store.last_deleted() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(max(d.last_position), 0) FROM message_store.deletion d
$$;
