/** Beginnings of month names, without accents, in the languages seen in feeds; the longest that fits counts. */
const MONTH_STEMS = [
  ['jan', 'ene', 'gen', 'sty', 'янв', 'ιαν'],
  ['feb', 'fev', 'lut', 'фев', 'φεβ'],
  ['mar', 'mae', 'mrz', 'mrt', 'мар', 'μαρ'],
  ['apr', 'avr', 'abr', 'kwi', 'апр', 'απρ'],
  ['may', 'mai', 'mag', 'mei', 'maj', 'маи', 'мая', 'μαι'],
  ['jun', 'juin', 'giu', 'cze', 'июн', 'ιουν'],
  ['jul', 'juil', 'lug', 'lip', 'июл', 'ιουλ'],
  ['aug', 'aou', 'ago', 'sie', 'авг', 'αυγ'],
  ['sep', 'set', 'szept', 'wrz', 'сен', 'σεπ'],
  ['oct', 'okt', 'out', 'ott', 'paz', 'окт', 'οκτ'],
  ['nov', 'lis', 'ноя', 'νοε'],
  ['dec', 'dez', 'dic', 'des', 'gru', 'дек', 'δεκ'],
];

const MONTHS = new Map(MONTH_STEMS.flatMap((stems, index) => stems.map((stem): [string, number] => [stem, index])));
const LONGEST_STEM = 5;
const SHORTEST_STEM = 3;

/** 0 to 11 for a month name or its beginning in a dozen languages, else null. */
export function monthOf(word: string): number | null {
  const plain = word.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '');
  for (let length = Math.min(LONGEST_STEM, plain.length); length >= SHORTEST_STEM; length -= 1) {
    const month = MONTHS.get(plain.slice(0, length));
    if (month !== undefined) return month;
  }
  return null;
}

/** Minutes east of Greenwich, by the abbreviations seen in feeds. Military letters mean UTC (RFC 5322, 4.3). */
const ZONES = new Map<string, number>([
  ['z', 0], ['ut', 0], ['utc', 0], ['gmt', 0], ['wet', 0], ['west', 60], ['bst', 60], ['cet', 60], ['cest', 120],
  ['met', 60], ['mest', 120], ['mez', 60], ['mesz', 120], ['eet', 120], ['eest', 180], ['sast', 120], ['msk', 180],
  ['msd', 240], ['trt', 180], ['gst', 240], ['pkt', 300], ['ist', 330], ['npt', 345], ['ict', 420], ['wib', 420],
  ['sgt', 480], ['hkt', 480], ['awst', 480], ['pht', 480], ['jst', 540], ['kst', 540], ['acst', 570], ['acdt', 630],
  ['aest', 600], ['aedt', 660], ['nzst', 720], ['nzdt', 780], ['nst', -210], ['ndt', -150], ['ast', -240],
  ['adt', -180], ['est', -300], ['edt', -240], ['et', -300], ['cst', -360], ['cdt', -300], ['ct', -360],
  ['mst', -420], ['mdt', -360], ['mt', -420], ['pst', -480], ['pdt', -420], ['pt', -480], ['akst', -540],
  ['akdt', -480], ['hst', -600], ['brt', -180], ['art', -180], ['clt', -240],
]);

/** Minutes east of Greenwich for a zone's abbreviation, else null. */
export function zoneOffset(word: string): number | null {
  return ZONES.get(word.toLowerCase()) ?? (/^[a-ik-z]$/i.test(word) ? 0 : null);
}
