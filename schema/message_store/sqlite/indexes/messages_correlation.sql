CREATE INDEX messages_correlation ON messages (correlation, category) WHERE correlation IS NOT NULL
