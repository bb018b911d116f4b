const ESCAPABLE = /[&<>"']/;
const ESCAPABLE_IN_TEXT = /[&<>]/;

/** Text made safe for element content and for quoted attributes. */
export function escapeHtml(text: string): string {
  return escapedFrom(text.search(ESCAPABLE), text, escapeOf);
}

/** Text made safe for element content alone, where a quotation mark may stay one byte. */
export function escapeText(text: string): string {
  const isQuote = (code: number): boolean => code === 0x22 || code === 0x27;
  return escapedFrom(text.search(ESCAPABLE_IN_TEXT), text, (code) => (isQuote(code) ? '' : escapeOf(code)));
}

function escapedFrom(first: number, text: string, replacementOf: (code: number) => string): string {
  if (first === -1) return text;
  let result = '';
  let copied = 0;
  for (let index = first; index < text.length; index += 1) {
    const replacement = replacementOf(text.charCodeAt(index));
    if (replacement === '') continue;
    result += text.slice(copied, index) + replacement;
    copied = index + 1;
  }
  return result + text.slice(copied);
}

function escapeOf(code: number): string {
  switch (code) {
    case 0x26: return '&amp;';
    case 0x3c: return '&lt;';
    case 0x3e: return '&gt;';
    case 0x22: return '&quot;';
    case 0x27: return '&#39;';
    default: return '';
  }
}
