-- The number of messages per category and type.
CREATE VIEW message_store.category_type_summary AS
SELECT message_store.category(stream_name) AS category, type, count(*) AS message_count,
       round(count(*) * 100 / sum(count(*)) OVER (), 2) AS percent
  FROM message_store.messages
 GROUP BY message_store.category(stream_name), type
 ORDER BY message_store.category(stream_name), type;
