/** `off`: not set up, which is no fault. `warn`: the hub works, but somebody should look. */
export type Level = 'good' | 'off' | 'warn' | 'bad';

/** What is to be said of one thing. Times in unix ms. */
export type Finding = {
  subject: string;
  level: Level;
  isBad: boolean; // somebody has to do something: `warn` or `bad`
  state: string; // a few words: "running", "4 waiting"
  detail: string | null; // what else there is to know
  at: number | null; // when what `state` says happened, or was last seen
  problem: string | null; // a sentence that says what is wrong, and more that give the reason
  headline: string | null; // the same in few words, without the reason
  since: number | null; // since when it is, as far as that is known
  href: string | null; // the page that helps
  whatToDo: string | null; // a sentence; also for what is not set up
};

/** What a finding may leave out. */
export type Told = Pick<Finding, 'subject' | 'state'> & Partial<Finding>;

/** What has to be done, the worst first. */
export function problemsOf(all: readonly Finding[]): Finding[] {
  return [...all.filter(({ level }) => level === 'bad'), ...all.filter(({ level }) => level === 'warn')];
}

/** What is well, or not set up, unless `told` says otherwise. */
export function finding(told: Told): Finding {
  const level = told.level ?? 'good';
  const isBad = level === 'warn' || level === 'bad';
  const headline = told.headline ?? told.problem ?? null;
  const nothing = { detail: null, at: null, problem: null, since: null, href: null, whatToDo: null };
  return { ...nothing, ...told, headline, level, isBad };
}
