export const DENSITIES = ['comfortable', 'compact'] as const;
export const TEXT_SIZES = ['normal', 'large', 'larger'] as const;

/** How a person wants pages to be. */
export type Preferences = {
  /** A name of IANA's; null for the zone of the hub's machine. */
  timeZone: string | null;
  density: (typeof DENSITIES)[number];
  textSize: (typeof TEXT_SIZES)[number];
  /** Whether single keys do something. */
  keys: boolean;
  /** Whether opening a post marks it as read. */
  marksOpened: boolean;
  /** Whether what is to be done first stands above the list, while any of it is left. */
  nextSteps: boolean;
};

export const DEFAULT_PREFERENCES: Preferences = {
  timeZone: null, density: 'comfortable', textSize: 'normal', keys: true, marksOpened: true, nextSteps: true,
};
