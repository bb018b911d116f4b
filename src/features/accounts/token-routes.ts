import { readJson } from '../../platform/http/body.ts';
import { pathId } from '../../platform/http/input.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import { route, type MemberRequest, type Route } from '../../platform/http/router.ts';
import type { ApiTokens } from './api-tokens.ts';
import type { ApiToken } from './credential-store.ts';

export type TokenRouteDeps = { tokens: ApiTokens };

/** The API of API tokens: everybody's own. */
export function tokenRoutes({ tokens }: TokenRouteDeps): Route[] {
  return [
    route('GET /api/tokens', 'member', 'Your API tokens, without their values', list),
    route('POST /api/tokens', 'member', 'Make an API token; its value is shown this once', create),
    route('DELETE /api/tokens/:id', 'member', 'Revoke an API token', revoke),
  ];

  function list(req: MemberRequest): Reply {
    return json({ items: tokens.list(req.viewer.id).map(tokenJson), next: null });
  }

  async function create(req: MemberRequest): Promise<Reply> {
    const made = tokens.create(await readJson(req), req);
    return json({ ...tokenJson(made), token: made.token }, 201);
  }

  function revoke(req: MemberRequest): Reply {
    tokens.revoke(pathId(req.params), req);
    return noContent();
  }
}

function tokenJson({ id, name, createdAt }: ApiToken) {
  return { id, name, createdAt: new Date(createdAt).toISOString() };
}
