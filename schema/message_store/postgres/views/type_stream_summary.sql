-- The number of messages per type and stream.
CREATE VIEW message_store.type_stream_summary AS
SELECT type, stream_name, count(*) AS message_count,
       round(count(*) * 100 / sum(count(*)) OVER (), 2) AS percent
  FROM message_store.messages
 GROUP BY type, stream_name
 ORDER BY type, stream_name;
