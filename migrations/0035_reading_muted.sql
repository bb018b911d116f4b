-- safe: yes
-- Posts that rules keep out of a member's lists. A post comes back when the last of its rules here is changed or gone.

CREATE TABLE muted_posts (
  account_id   INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  source_id    INTEGER NOT NULL,     -- of the post, as in stars
  post_id      INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
  rule_id      INTEGER NOT NULL REFERENCES rules (id) ON DELETE CASCADE,
  published_at INTEGER NOT NULL,     -- unix ms; of the post
  PRIMARY KEY (account_id, source_id, post_id, rule_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX muted_posts_newest ON muted_posts (account_id, published_at DESC, post_id DESC);
CREATE INDEX muted_posts_post ON muted_posts (post_id);
CREATE INDEX muted_posts_rule ON muted_posts (rule_id);

CREATE TRIGGER muted_posts_follow_posts AFTER UPDATE OF published_at ON posts
WHEN OLD.published_at <> NEW.published_at BEGIN
  UPDATE muted_posts SET published_at = NEW.published_at WHERE post_id = NEW.id;
END;

-- Searches that a member keeps in the sidebar.
CREATE TABLE saved_searches (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  name       TEXT    NOT NULL,
  q          TEXT    NOT NULL,       -- the expression of the search
  created_at INTEGER NOT NULL        -- unix ms
) STRICT;

CREATE INDEX saved_searches_account ON saved_searches (account_id);
