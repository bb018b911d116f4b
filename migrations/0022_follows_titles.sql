-- safe: yes
-- A member may give a followed source a name that only this member sees.

ALTER TABLE follows ADD COLUMN title TEXT; -- null: the member sees the title of the source
