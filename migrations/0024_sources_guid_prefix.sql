-- safe: yes

-- Stands before the publisher's ids in posts.guid. It is empty until the owner changes the address of the feed, and
-- random afterwards, so that no id of the new address is an id of the old one.
ALTER TABLE feeds ADD COLUMN guid_prefix TEXT NOT NULL DEFAULT '';
