-- Raises an error unless the setting sql_condition is on.
CREATE FUNCTION message_store.require_sql_condition() RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT message_store.setting_is_on('sql_condition') THEN
        RAISE EXCEPTION 'Retrieval with SQL condition is not activated';
    END IF;
END
$$;
