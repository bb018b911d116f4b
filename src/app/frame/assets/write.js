// The script of the pages on which members write posts; hub.js comes first and defines $, $$ and ask. It uses:
// form#post[data-draft] with [name=tab], [name=revision]; [data-sign], [data-saved-at], [data-keep].

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
  if (saving || text === saved) return;
  saving = true;
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  // A browser sends up to 64 KiB also after the page was closed.
  const answer = await ask(post.dataset.draft, { method: 'POST', body: text, headers, keepalive: text.length < 20_000 });
  saving = false;
  const { revision } = answer ? await answer.json().catch(() => ({})) : {};
  if (answer.status === 409) $('[data-keep]').value = revision;
  if (answer.ok) post.elements.revision.value = revision;
  saved = answer.ok ? JSON.stringify({ ...JSON.parse(text), revision: String(revision) }) : saved;
  showSign(answer.ok ? 'saved' : { 409: 'changed', 401: 'ended' }[answer.status] ?? 'failed');
  if (![200, 401, 409, 422].includes(answer.status)) pausing = setTimeout(saveDraft, 10_000);
  else if (answer.ok) saveLater();
}

function saveLater() {
  clearTimeout(pausing);
  if (JSON.stringify(typed()) !== saved) pausing = setTimeout(saveDraft, 2000);
}

post.addEventListener('input', saveLater);
post.addEventListener('submit', () => {
  clearTimeout(pausing);
  saved = JSON.stringify(typed());
});
document.addEventListener('visibilitychange', () => document.hidden && saveDraft());
addEventListener('pagehide', saveDraft);
$('[data-keep]').addEventListener('click', ({ target }) => {
  post.elements.revision.value = target.value;
  saveDraft();
});
