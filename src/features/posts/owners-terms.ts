/** Stands before and behind the owner's number in each term of a private post; no indexed text holds it. */
const MARK = '\ue000';

const WORDS = /[\p{L}\p{N}\p{Co}\p{Mn}\p{Mc}]+/gu;

/** The same terms for a private post of this owner: nobody else's search meets them. */
export function ownersTerms(terms: string, ownerId: number): string {
  return terms.replace(WORDS, `${MARK}${ownerId.toString(36)}${MARK}$&`);
}
