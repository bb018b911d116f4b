-- safe: yes

-- Posts of native sources as their authors wrote them. The column posts.content_html has the sanitised HTML.
CREATE TABLE post_texts (
  post_id   INTEGER PRIMARY KEY REFERENCES posts (id) ON DELETE CASCADE,
  author_id INTEGER REFERENCES accounts (id) ON DELETE SET NULL, -- NULL: the author has left the hub
  format    TEXT NOT NULL CHECK (format IN ('text/plain', 'text/html', 'text/markdown')),
  text      TEXT NOT NULL
) STRICT;

CREATE INDEX post_texts_author ON post_texts (author_id) WHERE author_id IS NOT NULL;

ALTER TABLE sources ADD COLUMN shows_authors INTEGER NOT NULL DEFAULT 0 CHECK (shows_authors IN (0, 1));

-- Cached pages and feeds may show the names of authors.
CREATE TRIGGER sources_authors_version AFTER UPDATE OF shows_authors ON sources BEGIN
  UPDATE counts SET value = value + 1 WHERE metric = 'content_version';
END;
CREATE TRIGGER accounts_authors_version AFTER UPDATE OF display_name, left_at ON accounts BEGIN
  UPDATE counts SET value = value + 1 WHERE metric = 'content_version';
END;

CREATE TRIGGER post_texts_usage_insert AFTER INSERT ON post_texts BEGIN
  UPDATE source_usage SET bytes = bytes + octet_length(NEW.text)
   WHERE source_id = (SELECT source_id FROM posts WHERE id = NEW.post_id);
END;
CREATE TRIGGER post_texts_usage_update AFTER UPDATE OF text ON post_texts BEGIN
  UPDATE source_usage SET bytes = bytes + octet_length(NEW.text) - octet_length(OLD.text)
   WHERE source_id = (SELECT source_id FROM posts WHERE id = NEW.post_id);
END;
-- Runs before the post is deleted, because the row of post_texts is deleted after the post.
CREATE TRIGGER post_texts_usage_delete BEFORE DELETE ON posts BEGIN
  UPDATE source_usage SET bytes = bytes - COALESCE(
         (SELECT octet_length(text) FROM post_texts WHERE post_id = OLD.id), 0)
   WHERE source_id = OLD.source_id;
END;
