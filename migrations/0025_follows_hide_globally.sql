-- safe: yes
-- A member may keep the posts of a followed source out of the lists "Unread" and "All posts".

ALTER TABLE follows ADD COLUMN hide_globally INTEGER NOT NULL DEFAULT 0 CHECK (hide_globally IN (0, 1));
