-- safe: yes

-- What a person was told of one page: to join what is new to it, and to take it back with a source that is deleted.
CREATE INDEX notifications_path ON notifications (path, account_id, id DESC);
