// The script of the pages on which members write posts; hub.js comes first and defines $, $$ and ask. It uses:
// form#post[data-draft] with [name=tab], [name=revision], [name=title], [name=content]; [name=preview], .preview with
// h3, .prose; [data-sign], [data-saved-at], [data-keep].

const post = $('#post');
const typed = () => Object.fromEntries([...new FormData(post)].filter(([, value]) => typeof value === 'string'));

// Saves the draft two seconds after the last key.

let [saved, saving, pausing] = [JSON.stringify(typed()), false];

/** Shows only the sign with this name, of all signs about the draft. */
function showSign(name) {
  for (const sign of $$('[data-sign]')) sign.hidden = sign.dataset.sign !== name;
  if (name === 'saved') $('[data-saved-at]').textContent = new Date().toLocaleTimeString([], { timeStyle: 'short' });
}

async function saveDraft() {
  clearTimeout(pausing);
  const text = JSON.stringify(typed());
  const isShown = !preview.hidden;
  const { title, content, revision: known } = post.elements;
  if (known.value === '0' && !title.value && !content.value) return;
  if (saving || text === saved && !(isShown && shown !== text)) return;
  saving = true;
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const body = isShown ? JSON.stringify({ ...JSON.parse(text), preview: '1' }) : text;
  // A browser sends up to 64 KiB also after the page was closed.
  const answer = await ask(post.dataset.draft, { method: 'POST', body, headers, keepalive: text.length < 20_000 });
  saving = false;
  const { revision, preview: markup } = answer ? await answer.json().catch(() => ({})) : {};
  if (answer.status === 409) $('[data-keep]').value = revision;
  if (answer.ok) post.elements.revision.value = revision;
  saved = answer.ok ? JSON.stringify({ ...JSON.parse(text), revision: String(revision) }) : saved;
  if (answer.ok && isShown) showPreview(markup);
  showSign(answer.ok ? 'saved' : { 409: 'changed', 401: 'ended' }[answer.status] ?? 'failed');
  if (![200, 401, 409, 422].includes(answer.status)) pausing = setTimeout(saveDraft, 10_000);
  else if (answer.ok) saveLater();
}

function saveLater() {
  clearTimeout(pausing);
  if (JSON.stringify(typed()) !== saved) pausing = setTimeout(saveDraft, 2000);
}

// Shows the preview that the hub makes beside the text.

const preview = $('.preview', post);
let shown = '';

function showPreview(markup) {
  shown = saved;
  $('h3', preview).textContent = post.elements.title.value;
  $('.prose', preview).replaceChildren(...new DOMParser().parseFromString(markup, 'text/html').body.childNodes);
}

function togglePreview() {
  preview.hidden = !preview.hidden;
  if (preview.hidden) return post.elements.content.focus();
  preview.scrollIntoView({ block: 'nearest' });
  saveDraft();
}

post.addEventListener('input', saveLater);
post.addEventListener('submit', (event) => {
  if (event.submitter?.name === 'preview') {
    event.preventDefault();
    return togglePreview();
  }
  clearTimeout(pausing);
  saved = JSON.stringify(typed());
});
document.addEventListener('visibilitychange', () => document.hidden && saveDraft());
addEventListener('pagehide', saveDraft);
$('[data-keep]').addEventListener('click', ({ target }) => {
  post.elements.revision.value = target.value;
  saveDraft();
});
