-- safe: yes
-- A draft is saved while its author types, also from two tabs.

ALTER TABLE drafts ADD COLUMN revision INTEGER NOT NULL DEFAULT 1; -- grows by one with each save
ALTER TABLE drafts ADD COLUMN saved_by TEXT;                       -- random name of the tab that saved the draft last
ALTER TABLE drafts ADD COLUMN discarded_at INTEGER;                -- unix ms; the author can restore the draft for a day

CREATE INDEX drafts_discarded ON drafts (discarded_at) WHERE discarded_at IS NOT NULL;
