import type { Preferences } from '../../platform/http/router.ts';

/** The preferences that are one of several values; the first value is the default. */
export const CHOICES = {
  density: ['comfortable', 'compact'],
  textSize: ['normal', 'large', 'larger'],
  theme: ['system', 'light', 'dark'],
  typeface: ['serif', 'sans'],
  measure: ['normal', 'narrow', 'wide'],
  sourcesBy: ['name', 'unread'],
} as const;

type Chosen = { [Name in keyof typeof CHOICES]: (typeof CHOICES)[Name][number] };

declare module '../../platform/http/router.ts' {
  /** The preferences of a member, in addition to the time zone, which router.ts declares. */
  interface Preferences extends Chosen {
    keys: boolean; // whether keyboard shortcuts are on
    marksOpened: boolean; // whether opening a post marks it as read
    marksScrolled: boolean; // whether a list marks the posts as read that the member has scrolled past
    joinsDoubles: boolean; // whether lists show posts of several followed sources with the same link in one row
    nextSteps: boolean; // whether the getting-started list is shown until it is complete
  }
}

export const SWITCHES = ['keys', 'marksOpened', 'marksScrolled', 'joinsDoubles', 'nextSteps'] as const;

export const DEFAULT_PREFERENCES: Preferences = {
  timeZone: null, density: 'comfortable', textSize: 'normal', theme: 'system', typeface: 'serif', measure: 'normal',
  sourcesBy: 'name', keys: true, marksOpened: true, marksScrolled: false, joinsDoubles: true,
  nextSteps: true,
};
