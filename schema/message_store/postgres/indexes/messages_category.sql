-- The messages of a category in order. The correlation is part of the index, so that filtering by it
-- does not read the table.
CREATE INDEX messages_category ON message_store.messages (
    message_store.category(stream_name),
    global_position,
    message_store.category(metadata->>'correlationStreamName')
);
