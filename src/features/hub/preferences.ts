import type { Preferences } from '../../platform/http/router.ts';

export const DENSITIES = ['comfortable', 'compact'] as const;
export const TEXT_SIZES = ['normal', 'large', 'larger'] as const;

declare module '../../platform/http/router.ts' {
  /** The preferences of a member, in addition to the time zone, which router.ts declares. */
  interface Preferences {
    density: (typeof DENSITIES)[number];
    textSize: (typeof TEXT_SIZES)[number];
    /** Whether keyboard shortcuts are on. */
    keys: boolean;
    /** Whether the member's opening a post marks the post as read. */
    marksOpened: boolean;
    /** Whether the getting-started list is shown until it is complete. */
    nextSteps: boolean;
  }
}

export const DEFAULT_PREFERENCES: Preferences = {
  timeZone: null, density: 'comfortable', textSize: 'normal', keys: true, marksOpened: true, nextSteps: true,
};
