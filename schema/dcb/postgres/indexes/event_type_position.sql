-- The first event of a type after a position, in one descent.
CREATE INDEX event_type_position ON dcb.event (type, position);
