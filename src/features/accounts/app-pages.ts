import { readForm } from '../../platform/http/body.ts';
import { orAgain } from '../../platform/http/form-faults.ts';
import { page, type HttpError, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { timesOf } from '../../platform/http/times.ts';
import type { Hub } from '../hub/hub.ts';
import { appsPage, headerCheckPage } from './app-views.ts';
import { makeToken } from './change-account.ts';
import { apiTokens, TOKENS_MAX, type NewToken } from './credential-store.ts';

/** The form for an app password that was just sent: its values, and the new app password or the error. */
type SentApp = { made?: NewToken; values?: Record<string, string>; problem?: HttpError };

/** Page: app passwords, and how to connect apps. */
export function showApps(hub: Hub, { viewer }: MemberRequest, sent: SentApp = {}): Reply {
  const passwords = apiTokens(hub).listOf(viewer.id, 0, TOKENS_MAX).filter(({ scope }) => scope === 'reader');
  const { username } = viewer;
  const shown = appsPage({ username, baseUrl: hub.config.baseUrl, passwords, times: timesOf(hub, viewer), ...sent });
  const caching = sent.made && { 'cache-control': 'no-store' };
  return page(shown, sent.problem?.status, { ...sent.problem?.headers, ...caching });
}

/** Form: creates an app password, which the next page shows once. */
export async function submitApp(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readForm(req);
  return orAgain(
    async () => showApps(hub, req, { made: await makeToken(hub, { ...values, scope: 'reader' }, req) }),
    (problem) => showApps(hub, req, { values, problem }));
}

/** Page: tells whether the browser's Authorization header arrives. With status 401, the browser asks for a password. */
export function showHeaderCheck(_hub: Hub, { headers }: MemberRequest): Reply {
  const hasArrived = headers.authorization !== undefined;
  const ask = { 'www-authenticate': 'Basic realm="Type any word, no real password"', 'cache-control': 'no-store' };
  return page(headerCheckPage(hasArrived), hasArrived ? 200 : 401, hasArrived ? { 'cache-control': 'no-store' } : ask);
}
