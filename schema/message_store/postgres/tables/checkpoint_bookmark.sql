-- The position and the id of the message there, as <position>@<id>. NULL if the consumer saved a position
-- alone, as before version 3. A process of an earlier version moves the position and leaves the bookmark,
-- which counts only at its position.
ALTER TABLE message_store.checkpoint ADD COLUMN bookmark text;
