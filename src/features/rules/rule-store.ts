import { store } from '../hub/hub.ts';
import { TABLES } from '../hub/tables.ts';

export const ACTS = ['mute', 'read', 'star', 'notify'] as const;
export type Act = (typeof ACTS)[number];

/** A rule is for the posts of a followed source, of a folder, or (both null) of all followed sources. */
export type RuleTerms = { match: string; act: Act; sourceId: number | null; folder: string | null };

/** `version`: changes with each change of the rule. `applied`: the number of posts that the rule was applied to. */
export type Rule = RuleTerms & {
  id: number; accountId: number; version: number; applied: number; lastAppliedAt: number | null; createdAt: number;
};

type RuleKey = Pick<Rule, 'id' | 'accountId'>;

export const RULES_MAX = TABLES.rules.most;

const SELECT = `SELECT id, account_id AS accountId, match, act, source_id AS sourceId, folder, version, applied,
  last_applied_at AS lastAppliedAt, created_at AS createdAt FROM rules`;
const NEXT_VERSION = '(SELECT COALESCE(MAX(version), 0) + 1 FROM rules)';

export const rules = store(({ db, clock }) => {
  const insert = db.prepare<[RuleTerms & { accountId: number; now: number }], { id: number }>('add rule', `
    INSERT INTO rules (account_id, match, act, source_id, folder, version, created_at)
    VALUES (@accountId, @match, @act, @sourceId, @folder, ${NEXT_VERSION}, @now) RETURNING id`);
  const update = db.prepare<[RuleTerms & RuleKey]>('change rule', `
    UPDATE rules SET match = @match, act = @act, source_id = @sourceId, folder = @folder, version = ${NEXT_VERSION}
     WHERE id = @id AND account_id = @accountId`);
  const remove = db.prepare<[RuleKey]>('remove rule', 'DELETE FROM rules WHERE id = @id AND account_id = @accountId');
  const note = db.prepare<[posts: number, now: number, id: number, version: number]>('note applied rule',
    'UPDATE rules SET applied = applied + ?, last_applied_at = ? WHERE id = ? AND version = ?');
  const moveFolder = db.prepare<[{ accountId: number; from: string; to: string }]>('move rules of folder', `
    UPDATE rules SET folder = @to, version = ${NEXT_VERSION} WHERE account_id = @accountId AND folder = @from`);

  return {
    all: db.prepare<[], Rule>('rules of all accounts', `${SELECT} ORDER BY id`).all,
    listOf: db.prepare<[accountId: number], Rule>('rules of account', `${SELECT} WHERE account_id = ? ORDER BY id`).all,
    find: db.prepare<[key: RuleKey], Rule>('rule', `${SELECT} WHERE id = @id AND account_id = @accountId`).get,
    /** Adds a rule; returns its id. The caller first checks that the account has fewer than RULES_MAX rules. */
    add: (accountId: number, terms: RuleTerms): number => insert.get({ ...terms, accountId, now: clock() })?.id ?? 0,
    change: (key: RuleKey, terms: RuleTerms): void => void update.run({ ...terms, ...key }),
    remove: (key: RuleKey): boolean => remove.run(key).changes > 0,
    /** Counts the posts to which a rule is applied; returns false if the rule has another version or is gone. */
    noteApplied: ({ id, version }: Rule, posts: number): boolean => note.change(posts, clock(), id, version) > 0,
    moveFolder: (accountId: number, from: string, to: string): void => void moveFolder.run({ accountId, from, to }),
    removeOf: db.prepare<[accountId: number, limit: number]>('remove rules of account',
      'DELETE FROM rules WHERE id IN (SELECT id FROM rules WHERE account_id = ? LIMIT ?)').change,
  };
});
