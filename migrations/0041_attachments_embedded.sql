-- safe: yes
-- Native files without an owner_id are pictures that a publisher wrote into the content of a post (data: addresses).
-- Their bytes count with the contents of their source, for CONTENT_QUOTA_BYTES; UPLOAD_QUOTA_BYTES is for people's files.

CREATE TRIGGER attachments_embedded_insert AFTER INSERT ON attachments
WHEN NEW.kind = 'native' AND NEW.owner_id IS NULL BEGIN
  UPDATE source_usage SET bytes = bytes + NEW.bytes
   WHERE source_id = (SELECT source_id FROM posts WHERE id = NEW.post_id);
END;
CREATE TRIGGER attachments_embedded_delete AFTER DELETE ON attachments
WHEN OLD.kind = 'native' AND OLD.owner_id IS NULL BEGIN
  UPDATE source_usage SET bytes = bytes - OLD.bytes
   WHERE source_id = (SELECT source_id FROM posts WHERE id = OLD.post_id);
END;
-- Before, as posts_usage_delete: the post's files go with it, and then find no post to be counted for.
CREATE TRIGGER posts_embedded_delete BEFORE DELETE ON posts BEGIN
  UPDATE source_usage SET bytes = bytes - COALESCE((SELECT SUM(bytes) FROM attachments
           WHERE post_id = OLD.id AND kind = 'native' AND owner_id IS NULL), 0)
   WHERE source_id = OLD.source_id;
END;
