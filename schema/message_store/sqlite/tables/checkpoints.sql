-- The last message that each consumer has handled. The bookmark is <position>@<id>, NULL if the consumer
-- saved a position alone, as in version 1. A process of version 1 moves the position and leaves the
-- bookmark, which counts only at its position.
ALTER TABLE checkpoints RENAME TO checkpoints_1;
CREATE TABLE checkpoints (
  consumer TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  bookmark TEXT
) STRICT, WITHOUT ROWID;
INSERT INTO checkpoints (consumer, position) SELECT consumer, position FROM checkpoints_1;
DROP TABLE checkpoints_1;
