-- Writes one message, for write_batch. Returns the stream's version before the message; reason is NULL
-- if the message was written.
CREATE FUNCTION message_store.write_one(
    stream text, lock bigint, expected bigint, message_id uuid, message_type text, message_data text,
    message_metadata text, is_known boolean, patient boolean,
    OUT version bigint, OUT global_position bigint, OUT reason int
) LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    done boolean;
BEGIN
    version := -1;
    IF patient THEN
        done := pg_advisory_xact_lock(lock) IS NOT NULL;
    ELSIF NOT pg_try_advisory_xact_lock(lock) THEN
        reason := 1;
        RETURN;
    END IF;
    done := message_store.announce() IS NOT NULL;
    version := coalesce((SELECT m.position FROM message_store.messages m
                          WHERE m.stream_name = stream ORDER BY m.position DESC LIMIT 1), -1);
    IF is_known AND (SELECT m.position FROM message_store.messages m
                      WHERE m.id = message_id LIMIT 1) IS NOT NULL THEN
        reason := 2;
    ELSIF expected <> version THEN
        reason := 3;
    ELSE
        INSERT INTO message_store.messages AS m (position, stream_name, type, data, metadata, id)
        VALUES (version + 1, stream, message_type, message_data::jsonb, message_metadata::jsonb, message_id)
        RETURNING m.global_position INTO global_position;
    END IF;
END
$$;
