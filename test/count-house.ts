// `node test/count-house.ts`: the figures of the house in src, as the closing notes of its changes quote them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from './support/run-program.ts';
import { ARROWS, circles, folderArrows, SOURCES, type SourceFile } from './support/source-tree.ts';

/**
 * The way of a piece of data through files of src, in the order in which a reader follows it: each file that makes
 * something of it, or of what contains it, with the function by which another of these files (or app/routes) calls it.
 */
const WAYS: Record<string, string[]> = {
  "a feed's title, from the socket to the page": [
    'platform/net/outbound-exchange.ts exchange', 'platform/net/outbound-fetch.ts createOutboundFetch',
    'features/feeds/fetch-feed.ts fetchFeed', 'features/feeds/parse-feed.ts parseFeed',
    'platform/markup/decode-text.ts decodeText', 'platform/markup/xml-tree.ts parseXmlTree',
    'platform/markup/xml-tokenizer.ts scanXml', 'features/feeds/parse-rss.ts parseRss',
    'features/feeds/feed-values.ts titleText', 'features/feeds/sync-source.ts syncSource',
    'features/posts/ingest-posts.ts preparePosts', 'features/posts/post-store.ts posts',
    'features/posts/query-posts.ts queryPosts', 'features/posts/public-pages.ts showPublic',
    'platform/http/html.ts html', 'app/frame/page-frame.ts renderPage',
    'platform/http/send-reply.ts sendReply',
  ],
  "an upload's bytes, from the socket to the disk": [
    'platform/http/server.ts createHubServer', 'features/writing/write-routes.ts createPost',
    'features/attachments/receive-upload.ts receiveUpload', 'platform/http/read-multipart.ts readMultipart',
    'platform/http/multipart-parser.ts createMultipartParser', 'features/attachments/recognise-file.ts startRecognition',
    'features/attachments/upload-files.ts uploadFiles', 'platform/files/durable-file.ts createFile',
    'features/writing/write-post.ts writePost',
  ],
};

/** Steps of a way that are not so: there is no such file or function, or no file of src calls it. */
function brokenSteps(way: string[]): string[] {
  return way.filter((step) => {
    const [path = '', name = ''] = step.split(' ');
    const isThere = SOURCES.some(({ name: file, code }) =>
      file === `src/${path}` && new RegExp(`^export (?:async )?(?:function|const) ${name}\\b`, 'm').test(code));
    const callers = ARROWS.filter(({ target }) => target === `src/${path}`).map(({ file }) => file);
    const isCalled = SOURCES.some(({ name: file, code }) => callers.includes(file) && code.includes(name));
    return !isThere || !isCalled;
  });
}

/** What a change to each of these names touches, by the files of src that name it. */
const ACTS: Record<string, RegExp> = {
  'a column of a post (author)': /\bauthor\b(?!\s*[,.'"\]]?\s*rel)/,
  "an administrators' list (errors)": /\berrorList\b/,
  'a job kind (scan-upload)': /\bscanUpload\b/,
  'a setting (SYNC_MAX_ATTEMPTS)': /\bsyncMaxAttempts\b|SYNC_MAX_ATTEMPTS/,
  'a metric (sync_runs_total)': /sync_runs_total/,
};

const LAYERS = ['bin', 'commands', 'app', 'features', 'platform'];

function linesOf({ text }: SourceFile): number {
  return text.split('\n').length - 1;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Lengths in lines of the declared functions, from `function` to the brace in the same column. */
function functionLengths({ text }: SourceFile): number[] {
  const lines = text.split('\n');
  return lines.flatMap((line, from) => {
    const indent = /^(\s*)(?:export )?(?:async )?function\b/.exec(line)?.[1];
    if (indent === undefined) return [];
    const to = lines.findIndex((other, index) => index >= from && other.startsWith(`${indent}}`));
    return to < 0 ? [] : [to - from + 1];
  });
}

function percentile(sorted: number[], share: number): number {
  return sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
}

/** Files that name an identifier of `src`: how many a change to that act touches at least. */
function filesNaming(pattern: RegExp): string[] {
  return SOURCES.filter(({ code }) => pattern.test(code)).map(({ name }) => name);
}

const lengths = SOURCES.flatMap(functionLengths).sort((a, b) => a - b);
const up = ARROWS.filter(({ file, target }) =>
  LAYERS.indexOf(target.split('/')[1] ?? '') < LAYERS.indexOf(file.split('/')[1] ?? ''));
const tests = readdirSync(join(PROJECT_ROOT, 'test'), { recursive: true }).map(String)
  .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'));
const testLines = sum(tests.map((name) => readFileSync(join(PROJECT_ROOT, 'test', name), 'utf8').split('\n').length - 1));

const figures: [string, string | number][] = [
  ['files', SOURCES.length],
  ['lines', sum(SOURCES.map(linesOf))],
  ['lines of imports', sum(SOURCES.map(({ text }) => text.match(/^(?:import\b[^;]*;)/gm)?.join('\n').split('\n').length ?? 0))],
  ['lines a file, median', percentile(SOURCES.map(linesOf).sort((a, b) => a - b), 0.5)],
  ['files under 25 lines', SOURCES.filter((file) => linesOf(file) < 25).length],
  ['files over 300 lines', SOURCES.filter((file) => linesOf(file) > 300).length],
  ['functions, median / p90 / longest (lines)', [0.5, 0.9, 1].map((share) => percentile(lengths, share)).join(' / ')],
  ['import circles among files', circles(ARROWS).length],
  ['import circles among folders', circles(folderArrows()).length],
  ['arrows up', up.length],
  ['types of dependencies (Deps, Needs)', sum(SOURCES.map(({ code }) => code.match(/\btype \w*(?:Deps|Needs)\b/g)?.length ?? 0))],
  ['aliases of what a factory returns', sum(SOURCES.map(({ code }) => code.match(/ReturnType<typeof/g)?.length ?? 0))],
  ["'code' in error", filesNaming(/'code' in error/).length],
  ['test files', tests.filter((name) => name.endsWith('.test.ts')).length],
  ['lines of tests', testLines],
  ['lines of test for each line of src', (testLines / sum(SOURCES.map(linesOf))).toFixed(2)],
];

for (const [name, figure] of figures) process.stdout.write(`${name}: ${figure}\n`);
for (const [name, way] of Object.entries(WAYS)) {
  const broken = brokenSteps(way);
  const note = broken.length > 0 ? `; not so: ${broken.join(', ')}` : '';
  process.stdout.write(`files on the way of ${name}: ${way.length}${note}\n`);
}
for (const [name, pattern] of Object.entries(ACTS)) {
  const naming = filesNaming(pattern);
  process.stdout.write(`files that name ${name}: ${naming.length} (${naming.map((file) => file.slice(4)).join(', ')})\n`);
}
