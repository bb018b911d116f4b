import type { Attributes } from '../../platform/markup/html-tokenizer.ts';

/** What the class and the id of an element say about its content. */
export type Hint = {
  isComments: boolean;
  /** Whether the names have words for comments, advertisements, navigation and the like. */
  isClutter: boolean;
  /** Whether the element holds a picture, a film, a quoted message or a caption. */
  isMedia: boolean;
  /** Whether the element holds footnotes or references. */
  isNotes: boolean;
  /** Whether the element names author or date, which the post has already. */
  isByline: boolean;
};

// Words in class names and ids that mark clutter; `-ad-` matches only the whole word `ad`.
const CLUTTER = anyOf(
  'advert sponsor promo banner outbrain taboola dfp cookie consent gdpr newsletter subscri signup sign-up login',
  'popup modal overlay lightbox sidebar side-bar footer masthead breadcrumb navbar navigation menu pagination pager',
  'related recommend recirc most-read most-popular most-viewed trending popular more-stories more-news more-from',
  '-share sharing social follow-us toolbar skip-link skip-to author-bio author-box about-author feedback',
  '(?<!elementor-)widget(?!-blog) read-next up-next read-more see-also also-read',
  'postmetadata print-only screen-reader sr-only visually-hidden',
  '-ad- -ads- -nav- -aside- -tags- -tools- -rss- -poll- -rail- -utility- -meta-',
);
const COMMENTS = anyOf(
  '(?<!-has-|-no-|-with-)comment(?!s?-(?:open|closed|enabled|disabled|status|count)-) disqus livefyre respond replies',
  'kommentar komentar comentari commenti reactions reaktion reacties yorum',
);
const MEDIA = anyOf('embed tweet instagram youtube video image photo picture figure caption media gallery');
const NOTES = anyOf('footnote endnote reference reflist citation');
const BYLINE = anyOf(
  'byline dateline timestamp pubdate post-date entry-date entry-meta post-meta article-meta author-name -author-',
  'published posted-on updated-on modified -date- -time- -credit- writtenby written-by reporter',
);

const MAX_NAMES = 200;

/** Makes a function that reads from an element's class and id what the element holds, such as comments. */
export function createHints(): (attributes: Attributes) => Hint {
  const known = new Map<string, Hint>();
  return (attributes) => {
    const [classes, id] = [attributes.get('class') ?? '', attributes.get('id') ?? ''];
    const names = classes === '' && id === '' ? '' : `${classes.slice(0, MAX_NAMES)} ${id.slice(0, MAX_NAMES)}`;
    const hint = known.get(names) ?? readHint(wordsOfNames(names));
    known.set(names, hint);
    return hint;
  };
}

function readHint(words: string): Hint {
  const [isComments, isMedia, isNotes] = [COMMENTS.test(words), MEDIA.test(words), NOTES.test(words)];
  const isClutter = isComments || (CLUTTER.test(words) && !isMedia && !isNotes);
  return { isComments, isClutter, isMedia, isNotes, isByline: BYLINE.test(words) };
}

/** Splits class names into words: `entryContent main_col` becomes `-entry-content-main-col-`. */
function wordsOfNames(names: string): string {
  return `-${names.replace(/([a-z])([A-Z])/g, '$1-$2').toLowerCase().replace(/[^a-z0-9]+/g, '-')}-`;
}

function anyOf(...lines: string[]): RegExp {
  return new RegExp(lines.join(' ').replaceAll(' ', '|'));
}
