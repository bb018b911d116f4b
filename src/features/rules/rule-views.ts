import { faultOf } from '../../platform/http/form-faults.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { localPath } from '../../platform/http/input.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import {
  emptyText, details, hiddenInput, inputField, optionOf, postButton, postForm, selectField, textField, type FormState,
} from '../../platform/http/page-parts.ts';
import type { Page } from '../../platform/http/reply.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import { plural } from '../../platform/in-words.ts';
import type { RefusedForm } from '../hub/acts.ts';
import { EXPRESSION_MAX } from '../posts/expression.ts';
import { HELP_PATH, placeShown } from '../posts/expression-views.ts';
import type { Post } from '../posts/post-store.ts';
import { titleOf } from '../posts/post-views.ts';
import { RULES_MAX, type Act, type Rule } from './rule-store.ts';

/** The folders and sources that a rule's form offers. `areCut`: whether the form leaves out folders or sources. */
export type RulePlaces = { folders: string[]; sources: { id: number; title: string }[]; areCut: boolean };

/** A form for a rule. `rule`: the rule that is changed. `like`: the post whose words the form proposes. */
export type RuleForm = {
  rule?: Rule | undefined;
  values: Record<string, string>;
  like?: { postId: number; title: string; words: string[]; chosen: string[] };
  problem?: HttpError;
  preview: { posts: Post[]; among: number } | undefined;
  places: RulePlaces;
  times: Times;
};

const ACT_NAMES: Record<Act, string> = {
  mute: 'Mute: keep the post out of lists and apps', read: 'Mark the post as read', star: 'Star the post',
  notify: 'Notify me',
};
const SHORT_NAMES: Record<Act, string> = { mute: 'Mute', read: 'Mark as read', star: 'Star', notify: 'Notify me' };
const SHOWN = 30;

type Around = { sources: Map<number, string>; times: Times; refused?: RefusedForm | undefined };

export function rulesPage(all: Rule[], { sources, times, refused }: Around): Page {
  const bar = html`<h1>Rules</h1><span class="space"></span><a class="button primary" href="/settings/rules/new">Add a
  rule</a>`;
  const main = html`<p>Rules act on posts of your sources when they arrive. Only you see what they do. You may
have ${RULES_MAX}. Muted posts are only in <a href="/muted">Muted</a>. <a
href="${HELP_PATH}">How to write rules</a></p>
${all.length === 0 ? emptyText('You have no rules yet.') : html`<ul class="items">${
  all.map((rule) => ruleItem(rule, sources, times))}</ul>`}
${details('Import rules and saved searches', importForm(refused ?? {}), { isOpen: refused !== undefined })}`;
  return { title: 'Rules', bar, main, section: 'settings' };
}

function importForm(refused: FormState): Html {
  const label = 'Text of the file from “Download your data”, or only its parts “rules” and “searches”';
  return postForm('/settings/rules/import', textField(refused, 'document', label, html`rows="6" required`),
    html`<div class="actions"><button class="secondary">Import</button></div>`);
}

function ruleItem({ id, match, act, sourceId, folder, applied, lastAppliedAt }: Rule, sources: Map<number, string>,
  times: Times): Html {
  const place = sourceId !== null ? `in ${sources.get(sourceId) ?? 'a source that you do not follow'}`
    : folder !== null ? `in the folder ${folder}` : 'in all your sources';
  return html`
<li id="rule-${id}"><div><p class="title actions"><a href="/settings/rules/${id}">${SHORT_NAMES[act]}: <code
  dir="auto">${match}</code></a></p>
  <p class="meta"><span dir="auto">${place}</span><span>${lastAppliedAt === null ? 'has not acted yet'
    : html`acted on ${plural(applied, 'post')}, last ${showTime(times, lastAppliedAt)}`}</span></p></div>
  ${postButton(`/settings/rules/${id}/delete`, 'Remove', 'link', `Remove rule ${match}`)}</li>`;
}

/** Page: the form to add or change a rule, with a preview of the posts that the rule fits. */
export function ruleFormPage(form: RuleForm): Page {
  const { rule, values, like, problem, preview, places } = form;
  const title = rule ? 'Change a rule' : like ? 'Less like this' : 'Add a rule';
  const [fault] = problem?.errors ?? [];
  const from = values['from'] && hiddenInput('from', values['from']);
  const main = html`
${like && wordsForm(like, from)}
${postForm(`/settings/rules${rule ? `/${rule.id}` : ''}`, html`${from}
  ${inputField(form, 'match', 'Posts that fit',
    html`required maxlength="${EXPRESSION_MAX}" autocomplete="off" spellcheck="false"`,
    { hint: html`for example, <kbd>title:sponsored</kbd> or <kbd>"press release"</kbd>`, isFirst: true, whole: true })}
  ${fault?.at !== undefined && placeShown((values['match'] ?? '').trim(), fault.at)}
  <p class="actions"><a href="${HELP_PATH}">How to write rules</a></p>
  ${selectField(problem, 'act', 'What to do', Object.entries(ACT_NAMES).map(([act, name]) =>
    optionOf(act, name, values['act'])))}
  <label>In which sources <select name="place">${optionOf('', 'All sources that I follow', values['place'])}${
    places.folders.map((name) => optionOf(`folder:${name}`, `Folder ${name}`, values['place']))}${
    places.sources.map(({ id, title }) => optionOf(`source:${id}`, title, values['place']))}</select>${
    faultOf(problem, 'sourceId')}${faultOf(problem, 'folder')}</label>
  ${places.areCut && html`<p class="hint">You can name others in the rule: <kbd>source:</kbd>, <kbd>in:</kbd>.</p>`}
  ${rule?.act === 'mute' && html`<p class="hint">Changing it brings back what it has muted.</p>`}`, html`
  <div class="actions"><button class="primary">${rule ? 'Save' : 'Add rule'}</button>
    <button class="secondary" name="preview" value="1">Preview</button></div>`)}
${preview && previewList(preview, form.times)}`;
  const [up, upName] = values['from'] ? [localPath(values['from']), 'Back'] : ['/settings/rules', 'Rules'];
  const bar = html`<a class="button plain" rel="up" href="${up}">${upName}</a><h1>${title}</h1>`;
  return { title, bar, main, section: 'settings' };
}

function wordsForm({ postId, title, words, chosen }: NonNullable<RuleForm['like']>, from: Html | '' | undefined): Html {
  return html`<p>Choose words of “<bdi>${title}</bdi>”. Posts with all of them in the title fit.</p>
<form action="/settings/rules/new" class="stack">${hiddenInput('post', postId)}${from}
<fieldset class="checks"><legend class="unseen">Words</legend>${words.map((word) => html`
<label class="check"><input type="checkbox" name="word" value="${word}" ${
  chosen.includes(word) && html`checked`}> <bdi>${word}</bdi></label>`)}</fieldset>
<div class="actions"><button class="secondary">Use these words</button></div></form>`;
}

function previewList({ posts, among }: NonNullable<RuleForm['preview']>, times: Times): Html {
  return html`<section aria-labelledby="preview"><h2 id="preview">Preview</h2>
<p role="status">It fits ${plural(posts.length, 'post')} of the newest ${
  plural(among, 'post')} in your sources.</p>
<ul class="items">${posts.slice(0, SHOWN).map((post) => html`<li><div><p class="title actions" dir="auto"><a
  href="/posts/${post.id}">${titleOf(post).title}</a></p><p class="meta"><span dir="auto">${post.sourceTitle}</span>${
  showTime(times, post.publishedAt)}</p></div></li>`)}</ul></section>`;
}
