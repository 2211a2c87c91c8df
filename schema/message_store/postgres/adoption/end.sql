-- Ends the adoption, if no other process has ended it.
DROP TRIGGER IF EXISTS announce_insert ON message_store.messages;
DROP FUNCTION IF EXISTS message_store.announce_insert();
