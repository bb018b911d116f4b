import { readForm, readJson } from '../../platform/http/body.ts';
import { pathId } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { json, page, seeOther, type Reply } from '../../platform/http/reply.ts';
import { route, type MemberRequest, type Route } from '../../platform/http/router.ts';
import { actorOf } from '../audit/audit.ts';
import type { ChangingSources } from './change-source.ts';
import { sourceJson, type FollowedAmong } from './source-json.ts';
import { mayManage, maySee } from './source-access.ts';
import type { TransferSource } from './transfer-source.ts';
import { transferPage } from './transfer-views.ts';

type Deps = {
  changing: ChangingSources;
  transfer: TransferSource;
  followedAmong: FollowedAmong;
};

/** Giving a source to somebody else: the API and the form. */
export function transferRoutes({ changing, transfer, followedAmong }: Deps): Route[] {
  return [
    route('POST /api/sources/:id/transfer', 'member', 'Give a source to another account: {username}', transferSource),
    route('GET /sources/:id/transfer', 'member', 'Page: give this source to somebody', showTransfer),
    route('POST /sources/:id/transfer', 'member', 'Form: give this source to somebody', transferByForm),
  ];

  async function transferSource(req: MemberRequest): Promise<Reply> {
    const source = transfer(pathId(req.params), await readJson(req), req.viewer, actorOf(req));
    const isFollowed = followedAmong(req.viewer, [source.id]).has(source.id);
    return json(sourceJson(source, { isOwner: mayManage(source, req.viewer), isFollowed }));
  }

  function showTransfer(req: MemberRequest): Reply {
    return page(transferPage(changing.manageable(pathId(req.params), req.viewer), {}));
  }

  async function transferByForm(req: MemberRequest): Promise<Reply> {
    const values = await readForm(req);
    const id = pathId(req.params);
    try {
      const source = transfer(id, values, req.viewer, actorOf(req));
      return seeOther(maySee(source, req.viewer) ? `/sources/${id}` : '/sources');
    } catch (problem) {
      if (!(problem instanceof HttpError) || ![409, 422].includes(problem.status)) throw problem;
      return page(transferPage(changing.manageable(id, req.viewer), { values, problem }), problem.status);
    }
  }
}
