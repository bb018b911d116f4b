import type { JsonObject } from '../../platform/http/body.ts';
import { readGiven } from '../../platform/http/fields.ts';
import { parseId, pathId } from '../../platform/http/input.ts';
import { invalid } from '../../platform/http/http-error.ts';
import { page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest, Viewer } from '../../platform/http/router.ts';
import { timesOf } from '../../platform/http/times.ts';
import { follows } from '../follows/follow-store.ts';
import type { RefusedForm } from '../hub/acts.ts';
import type { Hub } from '../hub/hub.ts';
import { EMOJI } from '../posts/search-words.ts';
import { visiblePost } from '../posts/post-access.ts';
import { checkingPlace, ownRule, previewRule, SCOPE } from './change-rule.ts';
import { rules, type Rule } from './rule-store.ts';
import { ruleFormPage, rulesPage, type RulePlaces, type RuleForm } from './rule-views.ts';

/** GET /settings/rules: the viewer's rules. `refused`: the form for an import that the hub has refused. */
export function showRules(hub: Hub, { viewer }: MemberRequest, refused?: RefusedForm): Reply {
  const sources = new Map(follows(hub).listed(viewer).map(({ sourceId, title }) => [sourceId, title]));
  const all = rules(hub).listOf(viewer.id);
  return page(rulesPage(all, { sources, times: timesOf(hub, viewer), refused }), refused?.problem.status);
}

/** With `?post=ID`, a form for a rule against posts like it, which leads back to `from` or to the page before. */
export function showNewRule(hub: Hub, req: MemberRequest): Reply {
  const postId = parseId(req.query.get('post') ?? '');
  const act = 'mute';
  if (postId === undefined) return showForm(hub, req, { values: { match: req.query.get('match') ?? '', act } });
  const { title, sourceId } = visiblePost(hub, postId, req.viewer);
  const words = wordsOf(title);
  const wanted = req.query.getAll('word').filter((word) => words.includes(word));
  const chosen = wanted.length > 0 ? wanted : likelyWord(words);
  const match = chosen.map((word) => `title:${word}`).join(' ');
  const isFollowed = follows(hub).isFollowed(req.viewer.id, sourceId);
  const from = req.query.get('from') ?? pageBefore(req);
  const values = { match, act, place: isFollowed ? `source:${sourceId}` : '', from };
  return showForm(hub, req, { values, like: { postId, title, words, chosen }, isPreview: match !== '' });
}

function wordsOf(title: string): string[] {
  const words = title.replace(EMOJI, ' ').match(/[\p{L}\p{N}\p{M}]{2,}/gu) ?? [];
  return [...new Set(words)].slice(0, 20);
}

/**
 * Chooses a word of a title for a new rule: the longest capitalised word after the first, because it may be a name; or
 * else the longest word.
 */
function likelyWord(words: string[]): string[] {
  const names = words.slice(1).filter((word) => /^\p{Lu}/u.test(word));
  return (names.length > 0 ? names : words).toSorted((a, b) => b.length - a.length).slice(0, 1);
}

/** The path and query of the hub's page whose link was followed; empty if the browser names none. */
function pageBefore({ headers: { referer = '', host } }: MemberRequest): string {
  const page = URL.parse(referer);
  return page !== null && page.host === host ? page.pathname + page.search : '';
}

/** GET /settings/rules/:id: the form to change a rule. */
export function showRule(hub: Hub, req: MemberRequest): Reply {
  const rule = ownRule(hub, req.viewer, pathId(req.params));
  return showForm(hub, req, { rule, values: { match: rule.match, act: rule.act, place: placeOfRule(rule) } });
}

function placeOfRule({ sourceId, folder }: Rule): string {
  return sourceId !== null ? `source:${sourceId}` : folder !== null ? `folder:${folder}` : '';
}

/** The button of a rule's form for a preview. */
export function showRulePreview(hub: Hub, req: MemberRequest, values: Record<string, string>): Reply | undefined {
  return values['preview'] ? showForm(hub, req, { rule: ruleOf(hub, req), values, isPreview: true }) : undefined;
}

export function showRuleAgain(hub: Hub, req: MemberRequest, refused: RefusedForm): Reply {
  return showForm(hub, req, { rule: ruleOf(hub, req), ...refused });
}

function ruleOf(hub: Hub, { viewer, params }: MemberRequest): Rule | undefined {
  return params['id'] === undefined ? undefined : ownRule(hub, viewer, pathId(params));
}

/** The fields of a rule's form, which has one for source and folder. */
export function fieldsOfForm({ place = '', ...values }: Record<string, string>): JsonObject {
  const [kind = '', rest = ''] = [place.slice(0, place.indexOf(':')), place.slice(place.indexOf(':') + 1)];
  return {
    ...values, sourceId: kind === 'source' ? parseId(rest) ?? 0 : null, folder: kind === 'folder' ? rest : null,
  };
}

export function showImportAgain(hub: Hub, req: MemberRequest, { values, problem }: RefusedForm): Reply {
  const refused = invalid([{ pointer: '/document', detail: problem.message }]);
  return showRules(hub, req, { values, problem: refused });
}

/** A rule's form offers so many folders, so many sources and the chosen one: titles may have TITLE_MAX characters. */
const OFFERED = 300;

type Sent = Pick<RuleForm, 'rule' | 'values' | 'like' | 'problem'> & { isPreview?: boolean };

function showForm(hub: Hub, { viewer }: MemberRequest, { isPreview = false, ...sent }: Sent): Reply {
  const scope = isPreview ? readGiven(SCOPE, fieldsOfForm(sent.values), { check: checkingPlace(hub, viewer) }) : null;
  const preview = scope ? previewRule(hub, viewer, scope) : undefined;
  const places = placesOf(hub, viewer, sent.values['place']);
  return page(ruleFormPage({ ...sent, preview, places, times: timesOf(hub, viewer) }), sent.problem?.status);
}

function placesOf(hub: Hub, viewer: Viewer, chosen: string | undefined): RulePlaces {
  const all = {
    folders: follows(hub).folderNames(viewer.id, Number.MAX_SAFE_INTEGER),
    sources: follows(hub).listed(viewer).map(({ sourceId: id, title }) => ({ id, title }))
      .sort((a, b) => a.title.localeCompare(b.title)),
  };
  return {
    folders: all.folders.filter((name, n) => n < OFFERED || chosen === `folder:${name}`),
    sources: all.sources.filter(({ id }, n) => n < OFFERED || chosen === `source:${id}`),
    areCut: Math.max(all.folders.length, all.sources.length) > OFFERED,
  };
}
