import { DAY, isoTime } from '../../platform/clock.ts';
import { readForm, readJson } from '../../platform/http/body.ts';
import { createInput, pathId } from '../../platform/http/input.ts';
import {
  HttpError, json, noContent, notFound, page, seeOther, type Page, type Reply,
} from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { accountJson } from './account-store.ts';
import {
  invitationGonePage, joinPage, newPasswordPage, passwordLinkGonePage, settingsPage, type SentForm,
} from './account-views.ts';
import { endedSession, sessionCookie } from './authenticate.ts';
import { changeAccount, endSessions, makeToken, ownAccount, revokeToken } from './change-account.ts';
import { apiTokens, sessions, type ApiToken, type Session } from './credential-store.ts';
import { accountOfLink, choosePassword } from './govern-account.ts';
import { findInvitation, invite, joinHub, joinUrl, withdrawInvitation } from './join-hub.ts';
import { hasCookie, localPath, signInPage } from './sign-in-again.ts';
import { signIn, signOut, type SignedIn } from './sign-in.ts';

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
  if (req.viewer.via !== 'session') throw new HttpError(403, 'An API token has no session; revoke the token instead.');
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
  return json({ items: apiTokens(hub).listOf(viewer.id).map(tokenJson), next: null });
}

export async function createToken(hub: Hub, req: MemberRequest): Promise<Reply> {
  const made = await makeToken(hub, await readJson(req), req);
  return json({ ...tokenJson(made), token: made.token }, 201);
}

export function deleteToken(hub: Hub, req: MemberRequest): Reply {
  revokeToken(hub, pathId(req.params), req);
  return noContent();
}

export async function createInvitation(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { id, role, token, expiresAt } = await invite(hub, await readJson(req), req);
  return json({ id, url: joinUrl(hub.config, token), role, expiresAt: isoTime(expiresAt) }, 201);
}

export function deleteInvitation(hub: Hub, req: MemberRequest): Reply {
  withdrawInvitation(hub, pathId(req.params), req);
  return noContent();
}

/** A token without its value. */
export function tokenJson({ id, name, scope, createdAt, expiresAt, seenAt }: ApiToken) {
  return {
    id, name, scope, createdAt: isoTime(createdAt), expiresAt: isoTime(expiresAt), lastUsedAt: isoTime(seenAt),
  };
}

/** A session as the API shows it to its owner. */
export function sessionJson({ id, createdAt, seenAt, expiresAt, address }: Session) {
  return { id, createdAt: isoTime(createdAt), lastUsedAt: isoTime(seenAt), expiresAt: isoTime(expiresAt), address };
}

/** Those of the viewer; `current` is the one by which this is asked. */
export function listSessions(hub: Hub, { viewer }: MemberRequest): Reply {
  return json({ items: ownSessions(hub, viewer), next: null });
}

export function showSession(hub: Hub, { viewer, params }: MemberRequest): Reply {
  const session = ownSessions(hub, viewer).find(({ id }) => id === pathId(params));
  if (!session) throw notFound('session');
  return json(session);
}

function ownSessions(hub: Hub, { id, via, credentialId }: Viewer) {
  const own = sessions(hub).listOf(id);
  return own.map((session) => ({ ...sessionJson(session), current: via === 'session' && session.id === credentialId }));
}

export async function deleteSessionById(hub: Hub, req: MemberRequest): Promise<Reply> {
  const id = pathId(req.params);
  await endSessions(hub, await readJson(req), req, id);
  return noContent(id === req.viewer.credentialId ? endedSession(hub) : {});
}

export async function deleteOtherSessions(hub: Hub, req: MemberRequest): Promise<Reply> {
  await endSessions(hub, await readJson(req), req);
  return noContent();
}

/** The form's button names one session, or `others`. */
export function submitEndSessions(hub: Hub, req: MemberRequest): Promise<Reply> {
  return answerForm(hub, req, 'sessions', async (values) => {
    const id = values['session'] === 'others' ? undefined : pathId({ id: values['session'] ?? '' });
    await endSessions(hub, values, req, id);
    return seeOther('/settings#sessions', id === req.viewer.credentialId ? endedSession(hub) : {});
  });
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
  return thenSignedIn(hub, '/sources', () => joinHub(hub, token, values, req.address), (problem) => {
    if (problem.status === 410) return page(invitationGonePage(), 410);
    const isFirst = findInvitation(hub, token)?.purpose === 'set-up';
    return again(joinPage({ isFirst, values, problem }), problem);
  });
}

export function showSignIn(hub: Hub, { query, viewer, headers }: HubRequest): Reply {
  const next = localPath(query.get('next'));
  return viewer ? seeOther(next) : page(signInPage({ next, isEnded: hasCookie(hub, headers) }), 200, NO_STORE);
}

export function showNewPassword(hub: Hub, { params }: HubRequest): Reply {
  return newPasswordForm(hub, params['token'] ?? '');
}

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

export async function submitSignIn(hub: Hub, req: HubRequest): Promise<Reply> {
  const values = await readForm(req);
  const next = localPath(values['next']);
  return thenSignedIn(hub, next, () => signIn(hub, values, req.address), (problem) =>
    again(signInPage({ next, isEnded: false, values, problem }), problem));
}

export function submitSignOut(hub: Hub, req: MemberRequest): Reply {
  return seeOther('/', deleteSession(hub, req).headers);
}

/** Leads whom `act` signs in to a page; `refused` shows the form again, with what was typed and what is wrong. */
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

export function showSettings(hub: Hub, { viewer }: MemberRequest, sent?: SentForm): Reply {
  const account = ownAccount(hub, viewer);
  const own = { tokens: apiTokens(hub).listOf(viewer.id), sessions: sessions(hub).listOf(viewer.id) };
  const current = viewer.via === 'session' ? viewer.credentialId : 0;
  const shown = settingsPage({ account, ...own, current, now: hub.clock(), sent });
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
    const days = values['days'] ?? '';
    const expiresAt = /^\d{1,4}$/.test(days) ? { expiresAt: isoTime(hub.clock() + Number(days) * DAY) } : {};
    const { token } = await makeToken(hub, { ...values, ...expiresAt }, req);
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
