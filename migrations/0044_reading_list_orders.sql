-- safe: yes
-- An order of lists by its name, whatever orders the hub has: sort_order takes two only, and has it for older choices.

ALTER TABLE list_choices ADD COLUMN order_name TEXT;
