// Protects every operation that takes JSON from values that are no text, number or list, and look like one.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { isoTime } from '../../src/platform/clock.ts';
import { addNotes, addPost } from '../support/accounts.ts';
import type { ApiDocument, Schema } from '../support/api-document.ts';
import { hubWith } from '../support/hub.ts';

const DAY = 24 * 3_600_000;

/** JSON that is easily taken for text, a number, a list or nothing; each as it is sent. */
const ODD = [
  '{"toString":1}', '{"toString":null,"valueOf":null}', '{"toJSON":1,"length":3,"then":{},"trim":1,"map":1}', '{"__proto__":{"toString":1},"constructor":1}',
  '{}', '[]', '[{"toString":1}]', '[[null]]', '[1e300,-1,0.5,"x",null,{"toString":null}]', 'null', 'true', '0', '-0.5', '1e300', '""', '"\\ud800"', '"\\u0000"',
];

/** Sends odd JSON; more than one member may be odd at once. */
async function answersToOdd(t: TestContext) {
  const { hub, ada } = await hubWith(t, ['ada', 'bob']);
  const source = await addNotes(ada);
  const ids: Record<string, number> = { sources: source, posts: await addPost(ada, source), accounts: 2 };
  const good: Record<string, unknown> = {
    kind: 'native', username: 'bob', password: 'a wrong password', currentPassword: 'a wrong password', invitation: 'x', displayName: 'Ada',
    sourceId: source, content: 'Text', match: 'owl', act: 'mute', publishAt: isoTime(hub.now() + DAY), publishedAt: isoTime(hub.now() - DAY), undo: 1,
    source, folder: 'Birds', confirmation: 'DELETE', ids: [1], posts: [1], rules: [{ match: 'owl', act: 'mute' }], searches: [{ name: 'Owls', query: 'owl' }],
  };
  const { paths } = (await ada.get('/api/openapi.json')).json<ApiDocument>();
  const operations = Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).flatMap(([method, operation]) => {
    const schema = operation.requestBody?.content['application/json']?.schema;
    const at = path.replace(/\{\w+\}/, () => String(ids[/(\w+)\/\{/.exec(path)?.[1] ?? ''] ?? 1));
    return schema ? [{ name: `${method} ${path}`, method: method.toUpperCase(), at, properties: (schema['properties'] ?? {}) as Record<string, Schema> }] : [];
  }));
  const failed: string[] = [];
  let sent = 0;
  const send = async (operation: (typeof operations)[number], body: string): Promise<void> => {
    sent++;
    hub.passTime(60_000); // for the limits of what is sent
    const headers = { 'content-type': 'application/json' };
    const { status } = await ada.send(operation.method, operation.at, { body, headers });
    if (status >= 500) failed.push(`${operation.name} ${body.slice(0, 300)}: ${status}`);
  };
  for (const operation of operations) {
    const names = Object.keys(operation.properties);
    const base = Object.fromEntries(names.map((name) => [name, good[name] ?? 'x']));
    const alone = Object.fromEntries(names.filter((name) => !['publishAt', 'posts', 'folder', 'source'].includes(name)).map((name) => [name, base[name]]));
    for (const odd of ODD) {
      await send(operation, odd);
      await send(operation, `{${names.map((name) => `"${name}":${odd}`).join()}}`);
      for (const name of names) {
        for (const others of [base, alone]) {
          const text = JSON.stringify({ ...others, [name]: '@' }).replace('"@"', () => odd);
          await send(operation, text);
        }
      }
    }
  }
  return { operations, sent, failed };
}

test('no JSON in any field of any operation makes the hub fail', async (t) => {
  const { operations, sent, failed } = await answersToOdd(t);
  assert.deepEqual(failed, []);
  assert.ok(operations.length >= 20 && sent > 1_000, `${operations.length} operations, ${sent} requests`);
});
