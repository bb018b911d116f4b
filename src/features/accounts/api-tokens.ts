import type { Db } from '../../platform/db/open-database.ts';
import { createInput } from '../../platform/http/input.ts';
import { notFound } from '../../platform/http/problem.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { actorOf, type Actor, type RecordAct } from '../audit/audit.ts';
import type { ApiToken, CredentialStore } from './credential-store.ts';

type Deps = { db: Db; credentials: CredentialStore; recordAct: RecordAct };

export type ApiTokens = ReturnType<typeof managingTokens>;

/** Everybody's own API tokens. */
export function managingTokens({ db, credentials, recordAct }: Deps) {
  const make = db.transaction('create api token', (accountId: number, name: string, actor: Actor) => {
    const made = credentials.createToken(accountId, name);
    recordAct('token.created', actor, { kind: 'token', id: made.id, name });
    return made;
  });

  const remove = db.transaction('revoke api token', (id: number, accountId: number, actor: Actor): void => {
    const token = credentials.tokensOf(accountId).find((one) => one.id === id);
    if (!token) throw notFound('token');
    recordAct('token.revoked', actor, { kind: 'token', id, name: token.name });
    credentials.revokeToken(id, accountId);
  });

  return {
    list: (accountId: number): ApiToken[] => credentials.tokensOf(accountId),

    /** `values` holds its name, up to 80 characters; 422 without one. The value is in the answer and nowhere else. */
    create(values: Record<string, unknown>, req: MemberRequest): ApiToken & { token: string } {
      const input = createInput(values);
      const name = input.text('name', { max: 80 });
      input.done();
      return make(req.viewer.id, name, actorOf(req));
    },

    /** 404 for one that is not the caller's. */
    revoke: (id: number, req: MemberRequest): void => remove(id, req.viewer.id, actorOf(req)),
  };
}
