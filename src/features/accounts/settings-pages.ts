import type { Db } from '../../platform/db/open-database.ts';
import { readForm } from '../../platform/http/body.ts';
import { pathId } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { page, seeOther, type Reply } from '../../platform/http/reply.ts';
import { route, type MemberRequest, type Route } from '../../platform/http/router.ts';
import { actorOf, type RecordAct } from '../audit/audit.ts';
import type { AccountStore } from './account-store.ts';
import type { ApiTokens } from './api-tokens.ts';
import type { ChangeAccount } from './change-account.ts';
import type { CredentialStore } from './credential-store.ts';
import type { Leaving } from './leave-hub.ts';
import { goodbyePage, leavePage } from './leave-views.ts';
import { endedSession } from './session-cookie.ts';
import { settingsPage, type SentForm } from './settings-views.ts';

type Deps = {
  db: Db;
  accounts: AccountStore;
  credentials: CredentialStore;
  tokens: ApiTokens;
  changeAccount: ChangeAccount;
  leaving: Leaving;
  recordAct: RecordAct;
  secure: boolean;
  backupDays: number | null;
};

/** The pages of one's own account. */
export function settingsPages(deps: Deps): Route[] {
  const { db, accounts, credentials, tokens, changeAccount, leaving, recordAct, secure, backupDays } = deps;

  const endOthers = db.transaction('end other sessions', (req: MemberRequest): void => {
    const { id, via, credentialId } = req.viewer;
    const sessions = credentials.endOtherSessions(id, via === 'session' ? credentialId : 0);
    recordAct('session.others-ended', actorOf(req), undefined, { sessions });
  });

  return [
    route('GET /settings', 'member', 'Page: account settings', (req) => settings(req)),
    route('POST /settings/name', 'member', 'Form: change the display name', (req) =>
      change(req, 'name', ({ displayName }) => ({ displayName: displayName ?? '' }))),
    route('POST /settings/password', 'member', 'Form: change the password', (req) =>
      change(req, 'password', ({ currentPassword, newPassword = '' }) => ({ currentPassword, newPassword }))),
    route('POST /settings/sessions', 'member', 'Form: end all other sessions', endSessions),
    route('POST /settings/tokens', 'member', 'Form: make an API token', makeToken),
    route('POST /settings/tokens/:id/revoke', 'member', 'Form: revoke an API token', revokeToken),
    route('GET /settings/delete', 'member', 'Page: really delete this account?', (req) => askLeave(req)),
    route('POST /settings/delete', 'member', 'Form: delete the account', leave),
    route('GET /goodbye', 'public', 'Page: the account is deleted', () => page(goodbyePage())),
  ];

  function settings(req: MemberRequest, sent?: SentForm, status = 200): Reply {
    const { id } = req.viewer;
    const account = accounts.find(id);
    if (!account) throw new HttpError(401, 'This account is gone.');
    return page(settingsPage({ account, tokens: tokens.list(id), sessions: credentials.sessionsOf(id), sent }), status);
  }

  async function change(
    req: MemberRequest, form: SentForm['form'], wanted: (values: Record<string, string>) => Record<string, unknown>,
  ): Promise<Reply> {
    const values = await readForm(req);
    return again(req, form, async () => {
      await changeAccount(req.viewer, wanted(values), actorOf(req));
      return seeOther('/settings');
    });
  }

  /** What is wrong with a form is told above it. */
  async function again(req: MemberRequest, form: SentForm['form'], act: () => Promise<Reply>): Promise<Reply> {
    try {
      return await act();
    } catch (problem) {
      if (!(problem instanceof HttpError) || problem.status === 401) throw problem;
      const { status, body } = settings(req, { form, problem }, problem.status);
      return { status, headers: problem.headers, body };
    }
  }

  function endSessions(req: MemberRequest): Reply {
    endOthers(req);
    return seeOther('/settings');
  }

  async function makeToken(req: MemberRequest): Promise<Reply> {
    const values = await readForm(req);
    return again(req, 'token', async () =>
      settings(req, { form: 'token', newToken: tokens.create(values, req).token }));
  }

  function revokeToken(req: MemberRequest): Reply {
    tokens.revoke(pathId(req.params), req);
    return seeOther('/settings#tokens');
  }

  function askLeave(req: MemberRequest, problem?: HttpError): Reply {
    const sources = leaving.ownedSources(req.viewer.id);
    const form = { sources, obstacle: leaving.obstacle(req.viewer), backupDays, ...(problem ? { problem } : {}) };
    return page(leavePage(form), problem?.status ?? 200, problem?.headers ?? {});
  }

  async function leave(req: MemberRequest): Promise<Reply> {
    const values = await readForm(req);
    try {
      await leaving.leave(req.viewer, values, req.address);
      return seeOther('/goodbye', { 'set-cookie': endedSession(secure) });
    } catch (problem) {
      if (!(problem instanceof HttpError)) throw problem;
      return askLeave(req, problem);
    }
  }
}
