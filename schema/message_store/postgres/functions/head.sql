-- The last global position that a reader of all messages sees, NULL for an empty store. Requires READ
-- COMMITTED, like get_all_messages.
CREATE FUNCTION message_store.head() RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    last_position bigint;
BEGIN
    PERFORM message_store.require_read_committed();
    last_position := message_store.horizon();
    RETURN (SELECT m.global_position FROM message_store.messages m
             WHERE m.global_position <= last_position
             ORDER BY m.global_position DESC LIMIT 1);
END
$$;
