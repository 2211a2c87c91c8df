-- All messages from a global position on, in order, up to the horizon. A reader that continues after
-- the last returned message misses none. An addition: Message DB has no such read. A batch_size of
-- NULL means no limit. A stream whose name has no id is assigned to a group member by its name.
--
-- The horizon is read by a separate statement, before the one that reads the messages. This requires
-- READ COMMITTED, so that the second statement has a newer snapshot.
CREATE FUNCTION message_store.get_all_messages(
    "position" bigint DEFAULT 1,
    batch_size bigint DEFAULT 1000,
    correlation varchar DEFAULT NULL,
    consumer_group_member bigint DEFAULT NULL,
    consumer_group_size bigint DEFAULT NULL
) RETURNS SETOF message_store.messages
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    last_position bigint;
BEGIN
    PERFORM message_store.require_read_committed();
    PERFORM message_store.check_consumer_group(consumer_group_member, consumer_group_size);
    last_position := message_store.horizon();
    RETURN QUERY
    SELECT m.*
      FROM message_store.messages m
     WHERE m.global_position >= get_all_messages.position AND m.global_position <= last_position
       AND (correlation IS NULL
            OR message_store.category(m.metadata->>'correlationStreamName') = correlation)
       AND (consumer_group_size IS NULL
            OR abs(message_store.hash_64(
                   coalesce(message_store.cardinal_id(m.stream_name), m.stream_name)))
               % consumer_group_size = consumer_group_member)
     ORDER BY m.global_position
     LIMIT batch_size;
END
$$;
