import {
  field, flag, from, id, named, noted, object, orNull, text, time,
} from '../../platform/http/fields.ts';
import { notFound } from '../../platform/http/http-error.ts';
import { pathId } from '../../platform/http/input.ts';
import { seeOther, type ReplyHeaders } from '../../platform/http/reply.ts';
import type { MemberRequest, Viewer } from '../../platform/http/router.ts';
import { act, view, type Endpoint, type RefusedForm } from '../hub/acts.ts';
import type { Hub } from '../hub/hub.ts';
import { pagedList } from '../hub/lists.ts';
import { saying } from '../hub/said.ts';
import { showSettings } from './account-pages.ts';
import { ACCOUNT } from './account-store.ts';
import { endedSession } from './authenticate.ts';
import { ACCOUNT_CHANGES, changeAccount, checkAccount, endSessions, ownAccount } from './change-account.ts';
import { sessions, SESSIONS_KEPT, type Session } from './credential-store.ts';
import { CONFIRMED, currentPassword } from './passwords.ts';
import type { SentSettings } from './settings-views.ts';

const SESSION_MEMBERS = {
  id, createdAt: time, lastUsedAt: from('seenAt', orNull(time)), expiresAt: time, address: orNull(text),
};

export const EXPORTED_SESSION = object(SESSION_MEMBERS);

const SESSION = named('Session', object({
  ...SESSION_MEMBERS, current: noted(flag, 'Whether this session has sent the request for the list of sessions'),
}));

function ownSessions(hub: Hub, { id: accountId, via, credentialId }: Viewer) {
  return sessions(hub).listOf(accountId).map((session) =>
    ({ ...session, current: via === 'session' && session.id === credentialId }));
}

/** The settings again, with the refused form. */
export const settingsAgain = (form: SentSettings['form']) =>
  (hub: Hub, req: MemberRequest, refused: RefusedForm) => showSettings(hub, req, { form, ...refused });

const CHANGING = { fields: ACCOUNT_CHANGES, check: checkAccount, run: changeAccount };

/** The session that a button of the form ends. */
const toEnd = field<number | 'others'>({}, (input, name) => {
  const value = input.value(name);
  return value === 'others' ? value : pathId({ id: String(value) });
});

const afterSession = (hub: Hub, { viewer }: MemberRequest, ended: unknown): ReplyHeaders =>
  (ended === viewer.credentialId ? endedSession(hub) : {});

export const ACCOUNT_ROUTES: Endpoint[] = [
  view('GET /api/account', { summary: 'Your own account' }, ACCOUNT, (hub, { viewer }) =>
    ownAccount(hub, viewer)),
  ...act({
    api: 'PATCH /api/account',
    summary: 'Change your display name or password; a new password ends other sessions, API tokens keep working',
    ...CHANGING, shape: ACCOUNT, show: ACCOUNT.show, refusals: [429],
  }),
  ...act({
    form: 'POST /settings/name', summary: 'Change the display name',
    ...CHANGING, typed: ({ displayName = '' }) => ({ displayName }),
    to: saying('/settings', 'name-saved'), again: settingsAgain('name'),
  }),
  ...act({
    form: 'POST /settings/password', summary: 'Change the password', ...CHANGING,
    typed: ({ currentPassword: current, newPassword = '' }) => ({ currentPassword: current, newPassword }),
    to: saying('/settings', 'password-changed'), again: settingsAgain('password'),
  }),

  ...pagedList<Session & { current: boolean }, 'id'>({
    access: 'member', api: '/api/sessions', title: 'Sessions', summary: 'Your sessions: made, last used, address',
    key: ['id'], limit: SESSIONS_KEPT, shape: SESSION,
    select: (hub, { req, after, limit }) =>
      ownSessions(hub, req.viewer).filter((one) => one.id > (after?.id ?? 0)).slice(0, limit),
  }).routes,
  view('GET /api/sessions/:id', { summary: 'One of your sessions' }, SESSION, (hub, req) => {
    const session = ownSessions(hub, req.viewer).find((one) => one.id === pathId(req.params));
    if (!session) throw notFound('session');
    return session;
  }),
  ...act({
    api: 'DELETE /api/sessions', summary: 'End all your other sessions',
    fields: { currentPassword }, ...CONFIRMED,
    run: (hub, given, req) => endSessions(hub, given.currentPassword, req),
  }),
  ...act({
    api: 'DELETE /api/sessions/:id', summary: 'End one of your sessions',
    fields: { currentPassword }, ...CONFIRMED,
    run: (hub, given, req) => endSessions(hub, given.currentPassword, req, pathId(req.params)),
    shapes: { 204: null }, reply: (_ended, hub, req) => [204, null, afterSession(hub, req, pathId(req.params))],
  }),
  ...act({
    form: 'POST /settings/sessions', summary: 'End other sessions', usesReserve: true,
    fields: { session: toEnd, currentPassword }, ...CONFIRMED,
    async run(hub, { session, ...given }, req) {
      await endSessions(hub, given.currentPassword, req, session === 'others' ? undefined : session);
      return session;
    },
    next: (session, hub, req) => seeOther(
      saying('/settings#sessions', session === 'others' ? 'others-ended' : 'sessions-ended'),
      afterSession(hub, req, session)),
    again: settingsAgain('sessions'),
  }),
];
