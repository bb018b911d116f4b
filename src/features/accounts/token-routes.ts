import type { Db } from '../../platform/db/open-database.ts';
import { readJson } from '../../platform/http/body.ts';
import { createInput, pathId } from '../../platform/http/input.ts';
import { notFound } from '../../platform/http/problem.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import { route, type MemberRequest, type Route } from '../../platform/http/router.ts';
import { actorOf, type Actor, type RecordAct } from '../../platform/record-act.ts';
import type { ApiToken, CredentialStore } from './credential-store.ts';

export type TokenRouteDeps = { db: Db; credentials: CredentialStore; recordAct: RecordAct };

/** The API of API tokens: everybody's own. */
export function tokenRoutes({ db, credentials, recordAct }: TokenRouteDeps): Route[] {
  const make = db.transaction('create api token', (accountId: number, name: string, actor: Actor) => {
    const made = credentials.createToken(accountId, name);
    recordAct('token.created', actor, { kind: 'token', id: made.id, name });
    return made;
  });

  const remove = db.transaction('revoke api token', (id: number, accountId: number, actor: Actor): void => {
    if (!credentials.revokeToken(id, accountId)) throw notFound('token');
    recordAct('token.revoked', actor, { kind: 'token', id, name: '' });
  });

  return [
    route('GET /api/tokens', 'member', 'Your API tokens, without their values', list),
    route('POST /api/tokens', 'member', 'Make an API token; its value is shown this once', create),
    route('DELETE /api/tokens/:id', 'member', 'Revoke an API token', revoke),
  ];

  function list(req: MemberRequest): Reply {
    return json({ items: credentials.tokensOf(req.viewer.id).map(tokenJson), next: null });
  }

  async function create(req: MemberRequest): Promise<Reply> {
    const input = createInput(await readJson(req));
    const name = input.text('name', { max: 80 });
    input.done();
    const made = make(req.viewer.id, name, actorOf(req));
    return json({ ...tokenJson(made), token: made.token }, 201);
  }

  function revoke(req: MemberRequest): Reply {
    remove(pathId(req.params), req.viewer.id, actorOf(req));
    return noContent();
  }
}

function tokenJson({ id, name, createdAt }: ApiToken) {
  return { id, name, createdAt: new Date(createdAt).toISOString() };
}
