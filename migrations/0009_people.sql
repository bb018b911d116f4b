-- safe: yes

-- Who wants to hear of a source's new posts.
CREATE TABLE follows (
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  source_id  INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,       -- unix ms
  PRIMARY KEY (account_id, source_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX follows_source ON follows (source_id);

-- Posts that a person has opened, or marked as read.
CREATE TABLE reading_history (
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  post_id    INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
  read_at    INTEGER NOT NULL,       -- unix ms; the first time
  PRIMARY KEY (account_id, post_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX reading_history_newest ON reading_history (account_id, read_at DESC, post_id DESC);
CREATE INDEX reading_history_post ON reading_history (post_id);

ALTER TABLE notifications ADD COLUMN posts INTEGER; -- how many new posts one of kind source.posts tells of

-- An account that has left can do nothing and is seen by nobody; a job removes what it had, and then the row.
ALTER TABLE accounts ADD COLUMN left_at INTEGER; -- unix ms

CREATE INDEX audit_records_actor ON audit_records (actor_id) WHERE actor_id IS NOT NULL;
CREATE INDEX audit_records_actor_name ON audit_records (actor_name COLLATE NOCASE, at);
CREATE INDEX audit_records_act ON audit_records (act, at);
CREATE INDEX audit_records_target ON audit_records (target_kind, target_id, at);

-- The last time that old rows were removed, or the run that is under way.
CREATE TABLE retention_runs (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  started_at  INTEGER NOT NULL,      -- unix ms
  finished_at INTEGER,               -- unix ms; NULL while it is under way
  removed     TEXT    NOT NULL CHECK (json_valid(removed)) -- rows by kind, as of the last step
) STRICT;
