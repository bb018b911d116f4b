/** Matches the first words of a short block of a page that is no part of the article, such as links to other news. */
export const ADDITION = beginningWith(
  'advert(?:isement)?$|sponsored$|ad$|related(?::|$| (?:articles?|stories|posts?|news|links|topics|videos?))',
  'you (?:may|might) also|see (?:also:|more)|read (?:more|next|also)|more (?:on|from|stories|news|about)\\b.{0,40}$',
  'don.t miss|recommended(?:$| for you)|trending(?: now)?$|also on|most (?:read|popular)|click here|subscribe',
  'sign up|get the latest|follow (?:us|@|me)|like us|like this:|share (?:this|on)|leave a (?:reply|comment)',
  '(?:no )?comments?$|post a comment|comments are closed|tags?(?::|$)|filed under|posted in|categor(?:y|ies):',
  'copyright (?:©|\\(c\\)|\\d)|©|all rights reserved|(?:previous|next) (?:post|article)|this slideshow requires',
  'media playback is unsupported|anzeige$|lesen sie auch|mehr zum thema|auch interessant|weiterlesen$|teilen$',
  'ähnliche (?:artikel|beiträge)|kommentare?(?: schreiben| verfassen| hinterlassen)?$|schlagw(?:orte|örter):',
  'gefällt mir|(?:vorheriger|nächster) (?:artikel|beitrag)|teilen mit|laisser un commentaire|articles? similaires?',
  'das könnte sie|publicité$|(?:à )?lire aussi|sur le même sujet|voir aussi :|partager$|publicida(?:d|de)$',
  'le[ae] también|te puede interesar|compartir$|compartilhe|leia (?:também|mais)|veja também|leggi anche|condividi',
  'ti potrebbe|lees ook|czytaj (?:także|też|więcej)|zobacz (?:też|także)|читайте также|смотрите также|поделиться',
  'читать далее|関連記事|あわせて読みたい|相关阅读|延伸閱讀|관련기사',
);

/** Texts of a page in place of the rest of an article that costs money. */
export const SUBSCRIPTION = anyPhrase(
  'subscribe (?:now )?to (?:read|continue)|to (?:continue|keep) reading|already a (?:subscriber|member)',
  '(?:subscribers|members)[- ]only|exclusive to subscribers|this (?:article|content) is (?:only )?for subscribers',
  'jetzt weiterlesen|weiterlesen mit|nur für abonnenten|bereits abonnent|réservée? aux abonnés|déjà abonné',
  'para suscriptores|ya eres suscriptor|per gli abbonati|sei già abbonato|alleen voor abonnees|dla prenumeratorów',
  'exclusivo para assinantes|já é assinante|только для подписчиков|有料会員|会員限定|付费阅读',
);

export const CONSENT = anyPhrase(
  'cookie|consent|gdpr|tracking technolog|our \\d* ?partners|legitimate interest|privacy (?:policy|settings|choices)',
  'einwilligung|zustimm|datenschutz|werbung und tracking|confidentialité|traceurs|privacidad|consentimiento',
  'informativa|consenso|privacybeleid|toestemming|samtycke|персональных данных|プライバシー|クッキー|隐私',
);

/** Titles of pages that ask whether the reader is a person. */
export const ROBOT_CHECK = anyPhrase(
  'just a moment|attention required|are you (?:a robot|human)|verif(?:y|ying) (?:that )?you are (?:a )?human',
  'access denied|unusual traffic|captcha|checking your browser',
);

export const FORUM_SOFTWARE = anyPhrase(
  'phpbb|vbulletin|xenforo|discourse|mybb|simple machines|invision|ip\\.board|vanilla|nodebb|flarum|woltlab',
);

function beginningWith(...lines: string[]): RegExp {
  return new RegExp(`^(?:${lines.join('|')})`, 'i');
}

function anyPhrase(...lines: string[]): RegExp {
  return new RegExp(lines.join('|'), 'i');
}

const IDEOGRAPH = '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}]';
/** A word is one or more Han or kana characters in a row, or one or more letters and digits of other scripts. */
const WORD = new RegExp(`${IDEOGRAPH}+|(?:(?!${IDEOGRAPH})[\\p{L}\\p{N}])+`, 'gu');
/** The first character of Korean syllables: a Korean word counts at any length, because Korean words are short. */
const KOREAN = '가';
const BEGINS_IDEOGRAPHIC = new RegExp(`^${IDEOGRAPH}`, 'u');

/** The distinct words of a text that have at least `minLength` letters, in lower case; ideographs in pairs. */
export function wordsOf(text: string, minLength = 1): Set<string> {
  const normalized = text.normalize('NFKC').slice(0, 2 * text.length); // NFKC makes 18 characters of `ﷺ`
  const words = normalized.toLowerCase().match(WORD) ?? [];
  return new Set(words.flatMap((word) => {
    if (BEGINS_IDEOGRAPHIC.test(word)) return Array.from(word, (_, at) => word.slice(at, at + 2));
    return word.length >= minLength || word >= KOREAN ? [word] : [];
  }));
}

/** The share of `words` that `text` has too; 0 without words. */
export function shareOf(words: ReadonlySet<string>, text: ReadonlySet<string>): number {
  let found = 0;
  for (const word of words) if (text.has(word)) found += 1;
  return words.size === 0 ? 0 : found / words.size;
}
