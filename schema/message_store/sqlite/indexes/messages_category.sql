-- Each entry ends with the rowid, which is the global position.
CREATE INDEX messages_category ON messages (category)
