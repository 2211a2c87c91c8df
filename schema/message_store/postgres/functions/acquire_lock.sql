-- Locks the stream's category until the end of the transaction and returns the lock's key.
CREATE FUNCTION message_store.acquire_lock(stream_name varchar) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    lock_key bigint := message_store.category_lock(message_store.category(stream_name));
    locked   boolean;
BEGIN
    locked := pg_advisory_xact_lock(lock_key) IS NOT NULL;
    IF message_store.setting_is_on('debug') THEN
        RAISE NOTICE '» acquire_lock';
        RAISE NOTICE 'stream_name: %', stream_name;
        RAISE NOTICE 'lock key: %', lock_key;
    END IF;
    RETURN lock_key;
END
$$;
