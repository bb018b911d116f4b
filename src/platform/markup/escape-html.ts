const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Text made safe for element content and for quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '');
}

/** Text made safe for element content alone: quotation marks stay one byte. */
export function escapeText(text: string): string {
  return text.replace(/[&<>]/g, (sign) => ESCAPES[sign] ?? '');
}
