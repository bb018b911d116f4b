const ESCAPABLE = /[&<>"']/;

/** Text made safe for element content and for quoted attributes. */
export function escapeHtml(text: string): string {
  const first = text.search(ESCAPABLE);
  if (first === -1) return text;
  let escaped = '';
  let copied = 0;
  for (let index = first; index < text.length; index += 1) {
    const replacement = escapeOf(text.charCodeAt(index));
    if (replacement === '') continue;
    escaped += text.slice(copied, index) + replacement;
    copied = index + 1;
  }
  return escaped + text.slice(copied);
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
