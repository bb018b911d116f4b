const ZERO_WIDTH_SPACE = '\u200b';

const LINK = /(https?:\/\/[^\s<>"'`|\\()[\]*]+)/;
const BROADCAST = /@(?=(?:all|channel|everyone|here|group)\b)/gi;

/** Slack's control characters (& < >) as entities, and no @ that another receiver of its format takes for a mention. */
export function escapeSlack(text: string): string {
  return outsideLinks(text, breakMentions)
    .replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/**
 * Markdown as Mattermost and Rocket.Chat read it, without formatting and mentions; links stay links. Angle brackets
 * are replaced, since both read Slack's `<!channel>` and `<url|label>` too and know no escape for them.
 */
export function escapeMarkdown(text: string): string {
  const escape = (part: string) => breakMentions(escapeMarks(part)).replaceAll('<', '‹').replaceAll('>', '›');
  return outsideLinks(text, escape);
}

/** As `escapeMarkdown`; mentions are turned off in Discord's request itself. */
export function escapeDiscord(text: string): string {
  return outsideLinks(text, (part) => escapeMarks(part).replace(/[<>]/g, '\\$&'));
}

/** Google Chat has no escape: what follows `<`, as in `<users/all>` or `<url|label>`, is moved away from it. */
export function escapeGoogleChat(text: string): string {
  return text.replaceAll('<', `<${ZERO_WIDTH_SPACE}`);
}

/** The Markdown of Adaptive Cards: no links with a label of their own, and every line a line. */
export function escapeCard(text: string): string {
  return text.replaceAll('](', `]${ZERO_WIDTH_SPACE}(`).replace(/\n+/g, '\n\n');
}

function escapeMarks(text: string): string {
  return text
    .replace(/[\\`*_~|[\]#]/g, '\\$&')
    .replace(/^([ \t]*)([-+]|\d+[.)])(?=\s)/gm, (_, space: string, mark: string) => {
      return `${space}${mark.slice(0, -1)}\\${mark.slice(-1)}`;
    });
}

function breakMentions(text: string): string {
  return text.replaceAll('@', `@${ZERO_WIDTH_SPACE}`);
}

/** Changes what stands between links. Within one, an @ that would call everybody is broken all the same. */
function outsideLinks(text: string, change: (part: string) => string): string {
  return text.split(LINK).map((part, index) => {
    return index % 2 === 0 ? change(part) : part.replace(BROADCAST, `@${ZERO_WIDTH_SPACE}`);
  }).join('');
}
