-- The position of a stream's last message, NULL if the stream has no messages.
CREATE FUNCTION message_store.stream_version(stream_name varchar) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT m.position FROM message_store.messages m
             WHERE m.stream_name = stream_version.stream_name
             ORDER BY m.position DESC LIMIT 1);
END
$$;
