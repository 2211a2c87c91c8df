-- The number of messages per type.
CREATE VIEW message_store.type_summary AS
SELECT type, count(*) AS message_count,
       round(count(*) * 100 / sum(count(*)) OVER (), 2) AS percent
  FROM message_store.messages
 GROUP BY type
 ORDER BY type;
