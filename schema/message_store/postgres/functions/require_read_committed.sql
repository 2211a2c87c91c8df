-- Raises an error unless the transaction is READ COMMITTED, where each statement sees everything that
-- was committed before it began.
CREATE FUNCTION message_store.require_read_committed() RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'this needs a READ COMMITTED transaction, and this one is %',
            upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
END
$$;
