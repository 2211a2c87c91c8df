CREATE UNIQUE INDEX messages_stream ON messages (stream_name, position)
