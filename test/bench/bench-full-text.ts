import { extractArticle } from '../../src/features/full-text/extract-article.ts';
import { atOnce } from '../../src/platform/markup/in-steps.ts';
import { meanScore, readAnnotatedPages, scoreArticle, type AnnotatedPage } from './article-scores.ts';
import { alternate, moreRow, processorMsSince, type BenchRow } from './bench-row.ts';

type Extractor = (page: AnnotatedPage) => string;
type Timing = { name: string; ours: number; peer: number };

const [WARM_UP_ROUNDS, ROUNDS] = [2, 5];
const PEER = 'Readability with linkedom';

/**
 * Annotated pages extracted per second of processor time beside Readability with linkedom, from the page's text to the
 * article's markup, and F1 of the words of the articles. The rounds alternate, and medians of each page are compared.
 * An article that ours refuses, because the page says that the article is not free, counts as empty.
 */
export async function benchFullText(): Promise<BenchRow[]> {
  const pages = readAnnotatedPages();
  const readability = await loadReadability();
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) {
    for (const page of pages) [extractOurs(page), readability(page)];
  }
  const timings: Timing[] = [];
  for (const page of pages) timings.push(await timeBoth(page, readability));
  const total = (part: 'ours' | 'peer'): number => timings.reduce((sum, timing) => sum + timing[part], 0);
  const least = timings.toSorted((a, b) => a.peer / a.ours - b.peer / b.ours)[0];
  const [ours = NaN, peerFigure = NaN] = [extractOurs, readability].map((extract) =>
    100 * meanScore(pages.map((page) => scoreArticle(page.expected, extract(page)))).f1);
  return [
    speedRow('full text: extract', pages.length, total('ours'), total('peer'), '>= 3'),
    ...(least === undefined ? [] : [speedRow(`full text: least gain (${least.name})`, 1, least.ours, least.peer, '>= 1')]),
    moreRow({ name: 'full text: F1', ours, peer: PEER, peerFigure, unit: '%', want: '>= 0.99' }),
  ];
}

function extractOurs({ html, url }: AnnotatedPage): string {
  const result = atOnce(extractArticle(html, { url, title: '', teaser: '' }));
  return 'article' in result ? result.article.contentHtml : '';
}

type ReadabilityModule = { Readability: new (document: unknown) => { parse(): { content: string } | null } };
type LinkedomModule = { parseHTML(html: string): { document: unknown } };

async function loadReadability(): Promise<Extractor> {
  // Names in variables: the type checker must not look for packages that only benchmarks have.
  const [readabilityName, linkedomName]: string[] = ['@mozilla/readability', 'linkedom'];
  const { Readability }: ReadabilityModule = await import(String(readabilityName));
  const { parseHTML }: LinkedomModule = await import(String(linkedomName));
  return ({ html }) => new Readability(parseHTML(html).document).parse()?.content ?? '';
}

async function timeBoth(page: AnnotatedPage, readability: Extractor): Promise<Timing> {
  const [ours = NaN, peer = NaN] = await alternate([extractOurs, readability].map((extract) => () => {
    const before = process.cpuUsage();
    extract(page);
    return processorMsSince(before);
  }), ROUNDS, 0);
  return { name: page.name, ours, peer };
}

/** Pages and milliseconds as pages per second. */
function speedRow(name: string, pages: number, oursMs: number, peerMs: number, want: string): BenchRow {
  const [ours, peerFigure] = [oursMs, peerMs].map((ms) => pages * 1_000 / Math.max(ms, 0.01)) as [number, number];
  return moreRow({ name, ours, peer: PEER, peerFigure, unit: 'pages/s', want });
}
