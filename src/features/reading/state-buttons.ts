import { html, type Html } from '../../platform/http/html.ts';
import type { ListedPost } from './reading-list.ts';

type State = Pick<ListedPost, 'id' | 'read' | 'starred'>;

/** The form of a page's buttons. Without the script they lead to `from`, and to the row if that ends in `#post-`. */
export function stateForm(from: string): Html {
  return html`<form hidden id="state" method="post"><input type="hidden" name="from" value="${from}"></form>`;
}

/**
 * A kind of button that marks a post as read or gives it a star, and is pressed where that is so: the script sends it
 * without leaving the page.
 */
export function stateButton(
  kind: 'read' | 'star', look: string, drawn: Html, more: (id: number) => Html | false = () => false,
): (post: State) => Html {
  const [kindClass, label] = kind === 'read' ? ['seen', 'Read'] : ['star', 'Star'];
  const [off, on] = [false, true].map((isOn) => html`class="${kindClass} ${look}" name="${kind}"
 value="${isOn ? 0 : 1}" aria-pressed="${String(isOn)}" aria-label="${label}" title="${label}" form="state"`);
  return ({ id, read, starred }) => html`<button ${(kind === 'read' ? read : starred) ? on : off}
 formaction="/posts/${id}/${kind}" ${more(id)}>${drawn}</button>`;
}
