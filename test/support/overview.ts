import type { Client } from './client.ts';

/** What the overview says of one thing, without markup but for times. */
export type Tile = { level: string; state: string; more: string };

/** What the overview shows to an administrator: its verdict, and what it says of each thing. */
export async function overviewOf(ada: Client): Promise<{ verdict: string; tiles: Map<string, Tile> }> {
  const { text } = await ada.page('/admin');
  const verdict = /<section class="verdict \w+">([^]*?)<\/section>/.exec(text)?.[1] ?? '';
  const tiles = [...text.matchAll(/<div class="tile (\w+)"><dt>([^]*?)<span[^]*?<\/dt>\s*<dd>(.*?)<\/dd>\s*(?:<dd class="detail">(.*?)<\/dd>)?<\/div>/g)]
    .map(([, level = '', subject = '', state = '', more = '']) =>
      [plain(subject), { level, state: plain(state), more: more.trim() }] as const);
  return { verdict: plain(verdict), tiles: new Map(tiles) };
}

/** What the tile of that name says; throws where there is none. */
export async function tileOf(ada: Client, subject: string): Promise<Tile> {
  const tile = (await overviewOf(ada)).tiles.get(subject);
  if (!tile) throw new Error(`the overview says nothing of ${subject}`);
  return tile;
}

function plain(markup: string): string {
  return markup.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ').trim();
}
