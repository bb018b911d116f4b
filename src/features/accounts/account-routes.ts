import { isoTime } from '../../platform/clock.ts';
import { readForm, readJson } from '../../platform/http/body.ts';
import { createInput, pathId } from '../../platform/http/input.ts';
import { HttpError, json, noContent, page, seeOther, type Page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { accountJson, credentials, type ApiToken } from './account-store.ts';
import { invitationGonePage, joinPage, settingsPage, signInPage, type SentForm } from './account-views.ts';
import { changeAccount, makeToken, ownAccount, revokeToken } from './change-account.ts';
import { findInvitation, invite, joinHub, joinUrl, withdrawInvitation } from './join-hub.ts';
import { endedSession, sessionCookie, signIn, signOut, type SignedIn } from './sign-in.ts';

export async function createAccount(hub: Hub, req: HubRequest): Promise<Reply> {
  const values = await readJson(req);
  const input = createInput(values);
  const invitation = input.text('invitation', { max: 300 });
  input.done();
  const token = invitation.slice(invitation.lastIndexOf('/') + 1); // people paste the whole link
  return signedIn(hub, await joinHub(hub, token, values, req.address), 201);
}

export async function createSession(hub: Hub, req: HubRequest): Promise<Reply> {
  return signedIn(hub, await signIn(hub, await readJson(req), req.address), 200);
}

function signedIn(hub: Hub, { account, session }: SignedIn, status: number): Reply {
  return json(accountJson(account), status, sessionCookie(hub, session));
}

export function deleteSession(hub: Hub, req: MemberRequest): Reply {
  if (req.viewer.via !== 'session') throw new HttpError(409, 'An API token has no session; revoke the token instead.');
  signOut(hub, req);
  return noContent(endedSession(hub));
}

export function showAccount(hub: Hub, { viewer }: MemberRequest): Reply {
  return json(accountJson(ownAccount(hub, viewer)));
}

export async function changeAccountJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  return json(accountJson(await changeAccount(hub, await readJson(req), req)));
}

export function listTokens(hub: Hub, { viewer }: MemberRequest): Reply {
  return json({ items: credentials(hub).tokensOf(viewer.id).map(tokenJson), next: null });
}

export async function createToken(hub: Hub, req: MemberRequest): Promise<Reply> {
  const made = makeToken(hub, await readJson(req), req);
  return json({ ...tokenJson(made), token: made.token }, 201);
}

export function deleteToken(hub: Hub, req: MemberRequest): Reply {
  revokeToken(hub, pathId(req.params), req);
  return noContent();
}

export async function createInvitation(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { id, role, token, expiresAt } = invite(hub, await readJson(req), req);
  return json({ id, url: joinUrl(hub.config, token), role, expiresAt: isoTime(expiresAt) }, 201);
}

export function deleteInvitation(hub: Hub, req: MemberRequest): Reply {
  withdrawInvitation(hub, pathId(req.params), req);
  return noContent();
}

function tokenJson({ id, name, createdAt }: ApiToken) {
  return { id, name, createdAt: isoTime(createdAt) };
}

const NO_STORE = { 'cache-control': 'no-store' };

export function showJoin(hub: Hub, { params }: HubRequest): Reply {
  const invitation = findInvitation(hub, params['token'] ?? '');
  if (!invitation) return page(invitationGonePage(), 410, NO_STORE);
  return page(joinPage({ isFirst: invitation.purpose === 'set-up' }), 200, NO_STORE);
}

export async function submitJoin(hub: Hub, req: HubRequest): Promise<Reply> {
  const values = await readForm(req);
  const token = req.params['token'] ?? '';
  try {
    const { session } = await joinHub(hub, token, values, req.address);
    return seeOther('/sources', sessionCookie(hub, session));
  } catch (error) {
    if (error instanceof HttpError && error.status === 410) return page(invitationGonePage(), 410);
    const isFirst = findInvitation(hub, token)?.purpose === 'set-up';
    return formAgain(error, (problem) => joinPage({ isFirst, values, problem }));
  }
}

export function showSignIn(_hub: Hub, { query, viewer }: HubRequest): Reply {
  const next = localPath(query.get('next'));
  return viewer ? seeOther(next) : page(signInPage({ next }), 200, NO_STORE);
}

export async function submitSignIn(hub: Hub, req: HubRequest): Promise<Reply> {
  const values = await readForm(req);
  const next = localPath(values['next']);
  try {
    const { session } = await signIn(hub, values, req.address);
    return seeOther(next, sessionCookie(hub, session));
  } catch (error) {
    return formAgain(error, (problem) => signInPage({ next, values, problem }));
  }
}

export function submitSignOut(hub: Hub, req: MemberRequest): Reply {
  return seeOther('/', deleteSession(hub, req).headers);
}

/** The same form with what was typed and what is wrong with it. */
function formAgain(error: unknown, view: (problem: HttpError) => Page): Reply {
  if (!(error instanceof HttpError)) throw error;
  return page(view(error), error.status, error.headers);
}

/** Only paths of the hub itself: `//host` and `/\host` would lead elsewhere. In ASCII, as headers have to be. */
function localPath(next: string | null | undefined): string {
  if (!next || !/^\/(?![/\\])[^\u0000-\u001f]*$/.test(next)) return '/';
  return next.toWellFormed().replace(/[^!-~]/gu, encodeURIComponent);
}

export function showSettings(hub: Hub, { viewer }: MemberRequest, sent?: SentForm): Reply {
  const account = ownAccount(hub, viewer);
  const { tokensOf, sessionsOf } = credentials(hub);
  const shown = settingsPage(account, tokensOf(viewer.id), sessionsOf(viewer.id), sent);
  return page(shown, sent?.problem?.status, sent?.problem?.headers);
}

export function submitName(hub: Hub, req: MemberRequest): Promise<Reply> {
  return answerForm(hub, req, 'name', ({ displayName = '' }) => change(hub, req, { displayName }));
}

export function submitPassword(hub: Hub, req: MemberRequest): Promise<Reply> {
  return answerForm(hub, req, 'password', ({ currentPassword, newPassword = '' }) =>
    change(hub, req, { currentPassword, newPassword }));
}

async function change(hub: Hub, req: MemberRequest, values: Record<string, unknown>): Promise<Reply> {
  await changeAccount(hub, values, req);
  return seeOther('/settings');
}

export function submitToken(hub: Hub, req: MemberRequest): Promise<Reply> {
  return answerForm(hub, req, 'token', async (values) => {
    const { token } = makeToken(hub, values, req);
    return showSettings(hub, req, { form: 'token', newToken: token });
  });
}

/** What is wrong with a form stands above it on the same page. */
async function answerForm(
  hub: Hub, req: MemberRequest, form: SentForm['form'], act: (values: Record<string, string>) => Promise<Reply>,
): Promise<Reply> {
  const values = await readForm(req);
  try {
    return await act(values);
  } catch (problem) {
    if (!(problem instanceof HttpError) || problem.status === 401) throw problem;
    return showSettings(hub, req, { form, problem });
  }
}
