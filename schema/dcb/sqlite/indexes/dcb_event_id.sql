-- Ids are unique in the log.
CREATE UNIQUE INDEX dcb_event_id ON dcb_event (id);
