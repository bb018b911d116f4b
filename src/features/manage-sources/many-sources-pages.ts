import { readFields } from '../../platform/http/body.ts';
import { createInput, parseId } from '../../platform/http/input.ts';
import { HttpError, invalid } from '../../platform/http/http-error.ts';
import { page, seeOther, type Page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { timesOf } from '../../platform/http/times.ts';
import { nextTurn } from '../../platform/turns.ts';
import { iconsOfSources } from '../attachments/icon-views.ts';
import { FOLDER_MAX, follows } from '../follows/follow-store.ts';
import { sourceFullTexts } from '../full-text/source-full-text-store.ts';
import { requireRoomOf } from '../hub/disk-reserve.ts';
import type { RefusedForm } from '../hub/acts.ts';
import type { Hub } from '../hub/hub.ts';
import { saying, type SaidCode } from '../hub/said.ts';
import { followSource, unfollowSource } from '../reading/follow-source.ts';
import { manySources, mayManage } from '../sources/source-store.ts';
import { contentRoom } from '../sources/content-quota.ts';
import { sourceRuns } from '../sources/run-store.ts';
import { webhooks } from '../webhooks/webhook-store.ts';
import { pauseSource, resumeSource } from './change-source.ts';
import { deleteSource, removalsOf } from './delete-source.ts';
import { managedSources, ORDERS, SHOWN, type Managed, type Wanted } from './many-sources.ts';
import { confirmDeleteSeveral, manySourcesPage, sourcesPath, type SentChoice } from './many-sources-views.ts';
import { offers } from './offer-store.ts';
import { stripsOf } from './run-views.ts';
import { sourceList } from './source-list.ts';
import { countFollowers } from './tell-followers.ts';

const PER_PAGE = 50;

/** Page: the sources of a member; visitors see the public sources. */
export async function showSources(hub: Hub, req: HubRequest): Promise<Reply> {
  const { viewer, query } = req;
  return viewer ? page(await ownSources(hub, viewer, readWanted(query))) : sourceList.showPage(hub, req);
}

async function ownSources(hub: Hub, viewer: Viewer, wanted: Wanted, sent?: SentChoice): Promise<Page> {
  const shown = await managedSources(hub, viewer, wanted, PER_PAGE);
  const folders = follows(hub).folderNames(viewer.id);
  const hooks = new Map(shown.items.flatMap((source) => webhookOf(hub, source)));
  const icons = iconsOfSources(hub, shown.items);
  const times = timesOf(hub, viewer);
  const managed = shown.items.filter((source) => source.mayManage);
  const stripOf = stripsOf(times, sourceRuns(hub).days(managed.map(({ id }) => id)));
  return manySourcesPage({
    ...shown, wanted, folders, times, webhooks: hooks, icons, stripOf, sent,
    removals: removalsOf(hub, viewer.id), room: contentRoom(hub, viewer.id),
    fullTexts: sourceFullTexts(hub).resultsOfOwner(viewer.id),
    offered: offers(hub).countReceived(viewer.id),
  });
}

function webhookOf(hub: Hub, { id, kind, mayManage: may }: Managed) {
  const found = kind === 'webhook' && may ? webhooks(hub).find(id) : undefined;
  return found ? [[id, found] as const] : [];
}

function readWanted(query: URLSearchParams): Wanted {
  const choice = <Choice extends string>(name: string, choices: readonly Choice[], usual: Choice): Choice => {
    const value = query.get(name) ?? '';
    const found = value === '' ? usual : choices.find((one) => one === value);
    if (!found) throw new HttpError(400, `${name} must be one of ${choices.join(', ')}.`);
    return found;
  };
  const text = (name: string): string => (query.get(name) ?? '').trim().slice(0, 200);
  return {
    show: choice('show', SHOWN, 'all'), sort: choice('sort', Object.keys(ORDERS) as Wanted['sort'][], 'failing'),
    q: text('q'), folder: text('folder'),
    after: parseId(query.get('cursor') ?? '') ?? 0,
  };
}

type Act = (hub: Hub, id: number, req: MemberRequest, folder: string) => unknown;

/** `usesReserve`: whether members may do the act on a full disk, because it frees space. */
type BulkAct = { said: SaidCode; run: Act; usesReserve?: boolean };

const ACTS: Record<string, BulkAct> = {
  pause: { said: 'sources-paused', run: pauseSource },
  resume: { said: 'sources-resumed', run: resumeSource },
  delete: { said: 'sources-deleted', usesReserve: true, run: deleteSource },
  follow: { said: 'sources-followed', run: (hub, id, req) => followSource(hub, req.viewer, id) },
  unfollow: {
    said: 'sources-unfollowed', usesReserve: true, run: (hub, id, req) => unfollowSource(hub, req.viewer, id),
  },
  move: {
    said: 'sources-moved',
    run: (hub, id, req, folder) => followSource(hub, req.viewer, id, { folder: folder === '' ? null : folder }),
  },
};

/** Form: applies an act to several sources; skips those that refuse it (403, 404, 409), without counting them. */
export async function submitSeveral(hub: Hub, req: MemberRequest): Promise<Reply> {
  const fields = await readFields(req);
  const name = fields.get('act');
  const act = name !== null && Object.hasOwn(ACTS, name) ? ACTS[name] : undefined;
  if (!act?.usesReserve) requireRoomOf(hub, req.viewer);
  const back = backTo(fields.get('back') ?? '');
  const [bell] = readIds(fields, 'bell');
  if (bell !== undefined) return seeOther(saying(back, toggleBell(hub, req.viewer, bell)));
  const ids = readIds(fields, 'source').slice(0, PER_PAGE);
  if (ids.length === 0 || name === null) return seeOther(saying(back, 'nothing-chosen'));
  if (!act) throw invalid([{ pointer: '/act', detail: `Act must be one of ${Object.keys(ACTS).join(', ')}.` }]);
  if (name === 'delete' && fields.get('sure') !== '1') return page(askToDelete(hub, ids, req.viewer, back));
  const typed = fields.get('folder') ?? '';
  const folder = name === 'move' ? readFolder(typed) : '';
  if (folder instanceof HttpError) {
    const sent = { form: 'several' as const, typed, chosen: ids, problem: folder };
    return page(await ownSources(hub, req.viewer, wantedAt(back), sent), 422);
  }
  let count = 0;
  for (const id of ids) {
    req.recheck(); // the session may have ended since the last source was changed
    count += await attempt(() => act.run(hub, id, req, folder));
    await nextTurn(); // other requests may run between the changes of two sources
  }
  return seeOther(saying(back, act.said, { count }));
}

function readIds(fields: URLSearchParams, name: string): number[] {
  return fields.getAll(name).map((id) => {
    const known = parseId(id);
    if (known === undefined) throw invalid([{ pointer: `/${name}`, detail: `“${name}” must be the id of a source.` }]);
    return known;
  });
}

function readFolder(typed: string): string | HttpError {
  const input = createInput({ folder: typed });
  const name = input.optionalText('folder', { max: FOLDER_MAX });
  return input.errors.length > 0 ? invalid(input.errors) : name ?? '';
}

async function attempt(act: () => unknown): Promise<0 | 1> {
  try {
    await act();
    return 1;
  } catch (error) {
    if (error instanceof HttpError && [403, 404, 409].includes(error.status)) return 0;
    throw error;
  }
}

function toggleBell(hub: Hub, viewer: Viewer, id: number): SaidCode {
  const notify = follows(hub).find(viewer.id, id)?.notify !== 1;
  followSource(hub, viewer, id, { notify });
  return notify ? 'bell-on' : 'bell-off';
}

function askToDelete(hub: Hub, ids: number[], viewer: Viewer, back: string) {
  const chosen = manySources(hub).among(ids).filter((source) => mayManage(source, viewer))
    .map((source) => ({ source, followers: countFollowers(hub, source) }));
  if (chosen.length === 0) throw new HttpError(403, 'Only the owner of a source can delete it.');
  return confirmDeleteSeveral(chosen, back);
}

/** Returns the address of the list of sources to which a form returns; never another page (no open redirect). */
function backTo(back: string): string {
  try {
    return back.split('?', 1)[0] === '/sources' ? sourcesPath(wantedAt(back)) : '/sources';
  } catch {
    return '/sources';
  }
}

function wantedAt(address: string): Wanted {
  return readWanted(new URLSearchParams(address.split('?', 2)[1]));
}

export async function showFolderAgain(
  hub: Hub, { viewer }: MemberRequest, { values: { folder = '', name: typed = '' }, problem }: RefusedForm,
): Promise<Reply> {
  if (problem.errors[0]?.pointer === '/act') throw problem; // the page has no place for it
  const sent = { form: 'folder' as const, typed, chosen: [], problem };
  return page(await ownSources(hub, viewer, wantedAt(sourcesPath({ folder })), sent), problem.status);
}
