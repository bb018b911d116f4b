-- safe: yes
-- A reader's list is a table. It takes the place of read_marks, stars, muted_posts and read_undo, which no code reads any
-- more and the worker empties. Their triggers (0014, 0035) then find nothing to change.

-- One row for each account and post of a source that the account follows, and one for each post of another source that
-- the account has marked or starred, or that a rule of it has muted.
CREATE TABLE entries (
  account_id   INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  post_id      INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
  source_id    INTEGER NOT NULL,     -- the post's, as its time
  published_at INTEGER NOT NULL,     -- unix ms
  place        INTEGER NOT NULL CHECK (place BETWEEN 0 AND 2), -- 2: in all lists; 1: not in those of all sources, because
                                     -- of hide_globally; 0: the account does not follow the source, or may not see it
  is_unread    INTEGER NOT NULL CHECK (is_unread IN (0, 1)),
  marked_at    INTEGER,              -- unix ms; when the account last marked the post as read or unread; 0: forgotten;
                                     -- NULL: never
  act          INTEGER,              -- the marking of several posts (read_acts) that has marked it as read; negative if
                                     -- that named each post, not a list
  starred_at   INTEGER,              -- unix ms
  muted_by     TEXT,                 -- ids of the rules that keep the post out of lists, as JSON
  row_id       INTEGER,              -- the post's row_id in link_rows
  PRIMARY KEY (account_id, post_id)
) STRICT, WITHOUT ROWID;

INSERT INTO entries (account_id, post_id, source_id, published_at, place, is_unread, marked_at, starred_at, muted_by,
                     row_id)
SELECT f.account_id, p.id, p.source_id, p.published_at,
       iif(s.visibility = 'public' OR s.owner_id = a.id OR a.role = 'admin', 2 - f.hide_globally, 0),
       NOT COALESCE(m.is_read, p.id <= f.read_up_to), m.marked_at, t.starred_at, u.rules, d.row_id
  FROM follows f JOIN sources s ON s.id = f.source_id JOIN accounts a ON a.id = f.account_id
  JOIN posts p ON p.source_id = f.source_id AND p.id >= COALESCE((SELECT id FROM posts WHERE source_id = f.source_id
                                                                   ORDER BY id DESC LIMIT 1 OFFSET 19999), 0)
  LEFT JOIN read_marks m ON m.account_id = f.account_id AND m.source_id = f.source_id AND m.post_id = p.id
  LEFT JOIN stars t ON t.account_id = f.account_id AND t.post_id = p.id
  LEFT JOIN (SELECT account_id, post_id, json_group_array(rule_id) AS rules FROM muted_posts GROUP BY 1, 2) u
    ON u.account_id = f.account_id AND u.post_id = p.id
  LEFT JOIN doubles d ON d.post_id = p.id
 ORDER BY f.account_id, p.id;

INSERT INTO entries (account_id, post_id, source_id, published_at, place, is_unread, marked_at, starred_at, muted_by,
                     row_id)
SELECT a.id, p.id, p.source_id, p.published_at,
       iif(f.source_id IS NOT NULL AND (s.visibility = 'public' OR s.owner_id = a.id OR a.role = 'admin'),
           2 - f.hide_globally, 0),
       NOT COALESCE(m.is_read, p.id <= COALESCE(f.read_up_to, 0)), m.marked_at, t.starred_at, u.rules, d.row_id
  FROM (SELECT account_id, post_id FROM read_marks UNION SELECT account_id, post_id FROM stars
         UNION SELECT account_id, post_id FROM muted_posts) x
  JOIN accounts a ON a.id = x.account_id JOIN posts p ON p.id = x.post_id JOIN sources s ON s.id = p.source_id
  LEFT JOIN follows f ON f.account_id = a.id AND f.source_id = p.source_id
  LEFT JOIN read_marks m ON m.account_id = a.id AND m.source_id = p.source_id AND m.post_id = p.id
  LEFT JOIN stars t ON t.account_id = a.id AND t.post_id = p.id
  LEFT JOIN (SELECT account_id, post_id, json_group_array(rule_id) AS rules FROM muted_posts GROUP BY 1, 2) u
    ON u.account_id = a.id AND u.post_id = p.id
  LEFT JOIN doubles d ON d.post_id = p.id
 WHERE true ON CONFLICT DO NOTHING;

-- Some indexes name columns that are constant in them, so that counts read only the index.
CREATE INDEX entries_newest ON entries (account_id, published_at, post_id) WHERE place = 2 AND muted_by IS NULL;
CREATE INDEX entries_unread ON entries (account_id, published_at, post_id)
 WHERE is_unread = 1 AND place = 2 AND muted_by IS NULL;
CREATE INDEX entries_source ON entries (account_id, source_id, published_at, post_id, place);
CREATE INDEX entries_source_unread ON entries (account_id, source_id, published_at, post_id, is_unread, muted_by)
 WHERE is_unread = 1 AND muted_by IS NULL;
CREATE INDEX entries_arrival_unread ON entries (account_id, post_id, source_id) WHERE is_unread = 1 AND muted_by IS NULL;
CREATE INDEX entries_starred ON entries (account_id, published_at, post_id) WHERE starred_at IS NOT NULL;
CREATE INDEX entries_muted ON entries (account_id, published_at, post_id) WHERE muted_by IS NOT NULL;
CREATE INDEX entries_marked ON entries (account_id, marked_at, post_id) WHERE marked_at IS NOT NULL;
CREATE INDEX entries_row ON entries (account_id, row_id, post_id, source_id, place, muted_by) WHERE row_id IS NOT NULL;
CREATE INDEX entries_row_unread ON entries (account_id, row_id, post_id, source_id, is_unread, muted_by)
 WHERE row_id IS NOT NULL AND is_unread = 1 AND muted_by IS NULL;
CREATE INDEX entries_post ON entries (post_id);

-- Markings of several posts as read, for two minutes, in which they can be undone.
CREATE TABLE read_acts (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  made_at    INTEGER NOT NULL,       -- unix ms; the marked_at of the posts
  by_app     INTEGER                 -- how many posts one request of an app has marked; NULL: a page or the API did
) STRICT;

CREATE INDEX read_acts_account ON read_acts (account_id, made_at);
CREATE INDEX read_acts_made ON read_acts (made_at);

-- Follows whose entries are still to be added (is_new), changed or removed. Large ones are done in steps.
CREATE TABLE entries_due (
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  source_id  INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  is_new     INTEGER NOT NULL DEFAULT 0 CHECK (is_new IN (0, 1)),
  PRIMARY KEY (account_id, source_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX entries_due_source ON entries_due (source_id);

-- Posts that have not yet reached all followers of their source, or whose time or row_id has changed.
CREATE TABLE entries_late (
  post_id      INTEGER PRIMARY KEY REFERENCES posts (id) ON DELETE CASCADE,
  from_account INTEGER NOT NULL      -- followers from this account on wait for the post
) STRICT;

-- A new post reaches the first 32 followers of its source at once.
CREATE TRIGGER entries_of_post AFTER INSERT ON posts BEGIN
  INSERT INTO entries (account_id, post_id, source_id, published_at, place, is_unread)
  SELECT f.account_id, NEW.id, NEW.source_id, NEW.published_at,
         iif(s.visibility = 'public' OR s.owner_id = a.id OR a.role = 'admin', 2 - f.hide_globally, 0),
         NEW.id > f.read_up_to
    FROM (SELECT account_id, hide_globally, read_up_to FROM follows WHERE source_id = NEW.source_id
           ORDER BY account_id LIMIT 32) f
    JOIN sources s ON s.id = NEW.source_id JOIN accounts a ON a.id = f.account_id;
  INSERT INTO entries_late (post_id, from_account)
  SELECT NEW.id, account_id FROM follows WHERE source_id = NEW.source_id ORDER BY account_id LIMIT 1 OFFSET 32;
END;

-- Of a source with more followers, the worker changes their entries.
CREATE TRIGGER entries_of_time AFTER UPDATE OF published_at ON posts WHEN OLD.published_at <> NEW.published_at BEGIN
  UPDATE entries SET published_at = NEW.published_at
   WHERE post_id = NEW.id AND (place = 0 OR (SELECT COUNT(*) FROM (SELECT 1 FROM follows WHERE source_id = NEW.source_id
                                                                    LIMIT 33)) < 33);
  INSERT INTO entries_late (post_id, from_account)
  SELECT NEW.id, 0 FROM (SELECT 1 FROM follows WHERE source_id = NEW.source_id LIMIT 1 OFFSET 32) WHERE true
  ON CONFLICT DO UPDATE SET from_account = 0;
END;

CREATE TRIGGER entries_in_row AFTER INSERT ON link_rows BEGIN
  UPDATE entries SET row_id = NEW.row_id
   WHERE post_id = NEW.post_id AND (place = 0 OR (SELECT COUNT(*) FROM (SELECT 1 FROM follows
                                                   WHERE source_id = NEW.source_id LIMIT 33)) < 33);
  INSERT INTO entries_late (post_id, from_account)
  SELECT NEW.post_id, 0 FROM (SELECT 1 FROM follows WHERE source_id = NEW.source_id LIMIT 1 OFFSET 32) WHERE true
  ON CONFLICT DO UPDATE SET from_account = 0;
END;
CREATE TRIGGER entries_out_of_row AFTER DELETE ON link_rows BEGIN
  UPDATE entries SET row_id = NULL WHERE post_id = OLD.post_id;
END;

-- A post that joins a row is read, starred and muted like the posts of the row, as far as the account follows their
-- sources, may see these and wants doubles joined. In a source that is new in its lists, a post is also unread as they
-- are.
CREATE TRIGGER entries_join AFTER UPDATE OF row_id, place ON entries
WHEN NEW.row_id IS NOT NULL AND NEW.place > 0 AND (OLD.row_id IS NOT NEW.row_id OR OLD.place = 0)
 AND COALESCE((SELECT joins_doubles FROM preferences WHERE account_id = NEW.account_id), 1) BEGIN
  UPDATE entries
     SET is_unread = iif(OLD.place = 0, o.is_unread, min(entries.is_unread, o.is_unread)),
         starred_at = COALESCE(entries.starred_at, o.starred_at), muted_by = COALESCE(entries.muted_by, o.muted_by)
    FROM (SELECT MIN(e.is_unread) AS is_unread, MAX(e.starred_at) AS starred_at, MAX(e.muted_by) AS muted_by
            FROM entries e INDEXED BY entries_row JOIN sources s ON s.id = e.source_id AND s.removed_at IS NULL
            JOIN accounts a ON a.id = e.account_id
           WHERE e.account_id = NEW.account_id AND e.row_id = NEW.row_id AND e.post_id <> NEW.post_id AND e.place > 0
             AND (s.visibility = 'public' OR s.owner_id = a.id OR a.role = 'admin')) o
   WHERE entries.account_id = NEW.account_id AND entries.post_id = NEW.post_id AND o.is_unread IS NOT NULL;
END;
CREATE TRIGGER entries_join_new AFTER INSERT ON entries
WHEN NEW.row_id IS NOT NULL AND NEW.place > 0
 AND COALESCE((SELECT joins_doubles FROM preferences WHERE account_id = NEW.account_id), 1) BEGIN
  UPDATE entries
     SET is_unread = o.is_unread, starred_at = COALESCE(entries.starred_at, o.starred_at),
         muted_by = COALESCE(entries.muted_by, o.muted_by)
    FROM (SELECT MIN(e.is_unread) AS is_unread, MAX(e.starred_at) AS starred_at, MAX(e.muted_by) AS muted_by
            FROM entries e INDEXED BY entries_row JOIN sources s ON s.id = e.source_id AND s.removed_at IS NULL
            JOIN accounts a ON a.id = e.account_id
           WHERE e.account_id = NEW.account_id AND e.row_id = NEW.row_id AND e.post_id <> NEW.post_id AND e.place > 0
             AND (s.visibility = 'public' OR s.owner_id = a.id OR a.role = 'admin')) o
   WHERE entries.account_id = NEW.account_id AND entries.post_id = NEW.post_id AND o.is_unread IS NOT NULL;
END;

CREATE TRIGGER entries_unmuted AFTER DELETE ON rules WHEN OLD.act = 'mute' BEGIN
  UPDATE entries
     SET muted_by = NULLIF((SELECT json_group_array(value) FROM json_each(entries.muted_by) WHERE value <> OLD.id), '[]')
   WHERE account_id = OLD.account_id AND post_id IN (
     SELECT e.post_id FROM entries e INDEXED BY entries_muted, json_each(e.muted_by) r
      WHERE e.account_id = OLD.account_id AND e.muted_by IS NOT NULL AND r.value = OLD.id);
END;

CREATE TRIGGER entries_follow AFTER INSERT ON follows BEGIN
  INSERT INTO entries_due (account_id, source_id, is_new) VALUES (NEW.account_id, NEW.source_id, 1)
  ON CONFLICT DO UPDATE SET is_new = 1;
END;
CREATE TRIGGER entries_hidden AFTER UPDATE OF hide_globally ON follows WHEN OLD.hide_globally <> NEW.hide_globally BEGIN
  INSERT INTO entries_due (account_id, source_id) VALUES (NEW.account_id, NEW.source_id) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER entries_unfollow AFTER DELETE ON follows BEGIN
  INSERT INTO entries_due (account_id, source_id)
  SELECT a.id, s.id FROM accounts a JOIN sources s ON s.id = OLD.source_id WHERE a.id = OLD.account_id
  ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER entries_of_sight AFTER UPDATE OF visibility, owner_id ON sources
WHEN OLD.visibility <> NEW.visibility OR (OLD.owner_id <> NEW.owner_id AND NEW.visibility <> 'public') BEGIN
  INSERT INTO entries_due (account_id, source_id)
  SELECT account_id, source_id FROM follows WHERE source_id = NEW.id ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER entries_of_role AFTER UPDATE OF role ON accounts WHEN OLD.role <> NEW.role BEGIN
  INSERT INTO entries_due (account_id, source_id)
  SELECT f.account_id, f.source_id FROM follows f JOIN sources s ON s.id = f.source_id
   WHERE f.account_id = NEW.id AND s.visibility <> 'public' ON CONFLICT DO NOTHING;
END;
