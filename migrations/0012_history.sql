-- safe: yes

-- Posts that a person has opened, or marked as read.
CREATE TABLE reading_history (
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  post_id    INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
  read_at    INTEGER NOT NULL,       -- unix ms; the first time
  PRIMARY KEY (account_id, post_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX reading_history_newest ON reading_history (account_id, read_at DESC, post_id DESC);
CREATE INDEX reading_history_post ON reading_history (post_id);
