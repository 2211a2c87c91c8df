-- The global position up to which everything is decided: each position up to it is committed, or
-- will never be. A statement that begins after this one has returned sees all of it, provided that
-- it has a snapshot of its own (READ COMMITTED).
--
-- First the last position that was drawn, then the announcements: a writer who drew a position up
-- to that one announced itself before, and is either still there, with its number, or has ended.
-- An announcement keeps 32 bits of its number; the others follow from the last position, because
-- no transaction stays open while two thousand million messages are written.
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
