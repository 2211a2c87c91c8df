-- The last message that a reader of all messages sees: its global position and its id. Requires READ
-- COMMITTED, like head.
CREATE FUNCTION message_store.head_bookmark(OUT global_position bigint, OUT id uuid)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    last_position bigint;
BEGIN
    PERFORM message_store.require_read_committed();
    last_position := message_store.horizon();
    SELECT m.global_position, m.id INTO head_bookmark.global_position, head_bookmark.id
      FROM message_store.messages m
     WHERE m.global_position <= last_position
     ORDER BY m.global_position DESC LIMIT 1;
END
$$;
