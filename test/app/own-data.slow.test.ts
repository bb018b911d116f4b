// Protects what members alone may read: no page and no answer shows it to administrators, other members or visitors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hubRoutes } from '../../src/app/routes.ts';
import { accounts } from '../../src/features/accounts/account-store.ts';
import { drafts } from '../../src/features/writing/draft-store.ts';
import { addNotes, sendJson } from '../support/accounts.ts';
import { hubWith } from '../support/hub.ts';
import { STORED_DATA } from '../support/stored-data.ts';

/** A word for each table that holds words of a member which only the member may read. */
const WORDS = { folders: 'own-folder', drafts: 'own-draft', import_lines: 'own-import' } as const;

test('names of folders, drafts and imported addresses of a member are in no page and no answer for others', async (t) => {
  const { hub, ada, bob, cy } = await hubWith(t, ['ada', 'bob', 'cy']);
  await sendJson(bob, 'PUT', `/api/sources/${await addNotes(ada)}/follow`, { folder: WORDS.folders });
  drafts(hub.handle).save(accounts(hub.handle).findByName('bob')?.id ?? NaN, '/write', { title: WORDS.drafts });
  const document = `<opml version="2.0"><body><outline xmlUrl="http://127.0.0.1:1/${WORDS.import_lines}"/></body></opml>`;
  await bob.form('/sources/import', { opml: document, visibility: 'private' });
  const own = (await bob.get('/api/account/export')).text;
  for (const [table, word] of Object.entries(WORDS)) {
    assert.ok(own.includes(word), `${word} is stored`);
    assert.equal(STORED_DATA[table as keyof typeof WORDS].readers, 'the account', 'as src/LEDGER.md says');
  }

  const words = new RegExp(Object.values(WORDS).join('|'));
  const pages = hubRoutes(hub.handle).filter(({ method, path }) => method === 'GET' && !path.startsWith('/assets/'));
  for (const { path } of pages) {
    for (const id of [1, 2]) {
      const address = path.replaceAll(/:[a-z]+/g, String(id));
      for (const other of [ada, cy, hub.anybody]) {
        for (const { text } of [await other.get(address), await other.page(address)]) {
          assert.equal(words.exec(text)?.[0], undefined, address);
        }
      }
    }
  }
});
