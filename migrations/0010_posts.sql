-- safe: yes

CREATE TABLE posts (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  source_id    INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  guid         TEXT    NOT NULL,     -- the publisher's id, unique within its source
  -- Its source's visibility and owner, copied for the indexes. They follow in steps: the source's say who may read.
  first_guid   TEXT,                 -- the one before its publisher changed it: its id in feeds is made of that
  is_public    INTEGER NOT NULL CHECK (is_public IN (0, 1)),
  owner_id     INTEGER NOT NULL REFERENCES accounts (id),
  title        TEXT    NOT NULL,
  url          TEXT,
  author       TEXT,
  language     TEXT,                 -- as in BCP 47, as its publisher says; NULL: nobody knows
  summary      TEXT    NOT NULL,     -- plain text
  content_hash TEXT    NOT NULL,     -- of what the publisher sent; tells whether an item changed
  published_at INTEGER NOT NULL,     -- unix ms; never later than when it was first seen
  updated_at   INTEGER NOT NULL,     -- unix ms
  created_at   INTEGER NOT NULL,     -- unix ms; first seen
  left_at      INTEGER,              -- unix ms; its feed no longer had it. NULL: it has, or is none
  search_key   INTEGER UNIQUE,       -- its rowid in posts_search: grows with published_at
  content_html TEXT    NOT NULL,     -- sanitised; last, so that whoever reads the others skips its pages
  UNIQUE (source_id, guid)
) STRICT;

CREATE INDEX posts_public ON posts (published_at DESC, id DESC) WHERE is_public = 1;
CREATE INDEX posts_private ON posts (owner_id, published_at DESC, id DESC) WHERE is_public = 0;
CREATE INDEX posts_owner ON posts (owner_id);
CREATE INDEX posts_of_source ON posts (source_id, published_at DESC, id DESC);
-- For reading lists: what is newest of all, whoever may see it, and in which order the posts of a source arrived.
CREATE INDEX posts_newest ON posts (published_at DESC, id DESC, source_id);
CREATE INDEX posts_arrival ON posts (source_id, id, published_at);
-- What a feed still has is compared with each document; what has left it is removed by age.
CREATE INDEX posts_in_feed ON posts (source_id, guid) WHERE left_at IS NULL;
CREATE INDEX posts_left ON posts (created_at, id) WHERE left_at IS NOT NULL;

-- Remembers a deletion, so that the next sync does not bring the post back.
CREATE TABLE post_tombstones (
  source_id  INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  guid       TEXT    NOT NULL,
  deleted_at INTEGER NOT NULL,       -- unix ms
  likeness   TEXT,                   -- a hash of its link, title and date: its publisher may give it another guid
  PRIMARY KEY (source_id, guid)
) STRICT, WITHOUT ROWID;

CREATE INDEX post_tombstones_like ON post_tombstones (source_id, likeness) WHERE likeness IS NOT NULL;

-- Words of title and content, and the source's id as one more word. Those of private posts begin with a mark of their
-- reader, so that a search meets only what its reader may see (search-words.ts). Rows are numbered by search_key, so
-- that FTS5 itself hands out the newest first and stops: sorting all posts with a common word would take 0.2 s of
-- 100,000. Contentless: the texts stand in posts already.
CREATE VIRTUAL TABLE posts_search USING fts5 (
  title, body, source, content = '', contentless_delete = 1,
  tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);

CREATE TRIGGER posts_count_insert AFTER INSERT ON posts BEGIN
  INSERT INTO counts (metric, value) VALUES ('public_posts', NEW.is_public)
    ON CONFLICT DO UPDATE SET value = value + NEW.is_public;
  INSERT INTO counts (metric, value) VALUES ('content_version', 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER posts_count_update AFTER UPDATE OF
  source_id, is_public, title, url, author, language, content_html, summary, published_at, updated_at ON posts BEGIN
  UPDATE counts SET value = value + NEW.is_public - OLD.is_public
   WHERE metric = 'public_posts' AND NEW.is_public <> OLD.is_public;
  UPDATE counts SET value = value + 1 WHERE metric = 'content_version';
END;
CREATE TRIGGER posts_count_delete AFTER DELETE ON posts BEGIN
  DELETE FROM posts_search WHERE rowid = OLD.search_key;
  UPDATE counts SET value = value - OLD.is_public WHERE metric = 'public_posts';
  UPDATE counts SET value = value + 1 WHERE metric = 'content_version';
END;
