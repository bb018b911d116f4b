-- safe: yes

-- Uploaded files of drafts. When a draft is published, its files become attachments of the post.
CREATE TABLE draft_files (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  url_key    TEXT    NOT NULL DEFAULT (lower(hex(randomblob(8)))), -- random part of the file's address
  draft_id   INTEGER NOT NULL REFERENCES drafts (id) ON DELETE CASCADE,
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE, -- the account whose quota counts the file
  filename   TEXT    NOT NULL,
  media_type TEXT    NOT NULL,
  bytes      INTEGER NOT NULL,
  sha256     TEXT    NOT NULL,       -- hash of the file's content in the table uploads
  created_at INTEGER NOT NULL        -- unix ms
) STRICT;

CREATE INDEX draft_files_draft ON draft_files (draft_id);
CREATE INDEX draft_files_account ON draft_files (account_id);
CREATE INDEX draft_files_upload ON draft_files (sha256);

CREATE TRIGGER draft_files_usage_insert AFTER INSERT ON draft_files BEGIN
  INSERT INTO upload_usage (account_id, bytes) VALUES (NEW.account_id, NEW.bytes)
    ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
END;
CREATE TRIGGER draft_files_usage_delete AFTER DELETE ON draft_files BEGIN
  UPDATE upload_usage SET bytes = bytes - OLD.bytes WHERE account_id = OLD.account_id;
END;
