import { readForm } from '../../platform/http/body.ts';
import { localPath } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { page, seeOther, type Page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest } from '../../platform/http/router.ts';
import { timesOf } from '../../platform/http/times.ts';
import type { Hub } from '../hub/hub.ts';
import { saying } from '../hub/said.ts';
import {
  invitationGonePage, joinPage, newPasswordPage, passwordLinkGonePage,
} from './account-views.ts';
import { sessionCookie, signIn, type SignedIn } from './authenticate.ts';
import { ownAccount } from './change-account.ts';
import { apiTokens, sessions, TOKENS_MAX } from './credential-store.ts';
import { accountOfLink, choosePassword } from './govern-account.ts';
import { findInvitation, joinHub } from './join-hub.ts';
import { accountSettingsPage, type SentSettings } from './settings-views.ts';
import { hasCookie, signInPage } from './sign-in-pages.ts';
import { deleteSession } from './sign-in-routes.ts';

const NO_STORE = { 'cache-control': 'no-store' };

/** Page: the form for joining by an invitation; a page with status 410 if the invitation is gone. */
export function showJoin(hub: Hub, { params }: HubRequest): Reply {
  const invitation = findInvitation(hub, params['token'] ?? '');
  if (!invitation) return page(invitationGonePage(), 410, NO_STORE);
  return page(joinPage({ isFirst: invitation.purpose === 'set-up' }), 200, NO_STORE);
}

/** Form: joins by an invitation and signs in; a refused form is shown again, unless the invitation is gone. */
export async function submitJoin(hub: Hub, req: HubRequest): Promise<Reply> {
  const values = await readForm(req);
  const token = req.params['token'] ?? '';
  return thenSignedIn(hub, '/', () => joinHub(hub, token, values, req.address), (problem) => {
    if (problem.status === 410) return page(invitationGonePage(), 410);
    const isFirst = findInvitation(hub, token)?.purpose === 'set-up';
    return again(joinPage({ isFirst, values, problem }), problem);
  });
}

/** Page: the form for signing in. A signed-in viewer goes on to the local path `next` at once. */
export function showSignIn(hub: Hub, { query, viewer, headers }: HubRequest): Reply {
  const next = localPath(query.get('next'));
  return viewer ? seeOther(next) : page(signInPage({ next, isEnded: hasCookie(hub, headers) }), 200, NO_STORE);
}

/** Page: the form for a new password through a link; a page with status 410 if the password link is gone. */
export function showNewPassword(hub: Hub, { params }: HubRequest): Reply {
  return newPasswordForm(hub, params['token'] ?? '');
}

/** Form: stores the new password and signs in; a refused form is shown again, unless the link is gone. */
export async function submitNewPassword(hub: Hub, req: HubRequest): Promise<Reply> {
  const values = await readForm(req);
  const token = req.params['token'] ?? '';
  return thenSignedIn(hub, '/', () => choosePassword(hub, token, values, req.address), (problem) =>
    newPasswordForm(hub, token, problem));
}

function newPasswordForm(hub: Hub, token: string, problem?: HttpError): Reply {
  const account = accountOfLink(hub, token);
  if (!account) return page(passwordLinkGonePage(), 410, NO_STORE);
  const form = newPasswordPage({ username: account.username, ...(problem && { problem }) });
  return page(form, problem?.status, { ...NO_STORE, ...problem?.headers });
}

/** Form: signs in and goes on to the local path `next`; a refused form is shown again with the error. */
export async function submitSignIn(hub: Hub, req: HubRequest): Promise<Reply> {
  const values = await readForm(req);
  const next = localPath(values['next']);
  return thenSignedIn(hub, next, () => signIn(hub, values, req.address), (problem) =>
    again(signInPage({ next, isEnded: false, values, problem }), problem));
}

/** Form: ends the viewer's session. */
export function submitSignOut(hub: Hub, req: MemberRequest): Reply {
  return seeOther(saying('/', 'signed-out'), deleteSession(hub, req).headers);
}

async function thenSignedIn(
  hub: Hub, path: string, act: () => Promise<SignedIn>, refused: (problem: HttpError) => Reply,
): Promise<Reply> {
  try {
    const { session } = await act();
    return seeOther(path, sessionCookie(hub, session));
  } catch (error) {
    if (error instanceof HttpError) return refused(error);
    throw error;
  }
}

function again(form: Page, { status, headers }: HttpError): Reply {
  return page(form, status, headers);
}

/** Page: the account's settings. `sent`: the form that was sent, with its error or its new API token. */
export function showSettings(hub: Hub, { viewer }: MemberRequest, sent?: SentSettings): Reply {
  const account = ownAccount(hub, viewer);
  const tokens = apiTokens(hub).listOf(viewer.id, 0, TOKENS_MAX).filter(({ scope }) => scope !== 'reader');
  const own = { tokens, sessions: sessions(hub).listOf(viewer.id) };
  const current = viewer.via === 'session' ? viewer.credentialId : 0;
  const who = { account, preferences: viewer.preferences, current };
  const shown = accountSettingsPage({ ...who, ...own, times: timesOf(hub, viewer), sent });
  return page(shown, sent?.problem?.status, sent?.problem?.headers);
}
