-- Whether an event matches one of the probes.
SELECT EXISTS (
    SELECT FROM unnest($1::text[], $2::text[]) p(type, tags)
     CROSS JOIN LATERAL dcb.first_match(p.type, p.tags::text[], 0) m(position)
     WHERE m.position IS NOT NULL)
