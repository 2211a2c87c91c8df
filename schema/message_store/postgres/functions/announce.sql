-- Announces that this transaction is about to draw global positions, all of them greater than the
-- last that was drawn. Called under the lock of a category, before the first position is drawn.
--
-- Writers of different categories draw positions from one sequence and commit in any order, so a
-- reader of all messages could see a position while a smaller one is not committed yet. The
-- announcement is a shared advisory lock that ends with the transaction, whatever its end:
-- whoever holds one with number n writes nothing up to n, see horizon. It makes nobody wait.
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
