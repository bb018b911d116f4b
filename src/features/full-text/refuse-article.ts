import type { HtmlTree } from '../../platform/markup/html-tree.ts';
import type { Choice } from './find-article.ts';
import type { Page } from './measure-page.ts';
import { shareOf, wordsOf } from './shared-words.ts';

/** Why a page's text is not shown in place of a post's teaser. */
export type ExtractionRefusal = 'wall' | 'paywall' | 'front-page' | 'forum' | 'empty' | 'different' | 'too-large';

/** The post for which a page is read. `url`: the address of the page after redirects. */
export type PostOfPage = { url: string; title: string; teaser: string };

type Block = { text: string; size: number; linked: number };

/** Articles with fewer characters are no gain over a teaser. */
const MIN_ARTICLE = 140;
/** Longer articles are shown even if the page asks for a subscription. */
const CUT_ARTICLE = 1_500;

const LOCKED = /"isAccessibleForFree"\s*:\s*"?false/i;
const UNLOCKED = /"isAccessibleForFree"\s*:\s*"?true/i;
const SUBSCRIPTION = phrases(
  'subscribe (?:now )?to (?:read|continue)|(?:to )?(?:continue|keep) reading|already a (?:subscriber|member)',
  '(?:subscribers|members)[- ]only|exclusive to subscribers|this (?:article|content) is (?:only )?for subscribers',
  'jetzt weiterlesen|weiterlesen mit|nur für abonnenten|bereits abonnent|réservée? aux abonnés|déjà abonné',
  'para suscriptores|ya eres suscriptor|per gli abbonati|sei già abbonato|alleen voor abonnees|tylko dla prenumeratorów',
  'exclusivo para assinantes|já é assinante|только для подписчиков|有料会員|会員限定|订阅后|付费阅读',
);
const CONSENT = phrases(
  'cookie|consent|gdpr|tracking technolog|(?:our|and) \\d* ?partners|legitimate interest|privacy (?:policy|settings|choices)',
  'einwilligung|zustimm|datenschutz|werbung und tracking|confidentialité|traceurs|consentement|privacidad|consentimiento',
  'informativa|consenso|privacybeleid|toestemming|samtycke|персональных данных|プライバシー|クッキー|隐私',
);
const ROBOT_CHECK = phrases(
  'just a moment|attention required|are you (?:a robot|human)|verif(?:y|ying) (?:that )?you are (?:a )?human|access denied',
  'enable javascript and cookies|unusual traffic|complete the captcha|checking your browser',
);
const FORUM_SOFTWARE = /phpbb|vbulletin|xenforo|discourse|mybb|simple machines|invision|ip\.board|vanilla|nodebb|flarum|woltlab/i;
const FORUM_TYPE = /\b(?:DiscussionForumPosting|QAPage)\b/;

/** Why the chosen part of the page is no article of the post; undefined if the part is. */
export function refusalOf(page: Page, choice: Choice, post: PostOfPage): ExtractionRefusal | undefined {
  const { tree } = page;
  const blocks = blocksOf(page, choice);
  const size = blocks.reduce((sum, block) => sum + block.size, 0);
  const text = blocks.map((block) => block.text).join('\n');
  const about = `${post.title || tree.title} ${post.teaser}`;
  if (isLocked(tree) || (size < CUT_ARTICLE && SUBSCRIPTION.test(text))) return 'paywall';
  if (ROBOT_CHECK.test(tree.title) && size < CUT_ARTICLE) return 'wall';
  if (!CONSENT.test(about) && isMostly(CONSENT, blocks, size)) return 'wall';
  if (size < MIN_ARTICLE) return 'empty';
  if (isForum(tree)) return 'forum';
  if (isFrontPage(page, { blocks, size }, choice, post)) return 'front-page';
  return isDifferent(tree, text, post) ? 'different' : undefined;
}

/** The blocks of the chosen part with the text of each. */
function blocksOf({ tree, blocks, sizes, linked }: Page, { roots, dropped }: Choice): Block[] {
  const found = new Map<number, Block>();
  for (const root of roots) {
    for (let node = root; node < (tree.ends[root] ?? 0); node += 1) {
      if (dropped[node] === 1) node = (tree.ends[node] ?? 0) - 1;
      else if ((sizes[node] ?? 0) > 0) addText(node);
    }
  }
  return [...found.values()];

  function addText(node: number): void {
    const key = blocks[node] ?? 0;
    const block = found.get(key) ?? { text: '', size: 0, linked: 0 };
    found.set(key, block);
    block.text += tree.texts[node] ?? '';
    block.size += sizes[node] ?? 0;
    block.linked += (sizes[node] ?? 0) * (linked[node] ?? 0);
  }
}

/** Whether the page says in its data that the article is not free. */
function isLocked(tree: HtmlTree): boolean {
  if (tree.linkedData.some((data) => UNLOCKED.test(data))) return false;
  if (tree.linkedData.some((data) => LOCKED.test(data))) return true;
  return tree.attributes.some((attributes) => attributes.get('itemprop') === 'isAccessibleForFree'
    && /^false$/i.test(attributes.get('content') ?? ''));
}

function isMostly(words: RegExp, blocks: Block[], size: number): boolean {
  const about = blocks.filter((block) => words.test(block.text)).reduce((sum, block) => sum + block.size, 0);
  return size > 0 && about > size / 2;
}

function isForum(tree: HtmlTree): boolean {
  if (tree.linkedData.some((data) => FORUM_TYPE.test(data))) return true;
  return tree.attributes.some((attributes, node) => FORUM_TYPE.test(attributes.get('itemtype') ?? '')
    || (tree.names[node] === 'meta' && attributes.get('name') === 'generator'
      && FORUM_SOFTWARE.test(attributes.get('content') ?? '')));
}

/** Whether the chosen part is a list of links, or of articles whose headings are links. */
function isFrontPage(
  page: Page, { blocks, size }: { blocks: Block[]; size: number }, { roots, dropped }: Choice, post: PostOfPage,
): boolean {
  const { tree } = page;
  const title = wordsOf(post.title);
  let [headings, linkedHeadings] = [0, 0];
  for (const root of roots) {
    for (let node = root; node < (tree.ends[root] ?? 0); node += 1) {
      if (dropped[node] === 1) node = (tree.ends[node] ?? 0) - 1;
      else if (/^h[1-4]$/.test(tree.names[node] ?? '')) countHeading(node);
    }
  }
  const linked = blocks.reduce((sum, block) => sum + block.linked, 0);
  if (title.size === 0) return linked > size / 2;
  const isList = linked > size / 2 || (linkedHeadings >= 4 && linkedHeadings > headings / 2);
  return isList && shareOf(title, wordsOf(tree.title)) < 0.5;

  function countHeading(node: number): void {
    let [all, linked] = [0, 0];
    for (let at = node; at < (tree.ends[node] ?? 0); at += 1) {
      all += page.sizes[at] ?? 0;
      linked += (page.sizes[at] ?? 0) * (page.linked[at] ?? 0);
    }
    headings += 1;
    if (linked > all / 2) linkedHeadings += 1;
  }
}

/** Whether title and teaser of the post have nothing in common with the page. */
function isDifferent(tree: HtmlTree, text: string, { title, teaser }: PostOfPage): boolean {
  const own = wordsOf(text, 4);
  const [ofTitle, ofTeaser] = [wordsOf(title, 4), wordsOf(teaser, 4)];
  const all = new Set([...ofTitle, ...ofTeaser]);
  if (all.size < 3) return false;
  if (ofTeaser.size >= 8 && shareOf(ofTeaser, own) === 0) return true;
  return shareOf(all, new Set([...own, ...wordsOf(tree.title, 4)])) < 0.15;
}

function phrases(...lines: string[]): RegExp {
  return new RegExp(lines.join('|'), 'i');
}
