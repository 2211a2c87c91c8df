-- The number of messages per stream.
CREATE VIEW message_store.stream_summary AS
SELECT stream_name, count(*) AS message_count,
       round(count(*) * 100 / sum(count(*)) OVER (), 2) AS percent
  FROM message_store.messages
 GROUP BY stream_name
 ORDER BY stream_name;
