-- The last global position that was deleted, by retention or with SQL. A message that a reader has
-- handled may be missing up to here. After it, a missing message means that the past was replaced.
CREATE TABLE message_store.deletion (
    last_position bigint NOT NULL
);
INSERT INTO message_store.deletion (last_position) VALUES (0);
