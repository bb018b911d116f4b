-- safe: yes
-- A form that is sent twice publishes one post.

ALTER TABLE post_texts ADD COLUMN form TEXT; -- path of the form, with a random key, from which the post was published

CREATE INDEX post_texts_form ON post_texts (form) WHERE form IS NOT NULL;
