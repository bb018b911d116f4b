-- safe: yes

-- Posts whose state is another than that of the posts around them: follows.read_up_to says what is read without a row
-- here. Of a source that a person does not follow only these rows count.
CREATE TABLE read_marks (
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  source_id  INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  post_id    INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
  is_read    INTEGER NOT NULL CHECK (is_read IN (0, 1)),
  marked_at  INTEGER NOT NULL,       -- unix ms
  PRIMARY KEY (account_id, source_id, post_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX read_marks_source ON read_marks (source_id);
CREATE INDEX read_marks_post ON read_marks (post_id);
-- What was read since a list was opened is still in it.
CREATE INDEX read_marks_marked ON read_marks (account_id, marked_at);
CREATE INDEX read_marks_unread ON read_marks (account_id, source_id, post_id) WHERE is_read = 0;

CREATE TABLE stars (
  account_id   INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  post_id      INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
  source_id    INTEGER NOT NULL,     -- the post's, as its time: so that a list of stars need not read posts
  published_at INTEGER NOT NULL,     -- unix ms
  starred_at   INTEGER NOT NULL,     -- unix ms
  PRIMARY KEY (account_id, post_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX stars_newest ON stars (account_id, published_at DESC, post_id DESC, source_id);
CREATE INDEX stars_post ON stars (post_id);

CREATE TRIGGER stars_follow_posts AFTER UPDATE OF published_at ON posts
WHEN OLD.published_at <> NEW.published_at BEGIN
  UPDATE stars SET published_at = NEW.published_at WHERE post_id = NEW.id;
END;

-- What one marking of posts as read has changed, for a minute in which it can be undone.
CREATE TABLE read_undo (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  made_at    INTEGER NOT NULL,       -- unix ms
  changes    TEXT    NOT NULL CHECK (json_valid(changes)) -- moved: [source, from, to], marked: [source, post, before]
) STRICT;

CREATE INDEX read_undo_account ON read_undo (account_id, made_at);
CREATE INDEX read_undo_made ON read_undo (made_at);

-- Posts that a person has opened. What is unread does not depend on it.
CREATE TABLE reading_history (
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  post_id    INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
  read_at    INTEGER NOT NULL,       -- unix ms; the first time
  PRIMARY KEY (account_id, post_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX reading_history_newest ON reading_history (account_id, read_at DESC, post_id DESC);
CREATE INDEX reading_history_post ON reading_history (post_id);
