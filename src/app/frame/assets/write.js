// The script of the pages on which members write posts; hub.js comes first and defines $, $$ and ask. It uses:
// form#post[data-draft] with [name=tab], [name=revision], [name=title], [name=content], [name=contentType], [name=url],
// [name=publishAt], [name=attachments]; .files with ul, template, li[data-name], .name, .size, progress, .alt,
// [data-alt], [name=remove], .fault; [name=preview], .preview with h3, .prose; .bar .primary[data-now][data-later];
// [data-sign], [data-saved-at], [data-keep].

const post = $('#post');
const { title, content, revision, contentType, url, publishAt } = post.elements;
const typed = () => Object.fromEntries([...new FormData(post)].filter(([, value]) => typeof value === 'string'));

// Saves the draft two seconds after the last key.

let [saved, saving, pausing] = [JSON.stringify(typed()), false];

function showSign(name) {
  for (const sign of $$('[data-sign]')) sign.hidden = sign.dataset.sign !== name;
  const time = new Date().toLocaleTimeString([], { timeStyle: 'short' });
  if (name === 'saved') for (const place of $$('[data-saved-at]')) place.textContent = time;
}

function noteSaved(status, fields, made) {
  const isSaved = status === 200;
  if (status === 409) {
    $('[data-sign=changed] p').textContent = made.detail;
    $('[data-keep]').value = made.revision;
  }
  if (isSaved) {
    revision.value = made.revision;
    saved = JSON.stringify({ ...JSON.parse(fields), revision: revision.value });
  }
  showSign(isSaved ? 'saved' : { 409: 'changed', 401: 'ended' }[status] ?? 'failed');
}

async function saveDraft() {
  clearTimeout(pausing);
  const text = JSON.stringify(typed());
  const isShown = !preview.hidden;
  if (revision.value === '0' && !title.value && !content.value) return;
  if (saving || text === saved && !(isShown && previewed !== text)) return;
  saving = true;
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const body = isShown ? JSON.stringify({ ...JSON.parse(text), preview: '1' }) : text;
  // A browser sends up to 64 KiB also after the page was closed.
  const answer = await ask(post.dataset.draft, { method: 'POST', body, headers, keepalive: text.length < 20_000 });
  saving = false;
  const made = answer ? await answer.json().catch(() => ({})) : {};
  noteSaved(answer.status ?? 0, text, made);
  if (answer.ok && isShown) showPreview(made.preview);
  if (![200, 401, 409, 422].includes(answer.status)) pausing = setTimeout(saveDraft, 10_000);
  else if (answer.ok) saveLater();
}

function saveLater() {
  clearTimeout(pausing);
  if (JSON.stringify(typed()) !== saved) pausing = setTimeout(saveDraft, 2000);
}

// Shows the preview that the hub makes beside the text.

const preview = $('.preview', post);
let previewed = '';

function showPreview(markup) {
  previewed = saved;
  $('h3', preview).textContent = title.value;
  $('.prose', preview).replaceChildren(...new DOMParser().parseFromString(markup, 'text/html').body.childNodes);
}

function togglePreview() {
  preview.hidden = !preview.hidden;
  if (preview.hidden) return content.focus();
  preview.scrollIntoView({ block: 'nearest' });
  saveDraft();
}

post.addEventListener('input', saveLater);
publishAt?.addEventListener('input', () => {
  const button = $('.bar .primary');
  button.textContent = button.dataset[publishAt.value ? 'later' : 'now'];
});
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
  revision.value = target.value;
  saveDraft();
});

// Uploads files that were chosen, dropped or pasted, one after another, and places each file in the text.

const files = $('.files', post);
const nameOf = (item) => item.dataset.name;
const isMarkdown = () => contentType.value === 'text/markdown';
const isImage = (name) => /\.(a?png|jpe?g|jpe|jfif|gif|webp|avif)$/i.test(name);

function addressOf(name) {
  const address = name.replace(/[%?#<>\\]/g, encodeURIComponent);
  return /[\s()]/.test(address) ? `<${address}>` : address;
}

function freeName(name) {
  const taken = $$('[data-name]', files).map(nameOf);
  const [, base, extension] = /^(.*?)(\.[^.]*)?$/.exec(name);
  for (let n = 1, free = name; ; free = `${base}-${++n}${extension ?? ''}`) if (!taken.includes(free)) return free;
}

/** Puts text in place of the selected text, so that the browser can undo it. */
function insertText(text) {
  content.focus();
  if (document.execCommand('insertText', false, text)) return;
  content.setRangeText(text, content.selectionStart, content.selectionEnd, 'end');
  content.dispatchEvent(new Event('input', { bubbles: true }));
}

const placeOf = (name, label) =>
  `${isImage(name) ? '!' : ''}[${label.replace(/[[\]\\]/g, '\\$&')}](${addressOf(name)})`;

/** The first place of a file in the text: `![label](name)`, or `[label](name)` if the file is no picture. */
function findPlace(name) {
  const [begin, close] = [isImage(name) ? '![' : '[', `](${addressOf(name)})`];
  const end = content.value.indexOf(close);
  const from = content.value.lastIndexOf(begin, end);
  if (end < 0 || from < 0) return undefined;
  const label = content.value.slice(from + begin.length, end).replace(/\\([[\]\\])/g, '$1');
  return { from, to: end + close.length, label };
}

function replacePlace(name, text) {
  const place = findPlace(name);
  if (!place) return;
  const { selectionStart, selectionEnd } = content;
  const moved = (at) => (at < place.to ? Math.min(at, place.from + text.length) : at + text.length - place.to + place.from);
  content.setRangeText(text, place.from, place.to);
  content.setSelectionRange(moved(selectionStart), moved(selectionEnd));
  saveLater();
}

function sendFile(file, name, onProgress) {
  const body = new FormData(post);
  body.delete('attachments');
  body.append('save', '1');
  body.append('attachments', file, name);
  const request = new XMLHttpRequest();
  request.upload.onprogress = ({ loaded, total }) => onProgress(loaded / total);
  request.responseType = 'json';
  request.open('POST', post.action);
  request.setRequestHeader('accept', 'application/json');
  request.send(body);
  return new Promise((done) => (request.onloadend = () => done(request)));
}

function addFile(file) {
  const name = freeName(file.name);
  const item = $('template', files).content.cloneNode(true).firstElementChild;
  $('ul', files).append(item);
  nameItem(item, name);
  if (isMarkdown()) insertText(isImage(name) ? `${placeOf(name, '')}\n` : placeOf(name, name));
  queue = queue.then(() => uploadFile(file, item));
}

function nameItem(item, name) {
  const end = -nameOf(item).length || undefined;
  for (const part of $$('[aria-label]', item)) part.ariaLabel = part.ariaLabel.slice(0, end) + name;
  item.dataset.name = $('.name', item).textContent = name;
}

let queue = Promise.resolve();

async function uploadFile(file, item) {
  const [name, progress, fields] = [nameOf(item), $('progress', item), JSON.stringify(typed())];
  const { status, response } = await sendFile(file, name, (share) => (progress.value = share));
  progress.remove();
  if (status !== 200) {
    replacePlace(name, '');
    delete item.dataset.name;
    const fault = $('.fault', item);
    fault.textContent = response?.detail ?? $('#failed').textContent;
    fault.hidden = false;
    return status === 409 || status === 401 ? noteSaved(status, fields, response) : undefined;
  }
  noteSaved(status, fields, response);
  const stored = response.files.at(-1);
  if (stored.filename !== name) replacePlace(name, placeOf(stored.filename, findPlace(name)?.label ?? ''));
  nameItem(item, stored.filename);
  $('.size', item).textContent = stored.size;
  $('[name=remove]', item).value = stored.id;
  askForAlt(item);
  saveLater();
}

function askForAlt(item) {
  const [place, label] = [findPlace(nameOf(item)), $('.alt', item)];
  if (!label || !isImage(nameOf(item)) || !place) return;
  label.hidden = false;
  $('input', label).value = place.label;
}

$$('li', files).forEach(askForAlt);
files.addEventListener('input', ({ target }) => {
  const name = target.matches('[data-alt]') && nameOf(target.closest('li'));
  if (name) replacePlace(name, placeOf(name, target.value));
});
files.addEventListener('change', ({ target }) => {
  if (target.type !== 'file') return;
  for (const file of target.files) addFile(file);
  target.value = '';
});
files.addEventListener('click', (event) => {
  const item = event.target.matches('[name=remove]') && event.target.closest('li');
  if (!item) return;
  if (nameOf(item)) replacePlace(nameOf(item), '');
  if (event.target.value) return;
  event.preventDefault();
  item.remove();
});
addEventListener('dragover', (event) => event.dataTransfer.types.includes('Files') && event.preventDefault());
addEventListener('drop', (event) => takeFiles(event, event.dataTransfer));
content.addEventListener('paste', (event) => {
  const pasted = event.clipboardData.getData('text/plain');
  if (!pasted) return takeFiles(event, event.clipboardData);
  if (content.selectionStart === content.selectionEnd || !isMarkdown() || !/^https?:\/\/\S+$/.test(pasted)) return;
  event.preventDefault();
  surround('[', `](${pasted})`);
});

function takeFiles(event, { files: taken }) {
  if (!taken.length) return;
  event.preventDefault();
  for (const file of taken) addFile(file);
}

// Keys for writing, and a text field that grows with its text. The author goes on at the end of a stored text.

content.setSelectionRange(content.value.length, content.value.length);

function surround(before, after, chosen = '') {
  const { selectionStart: from, selectionEnd: to, value } = content;
  insertText(before + value.slice(from, to) + after);
  const start = chosen ? to + before.length + after.indexOf(chosen) : from + before.length;
  content.setSelectionRange(start, start + (chosen ? chosen.length : to - from));
}

/** Begins the next item of a list; ends the list after an empty item. */
function continueList(event) {
  const { selectionStart: at, value } = content;
  const start = value.lastIndexOf('\n', at - 1) + 1;
  const [, mark, text] = /^( *(?:[-*+]|\d+[.)]) +)(.*)$/.exec(value.slice(start, at)) ?? [];
  if (!mark || !isMarkdown() || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (text) return insertText(`\n${mark.replace(/\d+/, (number) => Number(number) + 1)}`);
  content.setSelectionRange(start, at);
  document.execCommand('delete');
}

const WRITING = {
  Enter: () => follow('.bar .primary'), P: togglePreview, s: saveDraft, b: () => surround('**', '**'),
  i: () => surround('*', '*'), k: () => surround('[', `](${url.placeholder})`, url.placeholder),
};

addEventListener('keydown', (event) => {
  const { ctrlKey, metaKey, altKey, key, shiftKey, target } = event;
  if (!ctrlKey && !metaKey) return key === 'Enter' && target === content && continueList(event);
  const act = !altKey && WRITING[key.length > 1 ? key : letterOf(event)];
  if (!act || shiftKey !== (act === togglePreview) || /[bik]/i.test(key) && target !== content) return;
  event.preventDefault();
  act();
});

if (!CSS.supports('field-sizing', 'content')) content.addEventListener('input', () => {
  content.style.minHeight = `${content.scrollHeight}px`;
});
