-- safe: yes

-- Who wants to hear of a source's new posts.
CREATE TABLE follows (
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  source_id  INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,       -- unix ms
  PRIMARY KEY (account_id, source_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX follows_source ON follows (source_id);
