-- safe: yes
-- Rows that stand for several events of one kind, so that repeating something makes no rows.

ALTER TABLE audit_records ADD COLUMN count INTEGER NOT NULL DEFAULT 1; -- like changes; `at` is the time of the last
ALTER TABLE audit_records ADD COLUMN first_at INTEGER;                 -- unix ms; of the first one; NULL: there is one

CREATE INDEX audit_records_repeated ON audit_records (actor_id, act, at) WHERE actor_id IS NOT NULL;
