-- Announces every INSERT. A client of Message DB that waited for the table during the adoption goes on
-- in the old write_message, which announces nothing. Dropped when the transactions that ran beside the
-- adoption have ended.
CREATE FUNCTION message_store.announce_insert() RETURNS trigger
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM message_store.announce();
    RETURN NULL;
END
$$;

CREATE TRIGGER announce_insert BEFORE INSERT ON message_store.messages
    FOR EACH STATEMENT EXECUTE FUNCTION message_store.announce_insert();
