import { isPauseDue } from '../../platform/markup/in-steps.ts';
import { nextRound } from '../../platform/turns.ts';
import { enqueue, jobs, throttled, type Hub, type JobKind } from '../hub/hub.ts';
import { sources } from '../sources/source-store.ts';
import { inTurn, searchableText } from './ingest-posts.ts';
import { fittingContents } from './query-posts.ts';
import { postReaders, type PostToMove } from './post-readers-store.ts';
import { FROM_THE_TOP, posts, type SearchTerms } from './post-store.ts';

/** Maximum number of posts in which one transaction updates visibility and owner; most sources have fewer posts. */
const STEP = 50;

type Batch = { post: PostToMove; terms: SearchTerms | null }[];

type Changing = { name: string; sourceId: number; accountId: number };

/**
 * In a transaction, runs `change`, which changes a source's visibility or owner. Hidden posts are hidden at once, but
 * searches and the list of public posts miss some until a job has copied visibility and owner into all posts.
 */
export async function changingReaders<Result>(
  hub: Hub, { name, sourceId, accountId }: Changing, change: () => Result,
): Promise<Result> {
  const wanted = postReaders(hub).toMove(sourceId, FROM_THE_TOP, STEP);
  const length = wanted.reduce((sum, { contentBytes }) => sum + contentBytes, 0);
  const first = await inTurn(hub, { length, accountOf: () => accountId }, () => prepareStep(hub, wanted));
  return hub.db.write(name, () => {
    const result = change();
    storeStep(hub, first);
    if (postReaders(hub).outdated(sourceId, FROM_THE_TOP, 1).length > 0) enqueue(hub, updateReaders, { sourceId });
    return result;
  });
}

/** Job: copies a source's visibility and owner into its posts; a retried job skips posts that are up to date. */
export const updateReaders: JobKind<{ sourceId: number }> = {
  name: 'update-readers',
  key: ({ sourceId }) => String(sourceId),
  attempts: 1_000, // updating a very large source takes longer than one lease of the job
  concurrency: 1,
  afterRestore: 'run',
  stores: false,

  async run(hub, { sourceId }, signal, job) {
    let done = 0;
    for (let after = FROM_THE_TOP; ; ) {
      const asOf = sources(hub).find(sourceId);
      const step = await prepareStep(hub, postReaders(hub).outdated(sourceId, after, STEP));
      if (step.length === 0 && after === FROM_THE_TOP) return () => requireUnchanged(hub, sourceId, asOf?.updatedAt);
      await throttled(hub)('update the readers of posts, one step', (limit) => {
        storeStep(hub, step);
        jobs(hub).noteProgress(job.id, done += step.length, null);
        return Math.min(step.length, limit - 1); // below `limit`: all is done; above 0: `throttled` lets others write
      }, () => signal.aborted);
      signal.throwIfAborted();
      after = step.at(-1)?.post ?? FROM_THE_TOP;
    }
  },
};

/** Throws an error, so that the job runs again, if the source was changed after the job's last query for its posts. */
function requireUnchanged(hub: Hub, sourceId: number, updatedAt: number | undefined): void {
  if (sources(hub).find(sourceId)?.updatedAt !== updatedAt) throw new Error('the source changed during the update');
}

async function prepareStep(hub: Hub, wanted: PostToMove[]): Promise<Batch> {
  const step: Batch = [];
  const pace = { unpaused: 0 };
  for (const post of wanted.slice(0, fittingContents(hub, wanted))) {
    const isFoundAsBefore = post.wasPublic === 1 && post.isPublic === 1 && post.ownerId !== post.wasOwnerId;
    step.push({ post, terms: isFoundAsBefore ? null : await searchableText(post, posts(hub).contentOf(post.id)) });
    if (isPauseDue(pace, isFoundAsBefore ? 0 : post.contentBytes)) await nextRound();
  }
  return step;
}

function storeStep(hub: Hub, step: Batch): void {
  for (const { post, terms } of step) postReaders(hub).move(post, terms);
}
