-- The last global position that a reader of all messages may read. Every position up to the horizon
-- is final: its message is committed, or it stays empty because its writer rolled back. A statement
-- that begins after this call, under READ COMMITTED, sees all these messages.
--
-- The function reads the last drawn position first, and the announcements second. A writer announces
-- itself before it draws. So the writer of each position drawn by then still holds its announcement,
-- or it has committed or rolled back. In the other order, a writer could announce itself and draw
-- between the two reads, and the horizon would pass its position.
--
-- The key of an announcement has only the low 32 bits of a position. The function takes the high bits
-- from the last drawn position. This fails only if a transaction stays open while two billion messages
-- are written.
CREATE FUNCTION message_store.horizon() RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    drawn     bigint := coalesce(
        pg_sequence_last_value('message_store.messages_global_position_seq'), 0);
    undecided bigint;
BEGIN
    SELECT max((drawn - l.objid::bigint) & 4294967295) INTO undecided
      FROM pg_catalog.pg_locks l
     WHERE l.locktype = 'advisory' AND l.objsubid = 2
       AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database())
       AND l.classid = 'message_store.messages'::regclass::oid
       AND ((drawn - l.objid::bigint) & 4294967295) < 2147483648;
    RETURN drawn - coalesce(undecided, 0);
END
$$;
