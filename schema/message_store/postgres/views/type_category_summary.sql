-- The number of messages per type and category.
CREATE VIEW message_store.type_category_summary AS
SELECT type, message_store.category(stream_name) AS category, count(*) AS message_count,
       round(count(*) * 100 / sum(count(*)) OVER (), 2) AS percent
  FROM message_store.messages
 GROUP BY type, message_store.category(stream_name)
 ORDER BY type, message_store.category(stream_name);
