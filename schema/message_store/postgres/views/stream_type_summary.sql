-- The number of messages per stream and type.
CREATE VIEW message_store.stream_type_summary AS
SELECT stream_name, type, count(*) AS message_count,
       round(count(*) * 100 / sum(count(*)) OVER (), 2) AS percent
  FROM message_store.messages
 GROUP BY stream_name, type
 ORDER BY stream_name, type;
