-- safe: yes

-- How pages look and behave for a member.
ALTER TABLE preferences ADD COLUMN theme TEXT NOT NULL DEFAULT 'system' CHECK (theme IN ('system', 'light', 'dark'));
ALTER TABLE preferences ADD COLUMN typeface TEXT NOT NULL DEFAULT 'serif' CHECK (typeface IN ('serif', 'sans'));
ALTER TABLE preferences ADD COLUMN measure TEXT NOT NULL DEFAULT 'normal' CHECK (measure IN ('narrow', 'normal', 'wide'));
ALTER TABLE preferences ADD COLUMN sources_by TEXT NOT NULL DEFAULT 'name' CHECK (sources_by IN ('name', 'unread'));
ALTER TABLE preferences ADD COLUMN marks_scrolled INTEGER NOT NULL DEFAULT 0 CHECK (marks_scrolled IN (0, 1));
