-- safe: yes
-- Posts of several sources that link to the same page.

-- The link of each post in one form (posts/link-key.ts): the hash of the address without scheme, www and fragment. If
-- several posts of a source have the same link, only the first post has a row.
CREATE TABLE post_links (
  link      BLOB    NOT NULL,        -- 16 bytes
  source_id INTEGER NOT NULL,
  post_id   INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
  PRIMARY KEY (link, source_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX post_links_post ON post_links (post_id);

-- The posts whose link another source has too. A member who follows several of these sources sees the posts in one row.
CREATE TABLE doubles (
  post_id   INTEGER PRIMARY KEY REFERENCES posts (id) ON DELETE CASCADE,
  source_id INTEGER NOT NULL,
  row_id    INTEGER NOT NULL         -- posts with the same link have the same number: the id of the first post
) STRICT;

CREATE INDEX doubles_source ON doubles (source_id, post_id);
CREATE INDEX doubles_row ON doubles (row_id, post_id, source_id);

-- Whether lists show posts with the same link in one row.
ALTER TABLE preferences ADD COLUMN joins_doubles INTEGER NOT NULL DEFAULT 1 CHECK (joins_doubles IN (0, 1));

-- A post that joins a row is read for members who have read a post of the row, and starred for members who have starred
-- a post of the row, as far as these members follow the sources of both posts and may see the earlier post.
CREATE TRIGGER doubles_state AFTER INSERT ON doubles BEGIN
  INSERT INTO read_marks (account_id, source_id, post_id, is_read, marked_at)
  SELECT DISTINCT f.account_id, NEW.source_id, NEW.post_id, 1, p.created_at
    FROM doubles e
    JOIN sources s ON s.id = e.source_id AND s.removed_at IS NULL
    JOIN follows g ON g.source_id = e.source_id
    JOIN follows f ON f.source_id = NEW.source_id AND f.account_id = g.account_id
    JOIN accounts a ON a.id = f.account_id
    JOIN posts p ON p.id = NEW.post_id
    LEFT JOIN preferences c ON c.account_id = a.id
    LEFT JOIN read_marks m ON m.account_id = a.id AND m.source_id = e.source_id AND m.post_id = e.post_id
   WHERE e.row_id = NEW.row_id AND e.post_id <> NEW.post_id AND NEW.post_id > f.read_up_to
     AND COALESCE(m.is_read, e.post_id <= g.read_up_to) AND COALESCE(c.joins_doubles, 1)
     AND (s.visibility = 'public' OR s.owner_id = a.id OR a.role = 'admin')
  ON CONFLICT DO NOTHING;
  INSERT INTO stars (account_id, post_id, source_id, published_at, starred_at)
  SELECT t.account_id, p.id, p.source_id, p.published_at, MAX(t.starred_at)
    FROM doubles e
    JOIN sources s ON s.id = e.source_id AND s.removed_at IS NULL
    JOIN stars t ON t.post_id = e.post_id
    JOIN follows f ON f.source_id = NEW.source_id AND f.account_id = t.account_id
    JOIN accounts a ON a.id = f.account_id
    JOIN posts p ON p.id = NEW.post_id
    LEFT JOIN preferences c ON c.account_id = a.id
   WHERE e.row_id = NEW.row_id AND e.post_id <> NEW.post_id AND COALESCE(c.joins_doubles, 1)
     AND (s.visibility = 'public' OR s.owner_id = a.id OR a.role = 'admin')
   GROUP BY t.account_id
  ON CONFLICT DO NOTHING;
END;
