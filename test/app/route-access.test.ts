// Protects the level of access of each address: a slip in the list of routes opens nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hubRoutes } from '../../src/app/routes.ts';
import type { Route } from '../../src/platform/http/router.ts';
import { switchPreferences } from '../support/accounts.ts';
import { hubWith, startHub } from '../support/hub.ts';

/** What anybody may ask for; of a private source, its posts and files nobody else sees anything there. */
const PUBLIC = [
  'GET /', 'GET /posts/:id', 'GET /sources', 'GET /sources/:id', 'GET /attachments/:key/:filename', 'GET /icons/:key',
  'GET /full-texts/:id/:picture', // whoever is signed in, and apps by a signed address
  'GET /posts.atom', 'GET /posts.json', 'GET /sources/:id.atom', 'GET /sources/:id.json',
  'GET /api/posts', 'GET /api/posts/:id', 'GET /api/sources', 'GET /api/sources/:id',
  'GET /sign-in', 'POST /sign-in', 'POST /api/session', 'GET /goodbye',
  'GET /join/:token', 'POST /join/:token', 'POST /api/accounts', // who has an invitation
  'GET /new-password/:token', 'POST /new-password/:token', // who has a link for it
  'POST /api/webhooks/:id', // who signs
  'GET /api/health', 'GET /api/metrics', // who knows METRICS_TOKEN, where there is one
  'GET /reader', 'GET /check/compatibility', 'POST /accounts/ClientLogin', // who has an app password
  'GET /accounts/:rest*', 'POST /accounts/:rest*', // unknown calls of apps, which are all refused
  'GET /api/openapi.json', 'GET /manifest.webmanifest', 'GET /public', 'GET /help/search',
];

const ASSET = /^\/assets\//;

const ADMINISTRATION = /^\/(?:api\/)?admin(?:\/|$)|^\/api\/invitations(?:\/|$)/;

function sample({ path }: Route): string {
  return path.replace(/:[a-z]+\*?/g, '1');
}

test('visitors may call only public routes, and only administrators may call routes that administer', async (t) => {
  const { handle } = await startHub(t);
  const wanted = ({ method, path }: Route): string =>
    PUBLIC.includes(`${method} ${path}`) || ASSET.test(path) ? 'public' : ADMINISTRATION.test(path) ? 'admin' : 'member';

  const routes = hubRoutes(handle);
  assert.ok(routes.length > PUBLIC.length);
  const wrong = routes.filter((route) => route.access !== wanted(route));
  assert.deepEqual(wrong.map(({ method, path, access }) => `${method} ${path} is ${access}`), []);
  const there = new Set(routes.map(({ method, path }) => `${method} ${path}`));
  assert.deepEqual(PUBLIC.filter((address) => !there.has(address)), [], 'the list above is not longer than need be');
});

test('each address refuses whoever it is not for, whatever they prefer: 401 for nobody known, 403 for a member', async (t) => {
  const { hub, bob } = await hubWith(t, ['ada', 'bob']);
  for (const prefer of [() => {}, () => switchPreferences(hub, 2, false), () => switchPreferences(hub, 2, true)]) {
    prefer();
    for (const route of hubRoutes(hub.handle).filter(({ access }) => access !== 'public')) {
      const [method, path] = [route.method, sample(route)];
      assert.equal((await hub.anybody.send(method, path)).status, 401, `${method} ${path}`);
      if (route.access === 'admin') assert.equal((await bob.send(method, path)).status, 403, `${method} ${path}`);
    }
  }
});
