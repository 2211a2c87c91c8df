-- The messages of a category in their order; the category that each was written in answer to is
-- compared without a look at the table.
CREATE INDEX messages_category ON message_store.messages (
    message_store.category(stream_name),
    global_position,
    message_store.category(metadata->>'correlationStreamName')
);
