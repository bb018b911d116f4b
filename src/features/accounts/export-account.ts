import { Readable } from 'node:stream';
import type { Clock } from '../../platform/clock.ts';
import type { RecordAct, Actor } from '../audit/audit.ts';
import { accountJson } from './account-json.ts';
import type { AccountStore } from './account-store.ts';
import type { CredentialStore } from './credential-store.ts';
import { invitationJson } from './invitation-routes.ts';
import type { InvitationStore } from './invitation-store.ts';

/** Rows of one kind, read by and by as they are asked for. */
export type ExportPart = (accountId: number) => Iterable<object>;

type Deps = {
  accounts: AccountStore;
  credentials: CredentialStore;
  invitations: InvitationStore;
  /** What other features keep of an account, by the name it has in the export; given by app. */
  exportParts: Record<string, ExportPart>;
  recordAct: RecordAct;
  clock: Clock;
};

export type ExportAccount = ReturnType<typeof createExportAccount>;

/** All personal data of an account as one JSON document, streamed: its size does not matter. Undefined once it left. */
export function createExportAccount(deps: Deps) {
  const { accounts, credentials, invitations, exportParts, recordAct, clock } = deps;
  const own: Record<string, ExportPart> = {
    sessions: (id) => credentials.sessionsOf(id).map(({ createdAt, expiresAt }) =>
      ({ createdAt: new Date(createdAt).toISOString(), expiresAt: new Date(expiresAt).toISOString() })),
    tokens: (id) => credentials.tokensOf(id).map(({ name, createdAt }) =>
      ({ name, createdAt: new Date(createdAt).toISOString() })),
    invitations: (id) => invitations.listOf(id).map(invitationJson),
  };

  return (accountId: number, actor: Actor): Readable | undefined => {
    const account = accounts.find(accountId);
    if (!account) return undefined;
    recordAct('account.exported', actor);
    const head = { exportedAt: new Date(clock()).toISOString(), account: accountJson(account) };
    return Readable.from(written(head, { ...own, ...exportParts }, accountId));
  };
}

function* written(head: object, parts: Record<string, ExportPart>, accountId: number): Generator<string> {
  yield JSON.stringify(head).slice(0, -1);
  for (const [name, part] of Object.entries(parts)) {
    yield `,\n${JSON.stringify(name)}:[`;
    let separator = '\n';
    for (const row of part(accountId)) {
      yield separator + JSON.stringify(row);
      separator = ',\n';
    }
    yield ']';
  }
  yield '}\n';
}
