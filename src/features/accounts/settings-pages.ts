import { readForm } from '../../platform/http/body.ts';
import { pathId } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { page, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { actorOf } from '../audit/audit.ts';
import type { Hub } from '../hub/hub.ts';
import { accounts } from './account-store.ts';
import { changeAccount, endOtherSessions, makeToken, revokeToken } from './change-account.ts';
import { credentials } from './credential-store.ts';
import { settingsPage, type SentForm } from './settings-views.ts';

export function showSettings(hub: Hub, req: MemberRequest): Reply {
  return settings(hub, req);
}

function settings(hub: Hub, { viewer: { id } }: MemberRequest, sent?: SentForm, status = 200): Reply {
  const account = accounts(hub).find(id);
  if (!account) throw new HttpError(401, 'This account is gone.');
  const { tokensOf, sessionsOf } = credentials(hub);
  return page(settingsPage({ account, tokens: tokensOf(id), sessions: sessionsOf(id), sent }), status);
}

export function submitName(hub: Hub, req: MemberRequest): Promise<Reply> {
  return submit(hub, req, 'name', ({ displayName = '' }) => change(hub, req, { displayName }));
}

export function submitPassword(hub: Hub, req: MemberRequest): Promise<Reply> {
  return submit(hub, req, 'password', ({ currentPassword, newPassword = '' }) =>
    change(hub, req, { currentPassword, newPassword }));
}

async function change(hub: Hub, req: MemberRequest, values: Record<string, unknown>): Promise<Reply> {
  await changeAccount(hub, values, req.viewer, actorOf(req));
  return seeOther('/settings');
}

export function submitToken(hub: Hub, req: MemberRequest): Promise<Reply> {
  return submit(hub, req, 'token', async (values) => {
    const { token } = makeToken(hub, values, req.viewer, actorOf(req));
    return settings(hub, req, { form: 'token', newToken: token });
  });
}

/** What is wrong with a form stands above it on the same page. */
async function submit(
  hub: Hub, req: MemberRequest, form: SentForm['form'], act: (values: Record<string, string>) => Promise<Reply>,
): Promise<Reply> {
  const values = await readForm(req);
  try {
    return await act(values);
  } catch (problem) {
    if (!(problem instanceof HttpError) || problem.status === 401) throw problem;
    const { status, body } = settings(hub, req, { form, problem }, problem.status);
    return { status, headers: problem.headers, body };
  }
}

export function submitRevokeToken(hub: Hub, req: MemberRequest): Reply {
  revokeToken(hub, pathId(req.params), req.viewer, actorOf(req));
  return seeOther('/settings#tokens');
}

export function submitEndSessions(hub: Hub, req: MemberRequest): Reply {
  endOtherSessions(hub, req.viewer, actorOf(req));
  return seeOther('/settings');
}
