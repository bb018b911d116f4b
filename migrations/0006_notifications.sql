-- safe: yes

-- What the hub tells a person. Words are copied, so that a notification outlives what it speaks of.
CREATE TABLE notifications (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  kind       TEXT    NOT NULL,       -- attachment.quarantined and the like
  title      TEXT    NOT NULL,
  path       TEXT    NOT NULL,       -- the hub's page about it
  posts      INTEGER,                -- how many new posts one of kind source.posts tells of
  created_at INTEGER NOT NULL,       -- unix ms
  read_at    INTEGER                 -- unix ms; NULL: unread
) STRICT;

CREATE INDEX notifications_account ON notifications (account_id, id DESC);
CREATE INDEX notifications_unread ON notifications (account_id, id DESC) WHERE read_at IS NULL;
CREATE INDEX notifications_age ON notifications (created_at);
-- Those of one page: a new one joins them, and deleting a source takes them back.
CREATE INDEX notifications_path ON notifications (path, account_id, id DESC);
