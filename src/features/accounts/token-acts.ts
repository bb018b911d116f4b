import { choice, from, id, named, noted, object, orNull, text, time } from '../../platform/http/fields.ts';
import { act, byId, type Endpoint } from '../hub/acts.ts';
import { pagedList } from '../hub/lists.ts';
import { saying } from '../hub/said.ts';
import { settingsAgain } from './account-acts.ts';
import { showSettings } from './account-pages.ts';
import { showApps } from './app-pages.ts';
import { checkExpiry, makeToken, revokeToken, WANTED_TOKEN } from './change-account.ts';
import { apiTokens, TOKEN_SCOPES, TOKENS_MAX, type ApiToken } from './credential-store.ts';
import { CONFIRMED } from './passwords.ts';

const TOKEN_MEMBERS = {
  id, name: text, scope: choice(TOKEN_SCOPES), createdAt: time, expiresAt: orNull(time),
  lastUsedAt: from('seenAt', orNull(time)), address: orNull(text),
};

export const TOKEN = named('Token', object(TOKEN_MEMBERS));
const MADE_TOKEN = named('NewToken', object({ ...TOKEN_MEMBERS, token: noted(text, 'Shown only once') }));

const MAKING = { fields: WANTED_TOKEN, check: checkExpiry, run: makeToken, ...CONFIRMED };
const REVOKING = { run: byId(revokeToken), usesReserve: true };

export const TOKEN_ROUTES: Endpoint[] = [
  ...pagedList<ApiToken, 'id'>({
    access: 'member', api: '/api/tokens', title: 'API tokens', summary: 'Your API tokens, without their values',
    key: ['id'], limit: TOKENS_MAX, shape: TOKEN,
    select: (hub, { req, after, limit }) => apiTokens(hub).listOf(req.viewer.id, after?.id ?? 0, limit),
  }).routes,
  ...act({
    api: 'POST /api/tokens', form: 'POST /settings/tokens',
    summary: 'Create an API token; its value is shown only once',
    ...MAKING, status: 201, shape: MADE_TOKEN, show: MADE_TOKEN.show,
    typed: ({ days, ...values }) => ({ ...values, ...days === '' ? {} : { days } }), // empty: it never expires
    next: ({ token }, hub, req) => showSettings(hub, req, { form: 'token', newToken: token }),
    again: settingsAgain('token'),
  }),
  ...act({
    form: 'POST /settings/apps', summary: 'Create an app password', ...MAKING,
    typed: (values) => ({ ...values, scope: 'reader' }),
    next: (made, hub, req) => showApps(hub, req, { made }), again: showApps,
  }),
  ...act({
    api: 'DELETE /api/tokens/:id', form: 'POST /settings/tokens/:id/revoke', summary: 'Revoke an API token',
    ...REVOKING, to: saying('/settings#tokens', 'token-revoked'),
  }),
  ...act({
    form: 'POST /settings/apps/:id/end', summary: 'End an app password', ...REVOKING,
    to: saying('/settings/apps', 'app-password-ended'),
  }),
];
