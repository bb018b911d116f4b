// Protects the upgrade to lists that are a table: every state that version 2.0.0 kept is in the entries.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listChoices } from '../../../src/features/reading/list-choice-store.ts';
import { oldTables } from '../../../src/features/reading/old-tables-store.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { chooseOrder, fillLists, oldHub } from '../../support/lists-of-2-0.ts';
import { MIGRATIONS } from '../../support/migrated-database.ts';
import { randomBelow } from '../../support/random.ts';
import { rowsOf } from '../../support/stored-rows.ts';
import { assertUnreadCounted } from '../../support/unread-counts.ts';

test('every post of a followed source, mark, star and muted post of version 2.0.0 becomes an entry, and the unread ones are counted', (t) => {
  for (const seed of [1, 2, 3]) {
    const db = oldHub(t);
    const wanted = fillLists(db, randomBelow(seed));
    migrate(db, MIGRATIONS, Date.now);
    assert.deepEqual(rowsOf({ db }, 'entries')[0], wanted);
    assertUnreadCounted({ db });
    assert.ok(wanted.some(({ place, muted_by }) => place === 0 && muted_by !== null));
    assert.deepEqual(rowsOf({ db }, 'link_rows'), rowsOf({ db }, 'doubles'));
  }
});

test('the old tables are emptied in steps, and the entries stay', (t) => {
  const db = oldHub(t);
  fillLists(db, randomBelow(1));
  migrate(db, MIGRATIONS, Date.now);
  const [before, old] = [rowsOf({ db }, 'entries'), ['read_marks', 'stars', 'muted_posts', 'read_undo', 'doubles']];
  while (oldTables({ db, clock: Date.now }).empty(7) === 7);
  assert.deepEqual(rowsOf({ db }, ...old), old.map(() => []));
  assert.deepEqual(rowsOf({ db }, 'entries'), before);
});

test('the order that a member chose for a list before orders had names stays, until another is chosen', (t) => {
  const db = oldHub(t);
  fillLists(db, randomBelow(1));
  chooseOrder(db, 'all', 'oldest');
  migrate(db, MIGRATIONS, Date.now);
  const choices = listChoices({ db, clock: Date.now });
  assert.deepEqual(choices.find(1, 'all'), { list: 'all', order: 'oldest', show: 'all', chosenAt: 5 });
  choices.put(1, 'all', { order: 'newest', show: 'all' });
  assert.equal(choices.find(1, 'all')?.order, 'newest');
});
