import type { Preferences } from '../../platform/http/router.ts';

export const DENSITIES = ['comfortable', 'compact'] as const;
export const TEXT_SIZES = ['normal', 'large', 'larger'] as const;

declare module '../../platform/http/router.ts' {
  /** The hub's own preferences, beside those that the platform reads. */
  interface Preferences {
    density: (typeof DENSITIES)[number];
    textSize: (typeof TEXT_SIZES)[number];
    /** Whether single keys do something. */
    keys: boolean;
    /** Whether opening a post marks it as read. */
    marksOpened: boolean;
    /** Whether the getting-started list is shown until it is complete. */
    nextSteps: boolean;
  }
}

export const DEFAULT_PREFERENCES: Preferences = {
  timeZone: null, density: 'comfortable', textSize: 'normal', keys: true, marksOpened: true, nextSteps: true,
};
