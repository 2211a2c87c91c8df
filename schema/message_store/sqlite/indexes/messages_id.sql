CREATE UNIQUE INDEX messages_id ON messages (id)
