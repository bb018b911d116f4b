/** A sleep that can be cut short. A call to `wake` while nobody sleeps cuts the next nap short. */
export function createNap() {
  let rung = false;
  let rise = () => {};

  function sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      rise = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  return {
    wake(): void {
      rung = true;
      rise();
    },

    /** Resolves after the time, or early and with true when woken. */
    async nap(milliseconds: number): Promise<boolean> {
      if (!rung) await sleep(milliseconds);
      const woken = rung;
      rung = false;
      return woken;
    },
  };
}
