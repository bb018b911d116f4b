import { atOnce } from '../../src/platform/markup/in-steps.ts';
import { renderingMarkdown } from '../../src/platform/markup/markdown.ts';

/** The HTML of a Markdown text, not sanitised, in one go; the hub renders it in steps. */
export function renderMarkdown(text: string): string {
  return atOnce(renderingMarkdown(text));
}
