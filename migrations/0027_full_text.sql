-- safe: yes

-- What came of fetching a post's page, and the full text. The table is a cache: the hub can fetch each page again.
CREATE TABLE full_texts (
  post_id      INTEGER PRIMARY KEY REFERENCES posts (id) ON DELETE CASCADE,
  state        TEXT    NOT NULL CHECK (state IN ('waiting', 'ready', 'refused', 'failed')),
  reason       TEXT,                        -- why there is no full text: a key of REASONS in explain-full-text.ts
  detail       TEXT,                        -- why the fetch failed, in words
  is_asked     INTEGER NOT NULL DEFAULT 0,  -- 1: a member pressed the button, so robots.txt does not apply
  failures     INTEGER NOT NULL DEFAULT 0,  -- failed fetches of this version of the post
  version      INTEGER NOT NULL DEFAULT 1,  -- grows with each new version of the post
  due_at       INTEGER,                     -- unix ms, of the next fetch; NULL: no fetch follows
  used_at      INTEGER NOT NULL,            -- unix ms, when a member last read the full text, to within an hour
  search_key   INTEGER,                     -- its rowid in full_texts_search; NULL: its words are not indexed
  is_cut       INTEGER NOT NULL DEFAULT 0,  -- 1: the feed's text looks like a teaser of the full text
  content_html TEXT                         -- sanitised; last, so that reading the other columns skips its pages
) STRICT;

CREATE INDEX full_texts_due ON full_texts (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX full_texts_used ON full_texts (used_at) WHERE content_html IS NOT NULL;
CREATE INDEX full_texts_unindexed ON full_texts (post_id) WHERE content_html IS NOT NULL AND search_key IS NULL;

-- Words of full texts, with the columns, row ids and marks of posts_search. Only searches of members read this table.
CREATE VIRTUAL TABLE full_texts_search USING fts5 (
  title, body, source, content = '', contentless_delete = 1,
  tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);

CREATE TABLE full_text_sources (
  source_id INTEGER PRIMARY KEY REFERENCES sources (id) ON DELETE CASCADE,
  is_always INTEGER NOT NULL DEFAULT 0,  -- 1: the hub fetches the full text of each new post
  is_chosen INTEGER NOT NULL DEFAULT 0,  -- 1: the owner has chosen, so that the hub makes no offer
  uses      INTEGER NOT NULL DEFAULT 0,  -- how often members used the button on posts of the source
  samples   TEXT                         -- JSON: ids of posts compared with their pages; '[]': not begun; NULL: never
) STRICT;

-- How often fetching the full texts of a source worked ('ready'), and why it did not.
CREATE TABLE full_text_results (
  source_id INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  reason    TEXT    NOT NULL,
  n         INTEGER NOT NULL,
  PRIMARY KEY (source_id, reason)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER full_texts_of_new_post AFTER INSERT ON posts
WHEN NEW.url IS NOT NULL AND EXISTS (SELECT 1 FROM full_text_sources WHERE source_id = NEW.source_id AND is_always = 1)
BEGIN
  INSERT INTO full_texts (post_id, state, due_at, used_at) VALUES (NEW.id, 'waiting', NEW.created_at, NEW.created_at);
END;
CREATE TRIGGER full_texts_of_new_version AFTER UPDATE OF content_hash ON posts
WHEN NEW.content_hash <> OLD.content_hash BEGIN
  UPDATE full_texts SET state = 'waiting', reason = NULL, detail = NULL, is_asked = 0, failures = 0,
         version = version + 1, due_at = NEW.created_at, search_key = NULL, is_cut = 0, content_html = NULL
   WHERE post_id = NEW.id;
END;
-- The marks of words name the readers of a post, so the words are indexed anew for new readers.
CREATE TRIGGER full_texts_of_new_readers AFTER UPDATE OF is_public, owner_id ON posts
WHEN NEW.is_public <> OLD.is_public OR NEW.owner_id <> OLD.owner_id BEGIN
  UPDATE full_texts SET search_key = NULL WHERE post_id = NEW.id AND search_key IS NOT NULL;
END;

CREATE TRIGGER full_texts_forget_words AFTER UPDATE OF search_key ON full_texts
WHEN OLD.search_key IS NOT NULL AND NEW.search_key IS NOT OLD.search_key BEGIN
  DELETE FROM full_texts_search WHERE rowid = OLD.search_key;
END;
CREATE TRIGGER full_texts_count_update AFTER UPDATE OF content_html ON full_texts BEGIN
  INSERT INTO counts (metric, value)
  VALUES ('full_text_bytes', COALESCE(octet_length(NEW.content_html), 0) - COALESCE(octet_length(OLD.content_html), 0))
    ON CONFLICT DO UPDATE SET value = value + excluded.value;
END;
CREATE TRIGGER full_texts_count_delete AFTER DELETE ON full_texts BEGIN
  DELETE FROM full_texts_search WHERE rowid = OLD.search_key;
  UPDATE counts SET value = value - COALESCE(octet_length(OLD.content_html), 0) WHERE metric = 'full_text_bytes';
END;
