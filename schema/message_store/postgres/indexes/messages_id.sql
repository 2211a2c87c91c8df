CREATE UNIQUE INDEX messages_id ON message_store.messages (id);
