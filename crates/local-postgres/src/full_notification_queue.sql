-- New sessions of the database find the server's queue of notifications full: a transaction that
-- notifies fails at its COMMIT, as it does after another program's listener has slept in a transaction
-- for long. A real queue takes 8 GB to fill. UPDATE full_queue.state SET usage = 0 empties it.
CREATE SCHEMA full_queue;
CREATE TABLE full_queue.state AS SELECT 1::float8 AS usage;
CREATE TABLE full_queue.sent (channel text);
CREATE FUNCTION full_queue.fail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE 'too many notifications in the NOTIFY queue' USING ERRCODE = '54000';
END $$;
CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON full_queue.sent DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION full_queue.fail();
CREATE FUNCTION full_queue.pg_notification_queue_usage() RETURNS float8 LANGUAGE sql AS
    'SELECT usage FROM full_queue.state';
CREATE FUNCTION full_queue.pg_notify(channel text, payload text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT usage FROM full_queue.state) >= 1 THEN
        INSERT INTO full_queue.sent VALUES (channel);
    ELSE
        PERFORM pg_catalog.pg_notify(channel, payload);
    END IF;
END $$;
DO $$
BEGIN
    EXECUTE format('ALTER DATABASE %I SET search_path = full_queue, pg_catalog, public',
                   current_database());
END $$;
