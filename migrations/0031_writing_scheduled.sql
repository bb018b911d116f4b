-- safe: yes
-- The worker publishes scheduled drafts. A change of a draft, and a restore, end its schedule.

ALTER TABLE drafts ADD COLUMN publish_at INTEGER; -- unix ms; NULL: the author has not scheduled the draft

CREATE INDEX drafts_scheduled ON drafts (publish_at) WHERE publish_at IS NOT NULL;
