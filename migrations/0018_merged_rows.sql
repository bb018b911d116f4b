-- safe: yes
-- Rows that stand for several events of one kind, so that repeating something makes no rows.

ALTER TABLE audit_records ADD COLUMN count INTEGER NOT NULL DEFAULT 1; -- like changes; `at` is the time of the last
ALTER TABLE audit_records ADD COLUMN first_at INTEGER;                 -- unix ms; of the first one; NULL: there is one

CREATE INDEX audit_records_repeated ON audit_records (actor_id, act, at) WHERE actor_id IS NOT NULL;

ALTER TABLE notifications ADD COLUMN count INTEGER NOT NULL DEFAULT 1;  -- how many like ones it stands for
ALTER TABLE notifications ADD COLUMN urgent INTEGER NOT NULL DEFAULT 0 CHECK (urgent IN (0, 1)); -- security or failure
ALTER TABLE notifications ADD COLUMN sender_id INTEGER;                 -- the account whose act it tells of, if any

CREATE INDEX notifications_urgent ON notifications (account_id, urgent, id DESC);
CREATE INDEX notifications_sender ON notifications (sender_id, account_id, created_at) WHERE sender_id IS NOT NULL;
