import { json, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { accounts } from '../accounts/account-store.ts';
import { appPasswordOf, viewerOfApp } from '../accounts/authenticate.ts';
import { signInLimitsOf } from '../accounts/passwords.ts';
import { takeTurns, type Hub } from '../hub/hub.ts';
import type { NamedLimit } from '../hub/limits.ts';
import { notSignedIn, plain, readValues, type AppRequest } from './reader-request.ts';

/** The longest body of a sign-in, in bytes. */
const SIGN_IN_BYTES = 16 * 1024;

/**
 * POST /accounts/ClientLogin: an app signs in with a member's name and an app password. The answer repeats the app
 * password as `Auth`, which the app sends with each later request. Throws 401 for a wrong name or app password, 429
 * after repeated failures.
 */
export async function clientLogin(hub: Hub, request: HubRequest): Promise<Reply> {
  const values = await readValues(request, SIGN_IN_BYTES);
  const [username, password] = ['Email', 'Passwd'].map((name) => (values.get(name) ?? '').trim());
  if (!username || !password) throw notSignedIn();
  const giveBack = takeTurns(hub, appLimitsOf(hub, { username, address: request.address }));
  const viewer = viewerOfApp(hub, password, request.stream);
  if (!viewer || accounts(hub).findByName(username)?.id !== viewer.id) throw notSignedIn();
  giveBack();
  const tokens = { SID: password, LSID: 'null', Auth: password };
  if (values.get('output') === 'json') return json(tokens);
  return plain(Object.entries(tokens).map(([name, value]) => `${name}=${value}\n`).join(''));
}

/** The limits of an app’s sign-in. An app with an old app password uses up no attempt to sign in on a page. */
function appLimitsOf(hub: Hub, attempt: { username: string; address: string }): [NamedLimit, string][] {
  return signInLimitsOf(hub, attempt).taken.map(([limit, who]) => [{ ...limit, name: 'sign-in-app' }, who]);
}

/** GET token: the token that apps send with each POST (as `T`), which may replace the POST's Authorization header. */
export function showToken(_hub: Hub, request: AppRequest): Reply {
  return plain(appPasswordOf(request) ?? '', { 'cache-control': 'no-store' });
}

/** GET user-info: the id and the name of the viewer's account. */
export function showUser(_hub: Hub, { viewer: { id, username } }: AppRequest): Reply {
  return json({ userId: String(id), userName: username, userProfileId: String(id), userEmail: username });
}
