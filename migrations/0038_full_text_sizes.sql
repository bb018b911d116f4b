-- safe: yes
-- The size of full texts contains the words of full texts in the search index.

-- Estimated bytes of the text and its words in full_texts_search, also of a text that is too large for the hub.
-- NULL: unknown; then the text alone counts.
ALTER TABLE full_texts ADD COLUMN bytes INTEGER;

CREATE INDEX full_texts_no_room ON full_texts (bytes) WHERE reason = 'no-room';

-- The triggers full_texts_count_update and full_texts_count_delete count the text, these triggers count its words.
CREATE TRIGGER full_texts_count_words AFTER UPDATE OF content_html ON full_texts BEGIN
  INSERT INTO counts (metric, value)
  VALUES ('full_text_bytes', COALESCE(NEW.bytes - octet_length(NEW.content_html), 0)
                             - COALESCE(OLD.bytes - octet_length(OLD.content_html), 0))
    ON CONFLICT DO UPDATE SET value = value + excluded.value;
END;
CREATE TRIGGER full_texts_count_deleted_words AFTER DELETE ON full_texts BEGIN
  UPDATE counts SET value = value - COALESCE(OLD.bytes - octet_length(OLD.content_html), 0)
   WHERE metric = 'full_text_bytes';
END;
