import { setImmediate } from 'node:timers/promises';
import { STEP as PAUSE_AFTER } from '../../platform/markup/in-steps.ts';
import { enqueue, jobs, throttled, type Hub, type JobKind } from '../hub/hub.ts';
import { sources } from '../sources/source-store.ts';
import { inTurn, searchableText } from './ingest-posts.ts';
import { fittingContents } from './query-posts.ts';
import { FROM_THE_TOP, posts, type PostToMove, type SearchTerms } from './post-store.ts';

/** Posts that are brought up to date in one transaction: with an ordinary source all of them. */
const STEP = 50;

/** `terms` is null where search knows the same of the post before and after. */
type Step = { post: PostToMove; terms: SearchTerms | null }[];

/** What is changed, and for whom: an account reads long posts when it has its turn. */
type Changing = { name: string; sourceId: number; accountId: number };

/**
 * Runs `change`, which changes who may read a source's posts, in a transaction. It counts at once; lists and search,
 * which go by what stands in each post, may follow later: until then they lack some of the posts.
 */
export async function changingReaders<Result>(
  hub: Hub, { name, sourceId, accountId }: Changing, change: () => Result,
): Promise<Result> {
  const wanted = posts(hub).toMove(sourceId, FROM_THE_TOP, STEP);
  const length = wanted.reduce((sum, { contentBytes }) => sum + contentBytes, 0);
  const first = await inTurn(hub, { length, accountOf: () => accountId }, () => prepareStep(hub, wanted));
  return hub.db.write(name, () => {
    const result = change();
    storeStep(hub, first);
    if (posts(hub).outdated(sourceId, FROM_THE_TOP, 1).length > 0) enqueue(hub, updateReaders, { sourceId });
    return result;
  });
}

/** Brings posts up to date with who may read them. Safe to repeat: it goes on where it was. */
export const updateReaders: JobKind<{ sourceId: number }> = {
  name: 'update-readers',
  key: ({ sourceId }) => String(sourceId),
  attempts: 1_000, // a very large source takes longer than one lease
  concurrency: 1,
  afterRestore: 'run',
  stores: false,

  async run(hub, { sourceId }, signal, job) {
    let done = 0;
    for (let after = FROM_THE_TOP; ; ) {
      const asOf = sources(hub).find(sourceId);
      const step = await prepareStep(hub, posts(hub).outdated(sourceId, after, STEP));
      if (step.length === 0 && after === FROM_THE_TOP) return () => requireUnchanged(hub, sourceId, asOf?.updatedAt);
      await throttled(hub)('update readers, a step', (limit) => {
        storeStep(hub, step);
        jobs(hub).noteProgress(job.id, done += step.length, null);
        return Math.min(step.length, limit - 1); // all of it; after no rows there would be no pause for others
      }, () => signal.aborted);
      signal.throwIfAborted();
      after = step.at(-1)?.post ?? FROM_THE_TOP;
    }
  },
};

/** Fails where the source was changed after its last posts were looked for: then they are looked for once more. */
function requireUnchanged(hub: Hub, sourceId: number, updatedAt: number | undefined): void {
  if (sources(hub).find(sourceId)?.updatedAt !== updatedAt) throw new Error('the source was changed meanwhile');
}

/** Reads the texts, before the transaction, with pauses for others. */
async function prepareStep(hub: Hub, wanted: PostToMove[]): Promise<Step> {
  const step: Step = [];
  let sincePause = 0;
  for (const post of wanted.slice(0, fittingContents(hub, wanted))) {
    const isFoundAsBefore = post.wasPublic === 1 && post.isPublic === 1 && post.ownerId !== post.wasOwnerId;
    step.push({ post, terms: isFoundAsBefore ? null : await searchableText(post, posts(hub).contentOf(post.id)) });
    sincePause += isFoundAsBefore ? 0 : post.contentBytes;
    if (sincePause > PAUSE_AFTER) await setImmediate();
    if (sincePause > PAUSE_AFTER) sincePause = 0;
  }
  return step;
}

function storeStep(hub: Hub, step: Step): void {
  for (const { post, terms } of step) posts(hub).move(post, terms);
}
