-- Announces that this transaction is about to draw global positions, all greater than the last drawn
-- one. Must be called under the lock of a category, before the first position is drawn.
--
-- Writers of different categories draw positions from one sequence and commit in any order, so a
-- reader of all messages could see a position before a smaller one is committed. The announcement is
-- a shared advisory lock, released at the end of the transaction. A transaction that holds the lock
-- with number n writes no position up to n; see horizon. The lock blocks no other transaction.
CREATE FUNCTION message_store.announce() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    announced boolean;
BEGIN
    announced := pg_advisory_xact_lock_shared(
        'message_store.messages'::regclass::oid::int,
        (coalesce(pg_sequence_last_value('message_store.messages_global_position_seq'), 0)
            & 4294967295)::bit(32)::int) IS NOT NULL;
END
$$;
