/** Whole numbers from 0 up to a limit, the same for the same seed (the constants of Numerical Recipes). */
export function randomBelow(seed: number): (limit: number) => number {
  let state = Math.imul(seed, 2_654_435_761) >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}
