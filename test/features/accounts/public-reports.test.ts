// Protects what people reported of other programs about signing in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PROJECT_ROOT, readConfig } from '../../../src/features/hub/read-config.ts';
import { hubWith } from '../../support/hub.ts';

for (const [id, username] of [['O02', 'ADA'], ['O03', 'ada ']] as const) {
  test(`${id}: the user name “${username}” signs in ada, as keyboards of phones write names`, async (t) => {
    const { hub } = await hubWith(t, ['ada']);
    const signedIn = await hub.anybody.post('/api/session', { username, password: hub.password });
    assert.ok(signedIn.status === 200 || signedIn.status === 201, signedIn.text);
  });
}

test('O05 (capyreader#2228): a BASE_URL with a path is refused in clear words', () => {
  const read = () => readConfig({ BASE_URL: 'https://hub.example/reader' }, { projectRoot: PROJECT_ROOT, readFile: () => '{}' });
  assert.throws(read, /BASE_URL/);
});

/** Rows that stay as they are. */
export const STAYS = {
  O01: 'only the very password fits (passwords.test.ts); keyboards of all systems write composed letters',
};
