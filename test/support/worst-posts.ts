const POST = 400_000; // characters that a post may have

/** Plain texts of a post that become much longer on a page, or take long to be made into one. */
export const WORST_TEXTS: Record<string, string> = {
  ampersands: '&'.repeat(POST),
  'quotation marks': '"'.repeat(POST),
  mixed: `&<"'`.repeat(POST / 4),
  'three bytes each': '漢'.repeat(POST),
  'short lines': 'a\n\n'.repeat(POST / 3),
  addresses: 'http://a '.repeat(Math.floor(POST / 9)),
};

/** The same as HTML. */
export const WORST_MARKUP: Record<string, string> = {
  ampersands: '&'.repeat(POST),
  tables: '<table><td>漢</table>'.repeat(Math.floor(POST / 20)),
  'tables and links': '<a href=http://a>漢</a><table><td>漢</table>'.repeat(Math.floor(POST / 43)),
  paragraphs: '<p>漢'.repeat(POST / 4),
  images: '<img src=http://a/b.png>'.repeat(Math.floor(POST / 24)),
  preformatted: '<pre>漢'.repeat(Math.floor(POST / 6)),
};
