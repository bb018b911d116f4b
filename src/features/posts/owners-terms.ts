/** Before and behind the reader's number in each term of a private post. For private use: no text may hold it. */
const MARK = '\ue000';

const WORDS = /[\p{L}\p{N}\p{Co}\p{Mn}\p{Mc}]+/gu;

/** The same terms for a private post of this owner: nobody else's search meets them. */
export function ownersTerms(terms: string, ownerId: number): string {
  return terms.replace(WORDS, `${MARK}${ownerId.toString(36)}${MARK}$&`);
}
