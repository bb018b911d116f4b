-- safe: yes

-- Posts of native sources as their authors wrote them. The column posts.content_html has the sanitised HTML.
CREATE TABLE post_texts (
  post_id INTEGER PRIMARY KEY REFERENCES posts (id) ON DELETE CASCADE,
  format  TEXT NOT NULL CHECK (format IN ('text/plain', 'text/html', 'text/markdown')),
  text    TEXT NOT NULL
) STRICT;

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
