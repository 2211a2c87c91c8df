-- Records the last deleted position, for whichever role deletes.
CREATE FUNCTION message_store.record_deletion() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last_deleted bigint := (SELECT max(d.global_position) FROM deleted d);
BEGIN
    UPDATE message_store.deletion SET last_position = last_deleted
     WHERE last_position < last_deleted;
    RETURN NULL;
END
$$;

CREATE TRIGGER record_deletion AFTER DELETE ON message_store.messages
    REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION message_store.record_deletion();
