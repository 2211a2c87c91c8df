-- The global position up to which all writes have ended: each position up to it is committed or will
-- never be. A later statement with a new snapshot (READ COMMITTED) sees all committed messages up to
-- it.
--
-- The last drawn position must be read before the announcements. A writer that drew a position up to
-- that one has announced itself before, so it is either still announced or has ended. An announcement
-- holds the low 32 bits of its number. The high bits follow from the last drawn position, because no
-- transaction stays open while two billion messages are written.
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
