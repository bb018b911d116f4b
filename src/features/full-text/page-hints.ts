/** What the class, id and role of an element say about its content. */
export type Hint = {
  weight: number;
  /** Whether a word for clutter stands alone, or beside words for prose too. */
  isClutter: boolean;
  hasClutter: boolean;
  isComments: boolean;
  /** Whether the element names author or date, which a post has of its own. */
  isByline: boolean;
  /** Whether the element holds a picture, a film or a caption. */
  isMedia: boolean;
};

/** Parts of class names and ids of elements that rarely belong to an article. */
const CLUTTER = pattern(
  'advert sponsor promo banner outbrain taboola dfp cookie consent gdpr newsletter subscri signup sign-up login',
  'popup modal overlay lightbox sidebar side-bar footer masthead breadcrumb navbar navigation menu pagination pager',
  'related recommend recirc most-read most-popular most-viewed trending popular more-stories more-news more-from',
  'share sharing social follow-us widget toolbar skip-link skip-to author-bio author-box about-author feedback',
  'read-next up-next read-more see-also also-read print-only screen-reader sr-only visually-hidden',
  '.ad. .ads. .nav. .aside. .tags. .tag. .tools. .rss. .poll. .rail. .utility. .meta.',
);
const COMMENTS = pattern('comment disqus respond discussion replies livefyre');
const PROSE = pattern('article body content entry main post story text blog prose .page. .column. .copy.');
/** Words of pictures, films and quoted messages, which stay whatever other words say. */
const EMBED = pattern('embed tweet instagram youtube video image photo picture figure caption media gallery');
const BYLINE = pattern(
  'byline dateline timestamp pubdate post-date entry-date entry-meta post-meta article-meta author-name .author.',
  'published posted-on updated-on date-published modified .date. .time. .credit. writtenby written-by reporter',
);
const CLUTTER_ROLES = new Set('menu menubar complementary navigation alert alertdialog dialog search banner'.split(' '));

const WEIGHT = 25;
const MAX_LENGTH = 200;
const NO_HINT: Hint = {
  weight: 0, isClutter: false, hasClutter: false, isComments: false, isByline: false, isMedia: false,
};

/** Makes a function that reads the hints of elements and remembers the hints of repeated classes. */
export function createHints(): (attributes: ReadonlyMap<string, string>) => Hint {
  const known = new Map<string, Hint>();
  return (attributes) => {
    if (attributes.size === 0) return NO_HINT;
    const [classes, id, role] = ['class', 'id', 'role'].map((name) => attributes.get(name)?.slice(0, MAX_LENGTH) ?? '');
    const key = `${classes}\n${id}\n${role}`;
    const hint = known.get(key) ?? readHint(wordsOf(classes), wordsOf(id), role ?? '');
    known.set(key, hint);
    return hint;
  };
}

function readHint(classes: string, id: string, role: string): Hint {
  const both = classes + id;
  const isComments = COMMENTS.test(both);
  const isClutter = isComments || (CLUTTER.test(both) && !EMBED.test(both));
  return {
    weight: weightOf(classes) + weightOf(id),
    hasClutter: isClutter,
    isByline: BYLINE.test(both),
    isMedia: EMBED.test(both),
    isClutter: (isClutter && !PROSE.test(both)) || CLUTTER_ROLES.has(role),
    isComments,
  };
}

function weightOf(words: string): number {
  if (words === '') return 0;
  const isClutter = COMMENTS.test(words) || (CLUTTER.test(words) && !EMBED.test(words));
  return (PROSE.test(words) ? WEIGHT : 0) - (isClutter ? WEIGHT : 0);
}

/** The words of names, such as `-entry-content-main-col-` for `entryContent main_col`. */
function wordsOf(names: string | undefined): string {
  if (!names) return '';
  return `-${names.replace(/([a-z])([A-Z])/g, '$1-$2').toLowerCase().replace(/[^a-z0-9]+/g, '-')}-`;
}

/** An expression for any of the words; a dot stands for the beginning or end of a word. */
function pattern(...lines: string[]): RegExp {
  const words = lines.flatMap((line) => line.split(' '));
  return new RegExp(words.map((word) => word.replaceAll('.', '-')).join('|'));
}
