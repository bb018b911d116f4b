-- safe: yes

-- A person's own folders. One is there as long as a source is in it.
CREATE TABLE folders (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  name       TEXT    NOT NULL,
  UNIQUE (account_id, name)
) STRICT;

-- The sources of a person's reading list.
CREATE TABLE follows (
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  source_id  INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  folder_id  INTEGER REFERENCES folders (id) ON DELETE SET NULL,
  notify     INTEGER NOT NULL DEFAULT 0 CHECK (notify IN (0, 1)), -- new posts make notifications
  read_up_to INTEGER NOT NULL,       -- id of a post: whatever of the source arrived up to it is read (but read_marks)
  created_at INTEGER NOT NULL,       -- unix ms
  PRIMARY KEY (account_id, source_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX follows_source ON follows (source_id);
CREATE INDEX follows_folder ON follows (folder_id) WHERE folder_id IS NOT NULL;

CREATE TRIGGER folders_empty_delete AFTER DELETE ON follows WHEN OLD.folder_id IS NOT NULL BEGIN
  DELETE FROM folders WHERE id = OLD.folder_id AND NOT EXISTS (SELECT 1 FROM follows WHERE folder_id = OLD.folder_id);
END;
CREATE TRIGGER folders_empty_update AFTER UPDATE OF folder_id ON follows
WHEN OLD.folder_id IS NOT NULL AND OLD.folder_id IS NOT NEW.folder_id BEGIN
  DELETE FROM folders WHERE id = OLD.folder_id AND NOT EXISTS (SELECT 1 FROM follows WHERE folder_id = OLD.folder_id);
END;
